"""Fingerprint of the software and processor that determine the last bits of a result.

Sums of floating-point numbers depend on their order, and linear algebra, vector loops and compiled
kernels order them by the width of the processor's registers. Equal bits are promised for equal
fingerprints only.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import MappingProxyType
from typing import Any

__all__ = ["NUMERIC_LIBRARIES", "NUMERIC_PARTS", "fingerprint", "numeric_differences", "release"]

NUMERIC_PARTS = ("blas", "simd", "kernels", "libm")
"""Parts of `fingerprint` about the machine."""

NUMERIC_LIBRARIES = ("numpy", "scipy", "numba", "llvmlite")
"""Libraries whose versions are part of it."""


@cache
def fingerprint() -> Mapping[str, str]:
    """What numerical results of this process depend on, by name.

    Returns
    -------
    mapping of str to str
        ``blas``: library, version and core of each BLAS that NumPy and SciPy use; ``simd``: vector
        instructions that NumPy uses; ``kernels``: processor that numba compiles for, and a digest
        of its features; ``libm``: C library and the fused instructions it may choose; and versions
        of `NUMERIC_LIBRARIES`. Taken once per process.

    Notes
    -----
    It describes what is in use, not the processor: ``OPENBLAS_CORETYPE``,
    ``NPY_DISABLE_CPU_FEATURES`` and ``NUMBA_CPU_NAME`` are seen. Loads NumPy, SciPy and numba.
    """
    import llvmlite.binding as llvm

    found = {
        "blas": "; ".join(_blas()) or "unknown",
        "simd": _simd(),
        "kernels": _compile_target(),
        "libm": " ".join([*platform.libc_ver(), *_fused(llvm.get_host_cpu_features())]).strip(),
    }
    return MappingProxyType(found | {name: release(name) for name in NUMERIC_LIBRARIES})


def numeric_differences(found: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Differences of two fingerprints, in words; parts missing in one are ignored.

    >>> numeric_differences({"blas": "openblas Haswell"}, {"blas": "openblas SkylakeX"})
    ["blas 'openblas Haswell', not 'openblas SkylakeX'"]
    """
    return [
        f"{name} {str(found[name])[:200]!r}, not {str(now[name])!r}"
        for name in (*NUMERIC_PARTS, *NUMERIC_LIBRARIES)
        if name in found and name in now and found[name] != now[name]
    ]


@cache
def release(name: str) -> str:
    """The version of an installed distribution, or ``"absent"``; looked up once.

    Of ``python``, major and minor.
    """
    if name == "python":
        return ".".join(platform.python_version_tuple()[:2])
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"


def _blas() -> list[str]:
    """One text per BLAS library that belongs to NumPy or SciPy, such as ``openblas 0.3.30 Zen``."""
    import numpy as np
    import scipy.linalg  # noqa: F401 - loads SciPy's own BLAS
    import threadpoolctl

    loaded = [i for i in threadpoolctl.threadpool_info() if i["user_api"] == "blas"]
    site = Path(np.__file__).parent.parent
    # Wheels bring their own; libraries loaded by other packages do not matter.
    own = [i for i in loaded if _is_of(Path(i["filepath"]), site)] or loaded
    keys = ("internal_api", "version", "architecture")
    return sorted({" ".join(str(i[key]) for key in keys if i.get(key)) for i in own})


def _is_of(library: Path, site: Path) -> bool:
    homes = ("numpy", "numpy.libs", "scipy", "scipy.libs")
    return any(library.is_relative_to(site / home) for home in homes)


def _simd() -> str:
    import numpy as np

    known: dict[str, Any] = np.show_config(mode="dicts")  # type: ignore[assignment]
    extensions = known.get("SIMD Extensions", {})
    names: Iterable[str] = [*extensions.get("baseline", ()), *extensions.get("found", ())]
    return " ".join(names) or "none"


def _compile_target() -> str:
    """The target numba compiles for, without starting its compiler."""
    import llvmlite.binding as llvm
    from numba.core import codegen, config

    def option(name: str) -> Any:
        return getattr(config, name, None)

    name = str(option("CPU_NAME") or llvm.get_host_cpu_name())
    features = option("CPU_FEATURES")
    if features is None:
        features = "" if name == "generic" else codegen.get_host_cpu_features()
    words = [name, hashlib.sha256(str(features).encode()).hexdigest()[:8]]
    words += [word for word, on in (("interpreted", option("DISABLE_JIT")),) if on]
    level = int(option("OPT") or 0)
    words += [f"O{level}"] if level != 3 else []
    return " ".join([*words, *(["svml"] if option("USING_SVML") else [])])


def _fused(features: Mapping[str, bool]) -> list[str]:
    return [name for name in ("fma", "avx2") if features.get(name)]
