"""Mutation testing: small faults put into modules one at a time; do their tests notice?

    python benchmarks/trust/mutants.py                                 # every module of the list
    python benchmarks/trust/mutants.py fsframe/storage/seal.py --all   # each mutant, not a sample
    python benchmarks/trust/mutants.py --sample 40 --seconds 420 --out FILE

For every module the tests named here run once while its executed lines are noted. Then each mutant
of those lines, or a sample drawn with a fixed seed, is compiled in the module's place in a fork of
this process, and the same tests run until the first failure. Killed are mutants that make a test
fail, the process die, or take ten times as long. Mutated are comparisons, arithmetic, logic, whole
numbers, truth values, conditions, `not`, and lines that raise or return.

A line is added to FILE for each module: mutants tried, killed, survived, lines executed and in all,
and each survivor. Linux only.
"""

from __future__ import annotations

import argparse
import ast
import copy
import csv
import importlib.abc
import importlib.util
import os
import random
import resource
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", NUMBA_NUM_THREADS="1")
ROOT = Path(__file__).resolve().parents[2]
MODULES = {
    "fsframe/contracts/grammar.py": "tests/core/test_grammar.py fsframe/contracts/grammar.py",
    "fsframe/contracts/params.py": "tests/core/test_params.py fsframe/contracts/params.py",
    "fsframe/contracts/kinds.py": "tests/core/test_params.py fsframe/contracts/kinds.py",
    "fsframe/contracts/selection.py": "tests/core/test_selection.py fsframe/contracts/selection.py",
    "fsframe/contracts/ranking.py": "tests/core/test_ranking.py fsframe/contracts/ranking.py",
    "fsframe/contracts/array_checks.py": "tests/core/test_selection.py tests/core/test_dataset.py "
    "fsframe/contracts/array_checks.py",
    "fsframe/storage/seal.py": "tests/storage/test_round_trip.py tests/storage/test_versions.py "
    "fsframe/storage/seal.py",
    "fsframe/storage/digest.py": "tests/storage/test_versions.py tests/storage/test_round_trip.py "
    "fsframe/storage/digest.py",
    "fsframe/storage/guard.py": "tests/storage/test_round_trip.py tests/storage/test_costs.py "
    "fsframe/storage/guard.py",
    "fsframe/storage/units/unit_files.py": "tests/storage/units/test_unit_files.py "
    "tests/storage/units/test_packing.py",
    "fsframe/storage/units/packing.py": "tests/storage/units/test_packing.py "
    "tests/storage/units/test_unit_files.py",
    "fsframe/storage/repeated_arrays.py": "tests/storage/test_repeated_arrays.py",
    "plugins/fsframe_infotheory/plain.py": "tests/plugins/infotheory/test_against_plain.py",
    "plugins/fsframe_relief/plain.py": "tests/plugins/relief/test_against_plain.py",
    "plugins/fsframe_margin/plain.py": "tests/plugins/margin/test_against_plain.py",
}

_OPERATORS: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot,
    ast.IsNot: ast.Is, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.LShift: ast.RShift,
    ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.And: ast.Or,
    ast.Or: ast.And,
}  # fmt: skip


