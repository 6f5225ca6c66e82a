"""Writes what the bundled methods take, for editors and type checkers: two stubs.

``sklearn/__init__.pyi`` has the estimators, ``registry/__init__.pyi`` the classes that
``fsframe.selectors[name]`` and its like give. A wheel is built with both; in a clone
``python docs/make_stubs.py`` writes them into ``fsframe/``, or into the package folder that is
named. They are not kept in the repository.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from fsframe.kinds import annotation, is_stages
from fsframe.method.classifier import Classifier
from fsframe.method.selector import Selector
from fsframe.params import Parameter
from fsframe.registry import Registry, classifiers, regressors, selectors
from fsframe.sklearn import estimator, offered_names
from fsframe.sklearn.estimators import (
    ClassifierEstimator,
    RegressorEstimator,
    WeightedSelectorEstimator,
)
from fsframe.sklearn.parameters import SETTINGS, settings_of

_PACKAGE = Path(__file__).resolve().parents[1] / "fsframe"

_SETTINGS = {
    "task": 'Literal["auto", "classification", "regression"]',
    "always_keep": "str | int | Sequence[str | int] | None",
    "feature_groups": "Mapping[str, Sequence[str | int]] | None",
    "random_state": "_Seed",
    "n_jobs": "int | None",
    "memory_limit": "int | None",
}
"""Types of the parameters that estimators have besides those of their methods."""

_HEAD = '''\
# Written by `python docs/make_stubs.py` from the declarations of the methods; do not edit it.

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self, overload

import numpy as np
import pandas  # type: ignore[import-untyped, import-not-found, unused-ignore]
import polars
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import (  # type: ignore[import-untyped]
    csc_array,
    csc_matrix,
    csr_array,
    csr_matrix,
    sparray,
    spmatrix,
)
from sklearn.base import (  # type: ignore[import-untyped]
    BaseEstimator,
    ClassifierMixin,
    RegressorMixin,
)
from sklearn.feature_selection import SelectorMixin  # type: ignore[import-untyped]

from fsframe.chains.chain import Chain
from fsframe.errors import FsframeWarning as FsframeWarning
from fsframe.method.classifier import Classifier, FittedOnColumns
from fsframe.method.selection import Pair, Selection
from fsframe.method.selector import Selector

_Stages = (
    str
    | Chain
    | Selector
    | Classifier
    | BaseEstimator
    | Sequence[str | Chain | Selector | Classifier | BaseEstimator]
)
_Seed = int | np.random.RandomState | np.random.Generator | None
# Frames if `set_output` requests them.
_Dense = NDArray[Any] | pandas.DataFrame | polars.DataFrame
_Sparse = csr_array | csc_array | csr_matrix | csc_matrix

class _Found:
    selection_: Selection
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    @property
    def scores_(self) -> NDArray[np.float64]: ...
    @property
    def ranking_(self) -> NDArray[np.intp]: ...
    @property
    def feature_importances_(self) -> NDArray[np.float64]: ...
    @property
    def pairs_(self) -> list[Pair]: ...
    @property
    def pvalues_(self) -> NDArray[np.float64]: ...
    @property
    def qvalues_(self) -> NDArray[np.float64]: ...

class _Selects(_Found, SelectorMixin, BaseEstimator):  # type: ignore[misc]
    # Dense X first: without stubs of scipy, sparse types are Any, and Any takes everything.
    @overload
    def transform(self, X: ArrayLike) -> _Dense: ...
    @overload
    def transform(self, X: sparray | spmatrix) -> _Sparse: ...
    @overload
    def fit_transform(
        self, X: ArrayLike, y: ArrayLike | None = None, **fit_params: Any
    ) -> _Dense: ...
    @overload
    def fit_transform(
        self, X: sparray | spmatrix, y: ArrayLike | None = None, **fit_params: Any
    ) -> _Sparse: ...
    @overload
    def inverse_transform(self, X: ArrayLike) -> NDArray[Any]: ...
    @overload
    def inverse_transform(self, X: sparray | spmatrix) -> csc_array | csc_matrix: ...
    @overload
    def get_support(self, indices: Literal[False] = False) -> NDArray[np.bool_]: ...
    @overload
    def get_support(self, indices: Literal[True]) -> NDArray[np.intp]: ...
    def _get_support_mask(self) -> NDArray[np.bool_]: ...
    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]: ...

class _PredictsNumbers(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    fitted_: FittedOnColumns
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    def predict(self, X: Any) -> NDArray[np.float64]: ...
    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float: ...

class _Predicts(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    classes_: NDArray[Any]
    fitted_: FittedOnColumns
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    def predict(self, X: Any) -> NDArray[Any]: ...
    def decision_function(self, X: Any) -> NDArray[np.float64]: ...
    def predict_proba(self, X: Any) -> NDArray[np.float64]: ...
    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float: ...

class _Selector(_Selects):
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        times: ArrayLike | None = None,
        adjust: Any = None,
    ) -> Self: ...

class _WeightedSelector(_Selects):
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        times: ArrayLike | None = None,
        adjust: Any = None,
    ) -> Self: ...

class _Classifier(_Predicts):
    def fit(self, X: Any, y: ArrayLike) -> Self: ...

class _Regressor(_PredictsNumbers):
    def fit(self, X: Any, y: ArrayLike) -> Self: ...

class ChainSelector(_Selects):
    """Keeps the columns that a chain selects; for pipelines and grid searches."""
    selections_: dict[str, Selection]
    def __init__(
        self,
        chain: _Stages = "immigrate",
        *,
        task: Literal["auto", "classification", "regression"] = "auto",
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        times: ArrayLike | None = None,
        adjust: Any = None,
    ) -> Self: ...
    def get_params(self, deep: bool = True) -> dict[str, Any]: ...
    def set_params(self, **params: Any) -> Self: ...

class ChainClassifier(_Found, _Predicts):
    """Predicts with the classifier that ends a chain, from the columns and weights before it."""
    selections_: dict[str, Selection]
    def __init__(
        self,
        chain: _Stages = "immigrate margin",
        *,
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        times: ArrayLike | None = None,
        adjust: Any = None,
    ) -> Self: ...
    def get_params(self, deep: bool = True) -> dict[str, Any]: ...
    def set_params(self, **params: Any) -> Self: ...

class ChainRegressor(_Found, _PredictsNumbers):
    """Predicts numbers with the regressor that ends a chain, from what the chain keeps."""
    selections_: dict[str, Selection]
    def __init__(
        self,
        chain: _Stages = "rrelieff knn:k=5",
        *,
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        times: ArrayLike | None = None,
        adjust: Any = None,
    ) -> Self: ...
    def get_params(self, deep: bool = True) -> dict[str, Any]: ...
    def set_params(self, **params: Any) -> Self: ...

def estimator(name: str) -> type[Any]:
    """The estimator class of a registered method, of whatever plugin."""
'''


_REGISTRY_HEAD = """\
# Written by `python docs/make_stubs.py` from the declarations of the methods; do not edit it.

