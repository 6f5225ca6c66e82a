"""Selections as arrays, arrays as bytes with digests, and the numeric fingerprint of a machine."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import json
import math
import platform
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.errors import StoreError
from fsframe.method.selection import Donors, PairWeights, Selection
from fsframe.storage import spec
from fsframe.storage.spec import NUMBER_TYPES
from fsframe.table.arrays import are_axes

NUMERIC_PARTS = ("blas", "simd", "kernels", "libm")
"""Parts of `fingerprint` about the machine."""

NUMERIC_LIBRARIES = ("numpy", "scipy", "numba", "llvmlite")
"""Libraries whose versions are part of `fingerprint`."""


@cache
def fingerprint() -> Mapping[str, str]:
    """The numeric fingerprint: what numerical results of this process depend on, by name.

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

    features = llvm.get_host_cpu_features()
    fused = [name for name in ("fma", "avx2") if features.get(name)]
    parts = {
        "blas": "; ".join(_blas()) or "unknown",
        "simd": _simd(),
        "kernels": _compile_target(),
        "libm": " ".join([*platform.libc_ver(), *fused]).strip(),
    }
    return MappingProxyType(parts | {name: release(name) for name in NUMERIC_LIBRARIES})


def numeric_differences(stored: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Differences of two fingerprints, in words; parts missing in one are ignored.

    >>> numeric_differences({"blas": "openblas Haswell"}, {"blas": "openblas SkylakeX"})
    ["blas 'openblas Haswell', not 'openblas SkylakeX'"]
    """
    return [
        f"{name} {str(stored[name])[:200]!r}, not {str(now[name])!r}"
        for name in (*NUMERIC_PARTS, *NUMERIC_LIBRARIES)
        if name in stored and name in now and stored[name] != now[name]
    ]


@cache
def release(name: str) -> str:
    """The version of an installed distribution, or ``"absent"``; looked up once.

    For ``python``, only major and minor.
    """
    if name == "python":
        return ".".join(platform.python_version_tuple()[:2])
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"


def _blas() -> list[str]:
    """One text per BLAS library that belongs to NumPy or SciPy, such as ``openblas 0.3.30 Zen``."""
    import threadpoolctl

    site = Path(np.__file__).parent.parent
    _load_blas_of_scipy(site)
    loaded = [i for i in threadpoolctl.threadpool_info() if i["user_api"] == "blas"]
    # Wheels bring their own; libraries loaded by other packages do not matter.
    homes = [site / name for name in ("numpy", "numpy.libs", "scipy", "scipy.libs")]
    own = [i for i in loaded if any(Path(i["filepath"]).is_relative_to(home) for home in homes)]
    keys = ("internal_api", "version", "architecture")
    return sorted({" ".join(str(i[key]) for key in keys if i.get(key)) for i in own or loaded})


def _load_blas_of_scipy(site: Path) -> None:
    """Load SciPy's BLAS.

    If it is in a wheel's folder, the library alone: a tenth of the time of `scipy.linalg`.
    """
    for library in sorted((site / "scipy.libs").glob("*openblas*")):
        with contextlib.suppress(OSError):
            ctypes.CDLL(str(library))
            return
    import scipy.linalg  # noqa: F401


def _simd() -> str:
    known: dict[str, Any] = np.show_config(mode="dicts")  # type: ignore[assignment]
    extensions = known.get("SIMD Extensions", {})
    names: Iterable[str] = [*extensions.get("baseline", ()), *extensions.get("found", ())]
    return " ".join(names) or "none"


def _compile_target() -> str:
    """The target numba compiles for, without starting its compiler."""
    import llvmlite.binding as llvm
    from numba.core import codegen, config

    settings: Any = config
    name = str(settings.CPU_NAME or llvm.get_host_cpu_name())
    features = settings.CPU_FEATURES
    if features is None:
        features = "" if name == "generic" else codegen.get_host_cpu_features()
    words = [name, hashlib.sha256(str(features).encode()).hexdigest()[:8]]
    words += ["interpreted"] * bool(settings.DISABLE_JIT)
    level = int(settings.OPT)
    words += [f"O{level}"] * (level != 3)
    return " ".join([*words, *["svml"] * bool(settings.USING_SVML)])


def encode_array(value: Any, name: str) -> NDArray[Any]:
    """`value` as a little-endian array of numbers or truth values, or of UTF-8 bytes.

    A single value becomes an array of one; a sequence without elements is text. StoreError, which
    names `name`, if the format does not allow such an array.

    >>> encode_array(["σ", "b"], "names").dtype
    dtype('S2')
    """
    array = np.atleast_1d(np.asarray(value))
    if array.size == 0 and not isinstance(value, np.ndarray):
        array = array.astype(str)
    if array.dtype.kind in "UOS":
        return _encoded(array, name)
    if array.dtype.name not in NUMBER_TYPES:
        raise StoreError(
            f"cannot store {name}: a run file cannot hold arrays of {array.dtype}; a method may "
            "return truth values, whole numbers, 32- or 64-bit floats and text"
        )
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))


def _encoded(array: NDArray[Any], name: str) -> NDArray[np.bytes_]:
    encoded = []
    for text in array.ravel().tolist():
        if not isinstance(text, (str, bytes)):
            raise StoreError(
                f"cannot store {name}: it holds a {type(text).__name__} among its texts"
            )
        try:
            raw = text.encode() if isinstance(text, str) else text.decode().encode()
        except UnicodeError as error:
            raise StoreError(f"cannot store {name}: {error}") from None
        if b"\0" in raw:
            raise StoreError(f"cannot store {name}: a text holds a NUL character")
        encoded.append(raw)
    width = max((len(raw) for raw in encoded), default=1)
    return np.array(encoded, dtype=f"S{max(1, width)}").reshape(array.shape)


TRIANGLE = "triangle"
_WORTH_BYTES = 1 << 12


def is_packable(path: str) -> bool:
    """Whether the dataset at `path` within a stage may be a triangle or a reference.

    >>> [is_packable(path) for path in ("model/W", "pair_weights/matrix", "scores")]
    [True, True, False]
    """
    folder, slash, _ = path.partition("/")
    return bool(slash) and (folder in ("model", "tables") or path == "pair_weights/matrix")


def compact(items: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The datasets of a stage that must be written, and how to reconstruct the others, by path.

    The second mapping holds `TRIANGLE` for a matrix of which only the upper triangle is written,
    and the path of another dataset for one that is left out because it has the same bits. Arrays
    under 4 KiB are written as they are. O(bytes).
    """
    written: dict[str, Any] = {}
    packing: dict[str, str] = {}
    first: dict[tuple[str, tuple[int, ...]], list[str]] = {}
    # Pair weights first, so that a model's copy refers to them, and not the other way round.
    for path in sorted(items, key=lambda path: (not path.startswith("pair_weights/"), path)):
        value = items[path]
        packable = is_packable(path) and isinstance(value, np.ndarray)
        if not packable or value.nbytes < _WORTH_BYTES or value.dtype.kind not in "biuf":
            written[path] = value
            continue
        alike = first.setdefault((value.dtype.name, value.shape), [])
        same = next((other for other in alike if same_bits(items[other], value)), None)
        if same is not None:
            packing[path] = same
            continue
        alike.append(path)
        if _is_symmetric(value):
            packing[path] = TRIANGLE
            written[path] = triangle_of(value)
        else:
            written[path] = value
    return written, packing


def triangle_of(square: NDArray[np.float64]) -> NDArray[np.float64]:
    """The upper triangle with the diagonal, row by row, (m (m + 1) / 2,).

    >>> triangle_of(np.array([[1.0, 2.0], [2.0, 3.0]]))
    array([1., 2., 3.])
    """
    return square[np.triu_indices(square.shape[0])]


def square_of(triangle: NDArray[np.float64]) -> NDArray[np.float64]:
    """The symmetric matrix whose upper triangle is given; ValueError if it is not a triangle.

    >>> square_of(np.array([1.0, 2.0, 3.0]))
    array([[1., 2.],
           [2., 3.]])
    """
    m = (int(np.sqrt(8.0 * triangle.size + 1.0)) - 1) // 2
    if triangle.ndim != 1 or triangle.dtype != np.float64 or m * (m + 1) // 2 != triangle.size:
        raise ValueError(
            f"{triangle.dtype} of shape {triangle.shape} is not the triangle of a square matrix"
        )
    square = np.empty((m, m), dtype=triangle.dtype)
    start = 0
    for row in range(m):
        part = triangle[start : start + m - row]
        square[row, row:] = part
        square[row:, row] = part
        start += m - row
    return square


def _is_symmetric(array: NDArray[Any]) -> bool:
    """Whether an array is a square matrix of float64 equal to its transpose, bit for bit."""
    if array.dtype != np.float64 or array.ndim != 2 or array.shape[0] != array.shape[1]:
        return False
    # As integers, zeros of different signs and NaNs of different payload are different.
    bits = np.ascontiguousarray(array).view(np.int64)
    # The first rows and columns rule out most matrices that are not symmetric.
    return np.array_equal(bits[:8], bits[:, :8].T) and np.array_equal(bits, bits.T)


def same_bits(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Whether two arrays of one type are equal bit by bit."""
    if one.shape != other.shape:
        return False
    place, other_place = (array.__array_interface__["data"] for array in (one, other))
    if place == other_place and one.strides == other.strides:
        return True
    a, b = (np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in (one, other))
    # The first bytes tell most arrays apart.
    return bool((a[:64] == b[:64]).all() and (a == b).all())


def stored_json(value: Any, where: str) -> str:
    """Canonical JSON: sorted keys, no blanks, finite numbers; StoreError for other values."""
    try:
        return json.dumps(
            value, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":"),
            default=_plain,
        )  # fmt: skip
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(f"cannot store {where}: {error}") from None


def json_value(text: str | bytes) -> Any:
    """The value of JSON text; ValueError or RecursionError if it is invalid or not finite."""
    return json.loads(text, parse_constant=_no_number, parse_float=_finite)


def _no_number(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:20]} is not a JSON number here")
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} is not a JSON value")


def content_digest(items: Mapping[str, Any]) -> str:
    """SHA-256 in hexadecimal of named arrays and texts (docs/file-format.md, section 4).

    >>> a = content_digest({"a": np.array([1.0, np.nan])})
    >>> a == content_digest({"a": np.array([1.0, -np.nan])})
    True
    >>> content_digest({"a": ["x"]}) == content_digest({"a": ["x", ""]})
    False
    """
    digest = hashlib.sha256()
    for name in sorted(items, key=str.encode):
        array = encode_array(items[name], name)
        kind, payload = _payload(array)
        shape = "x".join(str(size) for size in array.shape)
        digest.update(f"{name}\0{kind}\0{shape}\0".encode())
        digest.update(payload)
    return digest.hexdigest()


def _payload(array: NDArray[Any]) -> tuple[str, Any]:
    if array.dtype.kind == "S":
        texts = array.ravel().tolist()
        return "text", b"".join(len(text).to_bytes(8, "little") + text for text in texts)
    kind = array.dtype.name
    if array.dtype.kind == "f" and np.isnan(array).any():
        array = np.where(np.isnan(array), np.array(np.nan, dtype=array.dtype), array)
    return kind, array.reshape(-1).view(np.uint8)


def result_digest(selected: NDArray[np.int64], scores: NDArray[np.float64]) -> str:
    """SHA-256 of the result: the kept columns, best first, and all scores."""
    return content_digest({"selected": np.asarray(selected, dtype=np.int64), "scores": scores})


FREE = ("model", "tables")
"""Parts of a selection whose arrays a method names itself."""
_SINGLE = ("k", "standardize")
_MATRIX = frozenset({"columns", "matrix"})
_LISTED = frozenset({"columns", "i", "j", "weight"})


def selection_arrays(selection: Selection) -> dict[str, NDArray[Any]]:
    """The arrays that a selection has, by path.

    Column numbers are int64 on any machine.

    >>> selection = Selection(selected=[1], scores=[0.1, 0.9], tables={"cost": [3.0]})
    >>> sorted(selection_arrays(selection))
    ['scores', 'selected', 'tables/cost']
    """
    fields = [(name, getattr(selection, name), kind) for name, kind in spec.STAGE_ARRAYS.items()]
    for folder, kinds in spec.STAGE_FOLDERS.items():
        part = getattr(selection, folder)
        if part is not None:
            fields += [(f"{folder}/{name}", getattr(part, name), kinds[name]) for name in kinds]
    arrays = {
        path: np.atleast_1d(np.asarray(value, np.int64 if kind == "int64" else None))
        for path, value, kind in fields
        if value is not None
    }
    for folder in FREE:
        members: Mapping[str, NDArray[Any]] = getattr(selection, folder)
        arrays |= {f"{folder}/{name}": array for name, array in members.items()}
    return arrays


def selection_of(
    arrays: Mapping[str, NDArray[Any]],
    *,
    warnings: Iterable[str],
    carried: Iterable[str],
    model_columns: Any,
) -> Selection:
    """The selection with these arrays, by path, and the other parts given.

    The inverse of `selection_arrays`. The input may be untrusted: StoreError if no selection has
    these parts. `model_columns` says which axes of the arrays of the model run over columns.
    """
    folders: dict[str, dict[str, NDArray[Any]]]
    folders = {folder: {} for folder in (*spec.STAGE_FOLDERS, *FREE)}
    plain: dict[str, Any] = {}
    for path, array in arrays.items():
        folder, slash, name = path.partition("/")
        if slash and folder in folders:
            folders[folder][name] = array
        elif path in spec.STAGE_ARRAYS:
            plain[path] = array
        else:
            raise StoreError(f"no selection has a part {path[:40]!r}")
    axes = {} if model_columns is None else model_columns
    if not are_axes(axes, folders["model"]):
        raise StoreError("model_columns does not give axes of arrays in model")
    pairs, donors = folders.pop("pair_weights"), folders.pop("donors")
    try:
        return Selection(
            **plain,
            **folders,
            pair_weights=_pair_weights(pairs) if pairs else None,
            donors=_donors(donors) if donors else None,
            warnings=tuple(warnings),
            carried=frozenset(carried),
            model_columns=axes,
        )
    except (TypeError, ValueError, IndexError) as error:
        raise StoreError(f"it holds an invalid selection: {error}") from None


def _pair_weights(arrays: dict[str, NDArray[Any]]) -> PairWeights:
    names = set(arrays)
    if names != _MATRIX and names - {"diagonal"} != _LISTED:
        raise ValueError("pair_weights holds neither a matrix alone nor i, j and weight")
    return PairWeights(**arrays)


def _donors(arrays: dict[str, NDArray[Any]]) -> Donors:
    if set(arrays) != set(spec.DONOR_ARRAYS):
        raise ValueError(f"donors are {', '.join(spec.DONOR_ARRAYS)}")
    if any(arrays[name].shape != (1,) for name in _SINGLE):
        raise ValueError(f"{' and '.join(_SINGLE)} of donors are one value each")
    return Donors(**{n: a[0] if n in _SINGLE else a for n, a in arrays.items()})


def same_donors(one: Selection, other: Selection | None) -> bool:
    """Whether two selections have donors, and the same ones."""
    a, b = one.donors, None if other is None else other.donors
    if a is None or b is None or a is b:
        return a is not None and a is b
    return all(
        np.array_equal(getattr(a, name), getattr(b, name), equal_nan=kind == "float64")
        for name, kind in spec.DONOR_ARRAYS.items()
    )
