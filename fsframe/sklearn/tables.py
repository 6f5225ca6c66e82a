"""The input of estimators as tables with roles."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from operator import not_
from typing import Any

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array, check_X_y
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight, validate_data

from fsframe.chains.chain import Chain
from fsframe.errors import DataError, RequestError
from fsframe.method.classifier import Classifier
from fsframe.method.selection import Selection
from fsframe.method.selector import Selector
from fsframe.registry import Offer, classifiers, find_offer, selectors
from fsframe.registry.manager import declared_exceptions
from fsframe.sklearn.messages import InvalidData, InvalidRequest, as_value_errors
from fsframe.table.arrays import check_numbers_as_classes, kept_columns, unmasked
from fsframe.table.assembly import Parts, features_only
from fsframe.table.column_kinds import ColumnKind, numbers_of
from fsframe.table.columns import find_columns
from fsframe.table.dataset import Dataset
from fsframe.table.frames import (
    FrameColumns,
    as_list,
    columns_of,
    frame_names,
    frame_texts,
    is_category,
    is_frame,
)
from fsframe.table.side_columns import LABELS, SideColumns, feature_sets, signed_times


def _with_roles(data: Dataset, estimator: Any, times: ArrayLike | None, adjust: Any) -> Dataset:
    """The table with times, covariates, and the roles of columns that are settings.

    `times` (n_samples,) are numbers or dates; `adjust` (n_samples,) or (n_samples, q) numbers or
    text, or a data frame.

    Raises
    ------
    InvalidRequest
        If a parameter has an invalid type.
    DataError
        If there is no such column, or times or covariates have missing values or the wrong length.
    """
    always_keep, feature_groups = (
        getattr(estimator, name) if name in estimator._settings else None
        for name in ("always_keep", "feature_groups")
    )
    changed: dict[str, Any] = {}
    if always_keep is not None:
        places = _places(data, always_keep, "always_keep")
        mask = np.isin(np.arange(data.n_features), places)
        changed["keep"] = kept_columns(mask, data.n_features)
    if feature_groups is not None:
        changed["feature_groups"] = _sets(data, feature_groups)
    if times is not None:
        column = {"times": _moments(times)}
        changed["times"] = _side_columns(column, [False], data.n_samples, "times")
    if adjust is not None:
        columns, nominal = _covariates(adjust)
        changed["covariates"] = _side_columns(columns, nominal, data.n_samples, "adjust")
    return attrs.evolve(data, **changed) if changed else data


def _sets(data: Dataset, given: Any) -> dict[str, tuple[str, ...]]:
    """The names of the features of each group of `feature_groups`."""
    if not isinstance(given, Mapping):
        raise InvalidRequest(
            "feature_groups must be a mapping of names of groups to their columns, such as "
            f"{{'scale': ['x1', 'x4']}}, not {type(given).__name__}"
        )
    sets = {}
    for name, members in given.items():
        places = _places(data, members, f"feature_groups, {str(name)!r}")
        sets[str(name)] = tuple(data.feature_names[place] for place in places)
    feature_sets(sets, data.feature_names)
    return sets


def _places(data: Dataset, given: Any, what: str) -> list[int]:
    """Positions of columns given by name or position."""
    keys = [given] if isinstance(given, (str, int, np.integer)) else given
    if not isinstance(keys, (Sequence, np.ndarray)) or not len(keys):
        raise InvalidRequest(f"{what} must be names or positions of columns, not {given!r}")
    plain = [int(key) if isinstance(key, np.integer) else key for key in keys]
    wrong = [k for k in plain if not isinstance(k, (str, int)) or isinstance(k, (bool, np.bool_))]
    if wrong:
        raise InvalidRequest(f"{what} must be names or positions of columns, not {wrong[0]!r}")
    return find_columns(data.feature_names, data.n_features, plain, what)


def _moments(given: ArrayLike) -> NDArray[Any]:
    """Times as numbers; dates as days since 1970-01-01, missing ones as NaN."""
    moments = np.asarray(given)
    if moments.dtype.kind == "M":
        days = moments.astype("datetime64[us]").astype(np.int64) / 86_400e6
        return np.where(np.isnat(moments), np.nan, days)
    if moments.dtype.kind not in "iuf":
        raise InvalidData(f"times must be numbers or dates (datetime64), not {moments.dtype}")
    return moments


def _covariates(given: Any) -> tuple[dict[str, NDArray[Any]], list[bool]]:
    """Columns by name, and whether each is nominal (False for columns of arrays)."""
    if hasattr(given, "to_frame"):
        given = given.to_frame()
    if is_frame(given):
        names = frame_names(given)
        parts = features_only(FrameColumns(given), worded=names)
        columns = {name: parts["X"][:, place] for place, name in enumerate(parts["feature_names"])}
        return columns, parts["categorical"].tolist()
    table = np.asarray(given)
    if table.ndim not in (1, 2):
        raise InvalidData(f"adjust must be (n_samples,) or (n_samples, q), not {table.ndim}-D")
    table = table.reshape(len(table), -1)
    return {f"adjust {k + 1}": table[:, k] for k in range(table.shape[1])}, [False] * table.shape[1]


def _side_columns(
    columns: Mapping[str, NDArray[Any]], nominal: Sequence[bool], n_samples: int, what: str
) -> SideColumns:
    for values in columns.values():
        if values.shape != (n_samples,):
            raise InvalidData(f"{what} must have a value for each of {n_samples} rows of X")
    return SideColumns.of(columns, nominal, f"{what}, column")


_SPARSE = ("csr", "csc")


Codes = Mapping[int, ColumnKind]
"""The categorical columns of the table of `fit` with their levels, none where these are numbers."""


@attrs.frozen(kw_only=True, eq=False)
class Training:
    """The training data of an estimator.

    `classes` are in ascending order, none for a numeric target; `codes` are the categories of a
    data frame by column; `upstream` holds fractional row weights as instance weights.
    """

    data: Dataset
    classes: NDArray[Any]
    codes: Codes
    upstream: Selection | None = None


def task_of(y: NDArray[Any], wish: str, tasks: Collection[str]) -> str:
    """The task, such as ``"classification"``.

    Parameters
    ----------
    y : (n_samples,) array
    wish : str
        ``"classification"``, ``"regression"`` or ``"survival"``; ``"auto"``: as the method
        requires, or by `y`: regression if the numbers are not all integers.
    tasks : collection of str
        The tasks that the method supports.

    Raises
    ------
    InvalidRequest
        If there is no such task, or the method does not support it.
    InvalidData
        If the numbers of `y` are whole, but hardly classes, and no task is requested.
    """
    if wish in LABELS:
        if wish not in tasks:
            raise InvalidRequest(f"task={wish!r}: the method supports {' and '.join(tasks)}")
        return wish
    if wish != "auto":
        words = " or ".join(map(repr, ("auto", *sorted(tasks))))
        raise InvalidRequest(f"task={wish!r}: it must be {words}")
    kind = "regression" if type_of_target(y).startswith("continuous") else "classification"
    if kind == "classification" and "classification" in tasks:
        try:
            check_numbers_as_classes(*np.unique(y, return_counts=True), "y")
        except DataError as error:
            raise InvalidData(str(error)) from None
    return next(iter(tasks)) if len(tasks) == 1 else kind


def times_as_numbers(y: Any) -> Any:
    """A structured array of events and times as one number per row; anything else as it is.

    >>> kinds = [("dead", bool), ("years", float)]
    >>> times_as_numbers(np.array([(True, 2.0), (False, 5.0)], dtype=kinds)).tolist()
    [2.0, -5.0]
    """
    names = getattr(getattr(y, "dtype", None), "names", None)
    if not names:
        return y
    flags = [name for name in names if y.dtype[name].kind == "b"]
    if len(names) != 2 or len(flags) != 1:
        raise InvalidData(
            "y with fields must have two: a boolean (whether the event was observed), and the time"
        )
    (time,) = set(names) - set(flags)
    return signed_times(y[time], y[flags[0]], time, flags[0])


def takes_missing(chain: Chain) -> bool:
    """Whether NaN is accepted in every column: by the first stage, and by the chain it resamples.

    Later stages get the columns that it keeps, filled if it fills them.
    """
    return _method_takes_missing(chain.stages[0].method)


def _method_takes_missing(method: Selector | Classifier) -> bool:
    if not method.missing_taken():
        return False
    base = getattr(method, "base", None) if getattr(method, "wrapping", False) else None
    return base is None or takes_missing(Chain.parse(base))


def promises_missing(chain: Chain) -> bool:
    """Whether every table with NaN is accepted: by all stages, or by those up to one that fills.

    `takes_missing` accepts more tables: also those whose columns with NaN are dropped in time.
    """
    for stage in chain.stages:
        if not _method_takes_missing(stage.method):
            return False
        if getattr(stage.method, "fills_missing", False):
            return True
    return True


def unlike_copies(name: str, method: Selector | Classifier) -> str:
    """Why a row of weight k is not k equal rows to a stage; empty if it is.

    The reason is given by the method itself, or by the exception from conformance checks that its
    plugin declares. Methods based on neighbours thus refuse weights: copies of a row must not be
    each other's neighbours. Stages that sample rows refuse weights themselves
    (`Selector.role_problems`).
    """
    declared = declared_exceptions(find_offer(name, selectors, classifiers)[1].entry)
    return method.unlike_copies() or declared.get("counts_equal_copies", "")


def copies_are_weights(offer: Offer, method: type[Selector]) -> bool:
    """Whether an estimator of the method has `sample_weight`: a row of weight k equals k rows, with
    the default parameters if these are valid."""
    if not method.takes_counts or method.wrapping:
        return False
    try:
        made = method()
    except (TypeError, RequestError):
        # A parameter is required, or the defaults alone are not enough.
        return "counts_equal_copies" not in declared_exceptions(offer.entry)
    return not unlike_copies(offer.name, made)


def check_weights(chain: Chain) -> None:
    """Refuse row weights for stages for which a row of weight k is not k rows.

    Raises
    ------
    InvalidData
        Naming each such stage and why.
    """
    stages = [(stage.name, stage.method) for stage in chain.stages]
    refused = [
        f"{name} takes no sample_weight, since a row of weight k would not equal k rows: {reason}"
        for name, method in stages
        if (reason := unlike_copies(name, method)) and getattr(method, "takes_weights", True)
    ]
    if refused:
        raise InvalidData(
            ";\n".join(refused)
            + "; leave the weights out, repeat the rows of X and y, or give the table its weights "
            "as fsframe understands them (Dataset.from_arrays(…, weights=), docs/data.md)"
        )


def counting_stages(chain: Chain) -> list[str]:
    """The stages that accept integer row weights only."""
    return [
        stage.name
        for stage in chain.stages
        if not (isinstance(stage.method, Selector) and stage.method.uses_upstream_weights)
    ]


@contextlib.contextmanager
def _naming_columns(X: Any) -> Iterator[None]:
    """Context in which a data frame that cannot be used is refused by the name of a column."""
    # Frames of pandas with times are refused below; polars would turn them into numbers.
    if is_frame(X) and (problem := _column_of_times(X)):
        raise InvalidData(problem)
    try:
        yield
    except Exception as error:
        problem = _column_problem(X) if is_frame(X) else ""
        if problem:
            raise InvalidData(problem) from error
        raise


def _numeric(X: Any) -> Any:
    """A validated table as numbers: scikit-learn leaves text of polars as it is."""
    return X if X.dtype.kind in "biuf" else X.astype(np.float64)


def _column_of_times(X: Any) -> str:
    """What is wrong with the first column of a frame that holds times or durations, if one does."""
    types = X.dtypes if hasattr(X, "dtypes") else X.schema.types
    for name, kind in zip(frame_names(X), types, strict=True):
        if (word := str(kind).lower()).startswith(("date", "time", "duration")):
            held = "durations" if word.startswith(("timedelta", "duration")) else "times"
            return (
                f"column {name!r} holds {held} ({kind}); turn them into numbers, such as days "
                "since the first of them, or drop the column"
            )
    return ""


def _column_problem(X: Any) -> str:
    """What is wrong with the first column of a frame that has neither numbers nor categories."""
    names = frame_names(X)
    if twice := [name for name, times in Counter(names).items() if times > 1]:
        return f"X has several columns called {twice[0]!r}; rename or drop all but one of them"
    for name, series in columns_of(X):
        texts = [value for value in as_list(series) if isinstance(value, str)]
        if texts and not is_category(series.dtype):
            return (
                f"column {name!r} holds text, such as {texts[0]!r}; make it categorical "
                f"(pandas: X.astype({{{name!r}: 'category'}})), turn it into numbers, or drop it"
            )
    return ""


def training_table(
    estimator: Any,
    chain: Chain,
    X: Any,
    y: ArrayLike | None,
    *,
    task: str,
    tasks: Collection[str],
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    times: ArrayLike | None = None,
    adjust: Any = None,
) -> Training:
    """The table for the fit of an estimator; sets `n_features_in_` and `feature_names_in_`.

    The last four parameters are those of `fit`. A scipy sparse X (csr or csc) is handled as by
    `Dataset.from_arrays`. A structured y has the task survival, whatever `task` says, which a
    method that is not made for it refuses. Categorical columns of a data frame are nominal, ordered
    ones ordinal; features are named as in the frame, else x0, x1, …. Missing values and weights are
    refused unless the chain accepts them.

    Raises
    ------
    ValueError, TypeError
        As raised by scikit-learn's `validate_data`.
    DataError, InvalidRequest
        As raised by `Dataset.from_arrays`, `features_only` and `task_of`.
    """
    finite = "allow-nan" if takes_missing(chain) else True
    X, y = unmasked(X), unmasked(y)
    numbers = times_as_numbers(y)
    of_times, y = numbers is not y, numbers
    codes: Codes = {}
    warnings: tuple[str, ...] = ()
    nominal, kinds = np.empty(0, dtype=np.intp), {}
    if category_places(X):
        # Sets number and names of features before the frame becomes an array.
        with _naming_columns(X):
            validate_data(estimator, X, y, skip_check_array=True)
        parts = features_only(FrameColumns(X))
        codes, warnings = _category_codes(parts), parts["warnings"]
        nominal, kinds = np.flatnonzero(parts["categorical"]), dict(parts["kinds"])
        X, y = check_X_y(
            parts["X"], y, ensure_all_finite=finite, ensure_min_samples=2, estimator=estimator
        )
    else:
        with _naming_columns(X):
            X, y = validate_data(
                estimator, X, y, accept_sparse=_SPARSE, ensure_all_finite=finite,
                ensure_min_samples=2,
            )  # fmt: skip
            X = _numeric(X)
    labels: NDArray[Any] = np.asarray(y)
    kind = "survival" if of_times else task_of(labels, task, tasks)
    if kind == "classification":
        check_classification_targets(labels)
    elif labels.dtype.kind not in "fiub":
        try:
            labels = labels.astype(np.float64)
        except (TypeError, ValueError):
            raise InvalidRequest(
                f"y holds {labels.tolist()[0]!r}, which is no number: a regressor needs a numeric "
                "target; classes are for a classifier, such as ChainClassifier"
            ) from None
    names = getattr(estimator, "feature_names_in_", None)
    counts, importance = sample_weights(sample_weight, X, counting_stages(chain))
    if counts is not None:
        check_weights(chain)
    data = Dataset.from_arrays(
        X,
        labels,
        [f"x{j}" for j in range(X.shape[1])] if names is None else list(names),
        categorical=nominal,
        kinds=kinds,
        groups=groups,
        name="X",
        label_name="y",
        task=kind,
        warnings=warnings,
        weights=counts,
        weight_name="sample_weight",
    )
    data = _with_roles(data, estimator, times, adjust)
    classes = np.unique(labels) if kind == "classification" else labels[:0]
    upstream = None
    if importance is not None:
        upstream = Selection.of_every_column(data.n_features, instance_weights=importance)
    return Training(data=data, classes=classes, codes=codes, upstream=upstream)


def new_rows(
    estimator: Any, X: Any, codes: Codes, *, allow_nan: bool, reads: Collection[int]
) -> Any:
    """New rows as numbers, with the category codes of `fit`; sparse (csr or csc) if `X` is.

    Raises
    ------
    ValueError
        As raised by `validate_data`, and for a new one of ordered categories in a column that
        `reads` holds.
    """
    finite, X = "allow-nan" if allow_nan else True, unmasked(X)
    if not codes or not is_frame(X):
        with _naming_columns(X):
            return _numeric(
                validate_data(
                    estimator, X, accept_sparse=_SPARSE, reset=False, ensure_all_finite=finite
                )
            )
    validate_data(estimator, X, reset=False, skip_check_array=True)
    names = frame_names(X)
    table = np.empty((len(X), len(names)))
    spelled = {column: kind for column, kind in codes.items() if kind.levels}
    plain = [j for j in range(len(names)) if j not in spelled]
    if plain:
        columns = X.iloc[:, plain] if hasattr(X, "iloc") else X[:, plain]
        with _naming_columns(columns):
            table[:, plain] = check_array(columns, dtype=np.float64, ensure_all_finite=finite)
    for column, kind in spelled.items():

        def where(row: int, name: str = names[column]) -> str:
            return f"row {row + 1}, column {name!r}"

        # A new one of ordered categories has no place, which matters if the column is read.
        known = kind if column in reads else attrs.evolve(kind, kind="nominal")
        with as_value_errors():
            table[:, column] = numbers_of(frame_texts(X, column), known, not_, where)
    return np.asarray(check_array(table, ensure_all_finite=finite))


def frame_array(kept: Any, finite: bool | str) -> NDArray[Any]:
    """Columns of a data frame as an array, of objects if one is text; `finite` as scikit-learn's
    `ensure_all_finite`."""
    if hasattr(kept, "iloc"):
        kinds = [getattr(kind, "categories", kind) for kind in kept.dtypes]
        if any(getattr(kind, "dtype", kind).kind not in "iufb" for kind in kinds):
            # Scikit-learn would cast text beside truth values to numbers.
            kept = kept.astype(object)
    array: NDArray[Any] = check_array(kept, dtype=None, ensure_all_finite=finite)
    return array


def with_gaps_filled(kept: Any, filling: list[Any]) -> Any:
    """A table or data frame (n, m) with missing values replaced.

    `filling` has a number, a category, or n of them for each column; NaN leaves a column as it is.
    """
    known = [column for column, value in enumerate(filling) if value == value]
    if not is_frame(kept):
        table = kept.copy()
        for column in known:
            cells = table[:, column]
            # NaN is the one value that differs from itself.
            table[:, column] = np.where((cells != cells).astype(bool), filling[column], cells)
        return table
    names = list(kept.columns)
    if hasattr(kept, "iloc"):
        table = kept.copy()
        for column in known:
            cells, value = table.iloc[:, column], filling[column]
            # pandas 2 refuses a value that is not a category even if there is no gap.
            if cells.isna().any():
                # A Series with the same index fills row by row.
                each = type(cells)(value, cells.index) if isinstance(value, list) else value
                table[names[column]] = cells.fillna(each)
        return table
    import polars

    changed = []
    for place in known:
        value = filling[place]
        kind = kept[names[place]].dtype
        new: Any = polars.Series(value) if isinstance(value, list) else polars.lit(value)
        expression = polars.col(names[place]).fill_null(new)
        # polars distinguishes null and NaN; both are missing values here.
        changed.append(expression.fill_nan(new) if kind.is_float() else expression)
    return kept.with_columns(changed)


def sample_weights(
    given: ArrayLike | None, X: NDArray[Any], counting: Sequence[str]
) -> tuple[NDArray[np.int64] | None, NDArray[np.float64] | None]:
    """Weights of rows as counts, and as importance if they are not whole numbers.

    Raises
    ------
    ValueError
        If weights are negative, all zero or of the wrong length; if they are not integers and
        there are stages in `counting`.
    """
    if given is None:
        return None, None
    weights = _check_sample_weight(given, X, dtype=np.float64)
    if (weights < 0).any() or not weights.any():
        raise InvalidData("sample_weight must be numbers ≥ 0, not all zero")
    if (weights == 1).all():
        return None, None
    rounded = np.round(weights)
    if np.array_equal(rounded, weights):
        return rounded.astype(np.int64), None
    if counting:
        counts = f"{', '.join(counting)} count{'s' * (len(counting) == 1)} rows"
        raise InvalidData(f"sample_weight: {counts}, so the weights must be integers")
    # Rows of weight 0 are left out.
    return (weights > 0).astype(np.int64), weights


def category_places(X: Any) -> set[int]:
    """Positions of categorical columns, if X is a pandas or polars data frame."""
    kinds = getattr(X, "dtypes", ()) if is_frame(X) else ()
    return {place for place, kind in enumerate(kinds) if is_category(kind)}


def _category_codes(parts: Parts) -> Codes:
    """The categorical columns of a frame, by position."""
    kinds = [parts["kinds"].get(name, ColumnKind("nominal")) for name in parts["feature_names"]]
    return {
        column: kind
        for column, (kind, nominal) in enumerate(zip(kinds, parts["categorical"], strict=True))
        if nominal or kind.kind == "ordinal"
    }