from collections.abc import Sequence
from typing import Any, Literal, overload

from fsframe.method.classifier import Classifier, Regressor
from fsframe.method.selector import Selector
from fsframe.registry.registering import local_class_version as local_class_version
from fsframe.registry.registering import register as register
from fsframe.registry.registering import unreachable_classes as unreachable_classes
"""


def sklearn_stub() -> str:
    """The stub of `fsframe.sklearn`."""
    parts = [_HEAD]
    for name, method in offered_names().items():
        registry = selectors if method in selectors else classifiers
        if registry.offer(method).plugin.source.bundled:
            parts.append("\n".join(_class(name, method, registry[method])) + "\n")
    return "\n".join(parts)


def _class(name: str, method_name: str, method: type[Selector] | type[Classifier]) -> Iterator[str]:
    made = estimator(method_name)
    base = "_Selector"
    if issubclass(made, ClassifierEstimator):
        base = "_Classifier"
    elif issubclass(made, RegressorEstimator):
        base = "_Regressor"
    elif issubclass(made, WeightedSelectorEstimator):
        base = "_WeightedSelector"
    yield f"class {name}({base}):"
    # Editors show it; the whole docstring is made where the class is.
    yield f'    """{(made.__doc__ or "").split(chr(10) * 2)[0]}"""'
    parameters = method.parameters()
    if "max_iter" in {parameter.name for parameter in parameters}:
        yield "    n_iter_: int"
    yield "    def __init__("
    yield "        self,"
    yield "        *,"
    for parameter in parameters:
        yield f"        {_parameter(parameter)},"
    for setting in settings_of(method):
        kind = _SETTINGS[setting]
        yield f"        {setting}: {kind} = {SETTINGS[setting].default!r},"
    yield "    ) -> None: ..."


def _parameter(parameter: Parameter) -> str:
    kind = annotation(parameter.kind)
    if is_stages(parameter.kind):
        kind = kind.replace("str", "_Stages", 1)
    default = "" if parameter.required else f" = {parameter.default!r}"
    return f"{parameter.name}: {kind}{default}"


def registry_stub() -> str:
    """The stub of `fsframe.registry`, in which each name of a bundled method has its class."""
    import fsframe.registry as package

    typed = {
        "selectors": (selectors, "Selector"),
        "regressors": (regressors, "Regressor"),  # they are classifiers too
        "classifiers": (classifiers, "Classifier"),
    }
    exported = [name for name in package.__all__ if hasattr(package.registry, name)]
    lines = [
        f"from fsframe.registry.registry import {name} as {name}"
        for name in exported
        if name not in typed
    ]
    known: set[str] = set()
    for registry, base in typed.values():
        for offer in _bundled(registry):
            if offer not in known:
                lines += ["", *_method(offer, registry[offer], base)]
            known.add(offer)
    for name, (registry, _) in typed.items():
        lines += ["", f"class _{name.capitalize()}(Registry):"]
        for offer in _bundled(registry):
            made = f"type[{_class_name(offer)}]"
            lines += ["    @overload"]
            lines += [f"    def __getitem__(self, name: Literal[{offer!r}]) -> {made}: ..."]
        lines += ["    @overload", "    def __getitem__(self, name: str) -> Any: ..."]
    lines += ["", *(f"{name}: _{name.capitalize()}" for name in typed)]
    return _REGISTRY_HEAD + "\n".join(lines) + "\n"


def _bundled(registry: Registry) -> list[str]:
    return [name for name in registry if registry.offer(name).plugin.source.bundled]


def _class_name(name: str) -> str:
    return "_" + "".join(part.capitalize() for part in name.split("-"))


def _method(name: str, method: type[Selector] | type[Classifier], base: str) -> Iterator[str]:
    yield f"class {_class_name(name)}({base}):"
    yield f'    """{(method.__doc__ or "").split(chr(10))[0]}"""'
    yield "    def __init__("
    yield "        self,"
    parameters = method.parameters()
    if parameters:
        yield "        *,"
    for parameter in parameters:
        default = "" if parameter.required else f" = {parameter.default!r}"
        yield f"        {parameter.name}: {annotation(parameter.kind)}{default},"
    yield "    ) -> None: ..."
    for parameter in parameters:
        yield f"    {parameter.name}: {annotation(parameter.kind)}"


STUBS = {"sklearn/__init__.pyi": sklearn_stub, "registry/__init__.pyi": registry_stub}


def main(arguments: Sequence[str]) -> None:
    """Write the files into the package folder that is named, the clone's without."""
    package = Path(arguments[0] if arguments else _PACKAGE)
    for name, stub in STUBS.items():
        (package / name).write_text(stub(), encoding="utf-8")
        print(package / name)


if __name__ == "__main__":
    main(sys.argv[1:])