def faults(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """What can be wrong at a place of the program: a word for it, and what stands there then."""
    other: Any = copy.deepcopy(node)
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _OPERATORS:
        other.ops[0] = _OPERATORS[type(node.ops[0])]()
        yield "comparison", other
    elif isinstance(node, ast.BinOp | ast.AugAssign | ast.BoolOp) and type(node.op) in _OPERATORS:
        other.op = _OPERATORS[type(node.op)]()
        yield "operator", other
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield "sign", other.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        other.value = not node.value if isinstance(node.value, bool) else node.value + 1
        yield "constant", other
    elif isinstance(node, ast.If | ast.While | ast.IfExp):
        other.test = ast.UnaryOp(ast.Not(), other.test)
        yield "condition", other
    elif isinstance(node, ast.Raise):
        yield "not raised", ast.Pass()
    elif isinstance(node, ast.Return) and node.value is not None:
        other.value = ast.Constant(None)
        yield "returned", other


def places(tree: ast.Module) -> Iterator[tuple[ast.AST, str, int | None, ast.AST]]:
    """Every node below a function with its parent and field; annotations and texts left out."""

    def below(node: ast.AST, inside: bool) -> Iterator[Any]:
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns", "decorator_list"):
                continue
            for k, child in enumerate(value if isinstance(value, list) else [value]):
                if not isinstance(child, ast.AST):
                    continue
                here = inside or isinstance(node, ast.FunctionDef)
                if here:
                    yield node, field, k if isinstance(value, list) else None, child
                # The words of messages are not tested for their numbers and signs.
                if not isinstance(child, ast.JoinedStr):
                    yield from below(child, here)

    yield from below(tree, False)


def mutants(source: str, lines: set[int]) -> Iterator[tuple[int, str, ast.Module]]:
    """Line, what is wrong, and the whole module with one fault."""
    tree = ast.parse(source)
    for parent, field, k, child in list(places(tree)):
        if getattr(child, "lineno", 0) not in lines:
            continue
        for what, other in faults(child):
            ast.copy_location(other, child)
            held: Any = getattr(parent, field)
            if k is None:
                setattr(parent, field, other)
            else:
                held[k] = other
            was, now = ast.unparse(child).splitlines()[0], ast.unparse(other).splitlines()[0]
            yield (
                child.lineno, f"{what}: {was[:60]} → {now[:60]}",
                ast.fix_missing_locations(copy.deepcopy(tree)),
            )  # fmt: skip
            if k is None:
                setattr(parent, field, child)
            else:
                held[k] = child


class InItsPlace(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports other code under the name of a module."""

    def __init__(self, name: str, path: Path, code: CodeType) -> None:
        self.name, self.path, self.code = name, path, code

    def find_spec(self, name: str, *_: Any) -> Any:
        if name != self.name:
            return None
        return importlib.util.spec_from_file_location(name, self.path, loader=self)

    def exec_module(self, module: ModuleType) -> None:
        exec(self.code, module.__dict__)


def tested(path: str, code: CodeType, tests: list[str], most: float, note: Path | None) -> str:
    """How the tests ended with this code in the module's place: passed, failed, died, slow."""
    child = os.fork()
    if child == 0:
        os.setsid()
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
        name = path.removeprefix("plugins/").removesuffix(".py").replace("/", ".")
        sys.meta_path.insert(0, InItsPlace(name, ROOT / path, code))
        seen: set[int] = set()

        def within(frame: FrameType, event: str, _: Any) -> Any:
            if event == "line":
                seen.add(frame.f_lineno)
            return within

        def trace(frame: FrameType, *_: Any) -> Any:
            return within if frame.f_code.co_filename == str(ROOT / path) else None

        if note:
            threading.settrace(trace)
            sys.settrace(trace)
        import pytest

        place = tempfile.mkdtemp(prefix="mutant-")
        ended = pytest.main([*tests, "-x", "-q", "-p", "no:cacheprovider", f"--basetemp={place}/t"])
        if note:
            note.write_text(" ".join(map(str, sorted(seen))))
        os._exit(0 if ended == 0 else 1)
    give_up = time.monotonic() + most
    while time.monotonic() < give_up:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            if os.WIFSIGNALED(status):
                return "died"
            return "passed" if os.WEXITSTATUS(status) == 0 else "failed"
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "slow"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("modules", nargs="*", help="all of the list by default")
    parser.add_argument("--sample", type=int, default=40, help="mutants for each module")
    parser.add_argument("--all", action="store_true", help="every mutant")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no module after so many")
    parser.add_argument("--out", type=Path, help="a CSV file; lines are added to it")
    options = parser.parse_args()
    os.chdir(ROOT)
    # What does not change is imported once, and the sources as they are now.
    import h5py  # noqa: F401
    import hypothesis  # noqa: F401
    import numba  # noqa: F401
    import pytest  # noqa: F401
    import scipy.stats  # noqa: F401

    done = set()
    if options.out and options.out.exists():
        with options.out.open(newline="") as file:
            done = {row["module"] for row in csv.DictReader(file)}
    began = time.monotonic()
    for path in options.modules or MODULES:
        if path in done or time.monotonic() - began > options.seconds:
            continue
        tests, source = MODULES[path].split(), (ROOT / path).read_text()
        note = Path(tempfile.mkstemp(prefix="lines-")[1])
        start = time.monotonic()
        sound = tested(path, compile(source, str(ROOT / path), "exec"), tests, 600, note)
        most = 10 * (time.monotonic() - start)
        if sound != "passed":
            raise SystemExit(f"{path}: its tests do not pass as it is: {sound}")
        lines = set(map(int, note.read_text().split()))
        note.unlink()
        every = list(mutants(source, lines))
        chance = random.Random(path)
        chosen = every if options.all else chance.sample(every, min(options.sample, len(every)))
        survivors, killed = [], 0
        for line, what, tree in chosen:
            code = compile(tree, str(ROOT / path), "exec")
            if tested(path, code, tests, most, None) == "passed":
                survivors.append(f"{line} {what}")
                print(f"{path}:{line} survives: {what}", flush=True)
            else:
                killed += 1
        row = {
            "module": path, "mutants": len(chosen), "of": len(every), "killed": killed,
            "survived": len(survivors), "lines_run": len(lines),
            "survivors": "; ".join(sorted(survivors, key=lambda s: int(s.split()[0]))),
        }  # fmt: skip
        print({k: v for k, v in row.items() if k != "survivors"}, flush=True)
        if options.out:
            new = not options.out.exists()
            with options.out.open("a", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, list(row), lineterminator="\n")
                if new:
                    writer.writeheader()
                writer.writerow(row)


if __name__ == "__main__":
    main()
