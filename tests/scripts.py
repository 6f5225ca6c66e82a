"""Programs of the repository that belong to no package, as modules."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]


def script(path: str) -> ModuleType:
    """The module at a path below the root, which is known by no name."""
    spec = importlib.util.spec_from_file_location(path.replace("/", "_"), ROOT / path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def importable(folder: str) -> Iterator[None]:
    """The modules of a folder below the root have their names meanwhile, and are forgotten after.

    As when one of them is run; other folders have modules of the same names.
    """
    place = str(ROOT / folder)
    sys.path.insert(0, place)
    try:
        yield
    finally:
        sys.path.remove(place)
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", "")).startswith(place):
                del sys.modules[name]
