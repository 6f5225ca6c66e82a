"""Faults in compiled functions: finding the functions, and recompiling a changed one."""

from __future__ import annotations

import ast
import re
from pathlib import Path


def kernel_lines(source: str) -> set[int]:
    """The lines of the bodies of compiled functions."""
    return {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef)
        and any("njit" in ast.unparse(decorator) for decorator in node.decorator_list)
        for line in range(node.body[0].lineno, (node.end_lineno or 0) + 1)
    }


def dependents(path: Path) -> set[str]:
    """The modules of a folder that import a given one of it, including that one."""
    imported = {
        other.stem: set(re.findall(rf"{path.parent.name}\.(\w+)", other.read_text("utf-8")))
        for other in path.parent.glob("*.py")
    }
    found = {path.stem}
    while more := {name for name, own in imported.items() if own & found} - found:
        found |= more
    return found


def compile_anew(path: Path) -> None:
    """Compile kernels that may contain one of a module, without the cache, in this process."""
    from fsframe.kernels.compiled import KernelCache

    changed = {path.parent / f"{name}.py" for name in dependents(path)}
    load = KernelCache.load_overload
    KernelCache.load_overload = lambda self, *given: (  # type: ignore[method-assign]
        None if self._file in changed else load(self, *given)
    )
    save = KernelCache.save_overload
    KernelCache.save_overload = lambda self, *given: (  # type: ignore[method-assign]
        None if self._file in changed else save(self, *given)
    )
