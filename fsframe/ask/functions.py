"""The functions for programs: select, inspect, evaluate, stability, compare, study."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Unpack, cast

import attrs

from fsframe.ask.evaluations import (
    compare_on,
    compared_methods,
    comparison_plan,
    run_study,
)
from fsframe.ask.options import (
    Options,
    RunOptions,
    TableOptions,
    asking,
    classifier_text,
    holds_values,
    named_tables,
    protocol_chain,
    table_of,
    table_options,
    texts_of,
)
from fsframe.chains.chain import Chain
from fsframe.chains.request import Request
from fsframe.errors import FsframeError, RequestError, StoreError
from fsframe.evaluation.grid import default_classifier
from fsframe.evaluation.study_plan import StudyFaults, StudyPlan, StudyTable, plan_of, read_plan
from fsframe.registry import classifiers as known_classifiers
from fsframe.show.comparisons import check_folder
from fsframe.show.inspection import inspect_table
from fsframe.show.inspection_display import Inspection
from fsframe.show.proposals import proposals_for
from fsframe.show.results import (
    ComparisonResult,
    EvaluationResult,
    SelectionResult,
    StabilityResult,
    StudyResult,
    as_result,
)
from fsframe.table.dataset import Dataset
from fsframe.table.frames import is_frame
from fsframe.table.reader import in_parts
from fsframe.text import remark

_Path = str | os.PathLike[str] | None


def select(
    chain: Chain | str,
    data: Any,
    label: Any = None,
    *,
    groups: Any = None,
    seed: int = 0,
    out: _Path = None,
    **options: Unpack[Options],
) -> SelectionResult:
    """Run a chain on a table and return what it keeps, like ``fsframe chain``.

    Parameters
    ----------
    chain : Chain or str
        Such as ``"immigrate npfs"``.
    data : Dataset, data frame of pandas, polars or pyarrow, path, or (n_samples, n_features) array
        The table.
    label : str, int or (n_samples,) array, optional
        Label column of a data frame or file, by name or position; by default the last column. For
        an array, or a data frame without a label column, the labels themselves; a pandas Series
        must have the order of the frame.
    groups : str, int or (n_samples,) array, optional
        Column whose equal values mark rows that belong together, such as those of one person; the
        values themselves if `label` is an array.
    seed : int
        Equal seeds give equal bits.
    out : path, optional
        Where to write the run file. If it already holds the result of this request, it is read.
    **options
        How the table is read, as in `fsframe.read`: `drop`, `categorical`, `adjust`, `na` and so on
        (`TableOptions`); and how the run is executed: `workers`, `executor`, `threads`, `memory`,
        `progress`, `overwrite`, `restart`, `mixed` (`RunOptions`).

    Returns
    -------
    SelectionResult
        With `selected_names`, `to_frame()`, `save(path)`; displays itself in a notebook.

    Raises
    ------
    TypeError
        For an argument that does not exist.
    RequestError
        Listing all problems of the request, before any work starts.
    DataError
        If the table cannot be used.
    PluginError
        If a method fails.
    StoreError
        If `out` exists and holds something else.

    Examples
    --------
    >>> import fsframe, polars
    >>> frame = polars.DataFrame({"a": [1, 2, 9, 8], "b": [5, 5, 4, 6], "ill": [0, 0, 1, 1]})
    >>> fsframe.select("mim:top=1,bins=2", frame, label="ill").selected_names
    ('a',)
    """
    chain = chain if isinstance(chain, Chain) else Chain.parse(chain)
    return _run_chain(select, chain, data, label, groups, seed, out, options)


def inspect(data: Any, label: Any = None, **options: Any) -> Inspection:
    """Look at a table before anything is computed, like ``fsframe inspect``.

    Parameters
    ----------
    data : data frame of pandas, polars or pyarrow, or path
    label : str or int, optional
        The label column; guessed by default.
    options
        Further arguments of `fsframe.read`; what they say is not guessed.

    Returns
    -------
    Inspection
        Printed, it describes the columns, asks about those that could mislead, and ends with the
        call to begin with. `options` holds the arguments of that call, `findings` the questions
        about columns, and `proposals` chains for further purposes.

    Raises
    ------
    DataError
        If `data` is not a table, or lacks a column that `options` name.
    RequestError
        If `data` is neither a data frame nor a path, or is a frame and options are for files.

    Examples
    --------
    >>> import fsframe, polars
    >>> x, y = [1.5, 4.0, 2.0, 3.0] * 5, ["a", "b"] * 10
    >>> frame = polars.DataFrame({"id": range(20), "x": x, "y": y})
    >>> found = fsframe.inspect(frame)
    >>> found.options
    {'drop': ['id'], 'label': 'y'}
    >>> fsframe.select(found.chain, frame, **found.options).selected_names
    ('x',)
    """
    if not is_frame(data) and (in_parts(data) or not isinstance(data, (str, os.PathLike))):
        raise RequestError(
            f"inspect takes a data frame or the path of a file, not {type(data).__name__}; "
            + (
                "a Dataset has been read: its `warnings` say what was found, and a frame of its "
                "columns is pandas.DataFrame(data.X, columns=data.feature_names)"
                if isinstance(data, Dataset)
                else "`fsframe inspect` looks at tables in parts"
            )
        )
    named = {"label": label, **options} if label is not None else options
    for role, given in named.items():
        if (role == "label" and not isinstance(given, (str, int))) or holds_values(
            role, given, data
        ):
            raise RequestError(
                f"inspect takes {role}= as the name of a column, not {type(given).__name__}; add "
                f"separate values to the frame as a column, X.assign({role}=…) or "
                f"X.with_columns({role}=…)"
            )
    return inspect_table(data, **named)


def evaluate(
    chain: Chain | str,
    data: Any,
    label: Any = None,
    *,
    groups: Any = None,
    folds: int | None = None,
    repeats: int | None = None,
    scheme: str | None = None,
    classifier: str | None = None,
    inner_folds: int | None = None,
    curve: str | Iterable[int] | None = None,
    metric: str | Iterable[str] | None = None,
    all_features: bool = True,
    seed: int = 0,
    out: _Path = None,
    **options: Unpack[Options],
) -> EvaluationResult:
    """Estimate how well a chain predicts held-out rows, like ``fsframe evaluate``.

    Parameters
    ----------
    chain : Chain or str
        Parameters given as sets (``"mim:top={5,10} knn"``) are tuned inside the training rows of
        each fold.
    data, label, groups
        As in `select`.
    folds, repeats : int, optional
        Numbers of folds and repetitions of stratified cross-validation; 10 and 10 by default.
    scheme : {"folds", "five-by-two", "leave-one-out"}, optional
    classifier : str, optional
        Classifier for a chain that does not end with one: a stage, or the name of a scikit-learn
        class; weighted-knn by default.
    inner_folds : int, optional
        Number of inner folds, for tuning; 5 by default.
    curve : "auto" or several int, optional
        Numbers of features with which the classifier is also evaluated.
    metric : str or several, optional
        Performance measures, such as ``"auc"``; by default all bundled ones that apply.
    all_features : bool
        Whether the classifier is also fitted on all columns in every fold, for comparison.
    seed, out, **options
        As in `select`.

    Returns
    -------
    EvaluationResult
        With `accuracy`, `measures`, `curve`, `stability`, `to_frame()`, `to_sklearn()`; displays
        itself in a notebook.

    Raises
    ------
    RequestError, DataError, PluginError, StoreError
        As `select`.

    Examples
    --------
    >>> import numpy as np, fsframe
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> data = fsframe.Dataset.from_arrays(X, X[:, 2] > 0)
    >>> result = fsframe.evaluate("mim:top=1 knn", data, folds=5, repeats=1)
    >>> result.accuracy > 0.9, result.selected_names
    (True, ('f3',))
    """
    given = texts_of(
        folds=folds, repeats=repeats, scheme=scheme, classifier=classifier, inner_folds=inner_folds
    )
    sizes = curve if curve is None or isinstance(curve, str) else list(curve)
    given |= texts_of(curve=sizes, metric=_listed(metric), all_features=all_features or None)
    protocol = protocol_chain("cross-validation", str(chain), given)
    result = _run_chain(evaluate, protocol, data, label, groups, seed, out, options)
    assert isinstance(result, EvaluationResult)
    return result


def stability(
    chain: Chain | str,
    data: Any,
    label: Any = None,
    *,
    groups: Any = None,
    metric: str | Iterable[str] | None = None,
    resample: str | None = None,
    n: int | None = None,
    fraction: float | None = None,
    sizes: int | str | None = None,
    seed: int = 0,
    out: _Path = None,
    **options: Unpack[Options],
) -> StabilityResult:
    """Measure the stability of the features that a chain selects, like ``fsframe stability``.

    Parameters
    ----------
    chain : Chain or str
    data, label, groups
        As in `select`.
    metric : str or several, optional
        Stability metrics; nogueira and kuncheva by default.
    resample : {"subsample", "bootstrap", "folds"}, optional
    n : int, optional
        Number of resamples; 30 by default.
    fraction : float in (0, 1), optional
        Share of the rows in a subsample; 0.8 by default.
    sizes : int or "all", optional
        Largest set size up to which the top-ranked features are also compared.
    seed, out, **options
        As in `select`.

    Returns
    -------
    StabilityResult
        With `values`, `kept`, `to_frame()`; displays itself in a notebook.

    Raises
    ------
    RequestError, DataError, PluginError, StoreError
        As `select`.

    Examples
    --------
    >>> import numpy as np, fsframe
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> data = fsframe.Dataset.from_arrays(X, X[:, 2] > 0)
    >>> fsframe.stability("mim:top=1", data, n=10).values["nogueira"]
    1.0
    """
    given = texts_of(metric=_listed(metric), resample=resample, n=n, fraction=fraction, sizes=sizes)
    study = protocol_chain("stability-study", str(chain), given)
    result = _run_chain(stability, study, data, label, groups, seed, out, options)
    assert isinstance(result, StabilityResult)
    return result


def compare(
    chains: Iterable[Chain | str],
    data: Any,
    label: Any = None,
    *,
    groups: Any = None,
    folds: int | None = None,
    repeats: int | None = None,
    scheme: str | None = None,
    classifier: str | None = None,
    inner_folds: int | None = None,
    metric: str | None = None,
    rope: float = 0.01,
    all_features: bool = True,
    seed: int = 0,
    out: _Path = None,
    **options: Unpack[Options],
) -> ComparisonResult:
    """Compare how well several chains predict, on identical folds, like ``fsframe compare``.

    Parameters
    ----------
    chains : several Chain or str
    data : a table as in `select`, a list of tables, or a mapping from names to tables
    label, groups
        As in `select`, for every data frame and file.
    folds, repeats, scheme, classifier, inner_folds, seed
        As in `evaluate`.
    metric : str, optional
        Measure to compare by, such as ``"auc"``; by default accuracy, or R² for numeric targets.
    rope : float
        Region of practical equivalence: differences up to this count as none.
    all_features : bool
        Whether every classifier is also evaluated on all features, as a baseline.
    out : path, optional
        Folder for a run file of every chain on every table, and the results. A second call verifies
        what is there and computes only the rest; one that lacks chains or tables of the first needs
        `overwrite`.
    **options
        As in `select`.

    Returns
    -------
    ComparisonResult
        With `accuracy`, `comparison`, `best()`, `result(chain, data)`, `to_frame()`,
        `to_sklearn()`; displays itself in a notebook.

    Raises
    ------
    RequestError, DataError, PluginError, StoreError
        As `select`.

    Examples
    --------
    >>> import numpy as np, fsframe
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> data = fsframe.Dataset.from_arrays(X, X[:, 2] > 0)
    >>> result = fsframe.compare(["mim:top=1 knn", "mim:top=4 knn"], data, folds=3, repeats=2)
    >>> result.accuracy.shape, result.to_frame("pairs").columns[:3]
    ((1, 2), ['data', 'a', 'b'])
    """
    if isinstance(chains, (str, Chain)):
        raise RequestError("a comparison takes several chains: compare([chain, chain], data)")
    given = texts_of(
        folds=folds, repeats=repeats, scheme=scheme, classifier=classifier, inner_folds=inner_folds
    )
    about_table, about_run = table_options(compare, options)
    methods, metric = compared_methods(chains, given, metric)
    several = named_tables(data)
    if not several:
        raise RequestError("give at least one table to compare on")

    def read(name: str, each: Any) -> StudyTable:
        table, source = table_of(each, label, groups, about_table, name)
        if isinstance(data, Mapping):
            table = attrs.evolve(table, name=name)
        return StudyTable(name=table.name, data=table, path=Path(source) if source else None)

    reading = [partial(read, name, each) for name, each in several]
    with asking("compare", about_run) as ask:
        plan = comparison_plan(
            methods, metric, reading, seed=seed, rope=rope, all_features=all_features
        )
        folder = None if out is None else Path(os.path.abspath(out))
        if folder is not None:
            check_folder(folder, [table.path for table in plan.tables if table.path is not None])
        return compare_on(plan, ask, folder, **_limits(about_run), tell=remark)


def _run_chain(
    function: Callable[..., Any],
    chain: Chain,
    data: Any,
    label: Any,
    groups: Any,
    seed: int,
    out: _Path,
    options: Options,
) -> SelectionResult:
    """Run a chain on a table and return the result, for `function`, which the user called."""
    about_table, about_run = table_options(function, options)
    table, source = table_of(data, label, groups, about_table)
    request = Request(chain=chain, data=table, seed=seed, out=out, path=source, source=source)
    with asking(function.__name__, about_run) as ask:
        return as_result(ask(request))


def study(
    data: Any,
    chains: Iterable[Chain | str] | None = None,
    *,
    label: Any = None,
    groups: Any = None,
    selectors: Iterable[str] | None = None,
    classifiers: Iterable[str] | None = None,
    measures: str | Iterable[str] | None = None,
    seeds: int | Iterable[int] | None = None,
    folds: int | None = None,
    repeats: int | None = None,
    scheme: str | None = None,
    inner_folds: int | None = None,
    all_features: bool | None = None,
    rope: float | None = None,
    name: str | None = None,
    out: str | os.PathLike[str] | None = None,
    **options: Unpack[Options],
) -> StudyResult:
    """Evaluate chains × tables × measures × seeds in one run, like ``fsframe study``.

    Everything is checked before anything is computed, and all problems are reported together.

    Parameters
    ----------
    data : a table as in `select`, a list of tables, a mapping from names to tables, or a path
        The path of a ``.toml`` file is that of a study file, which describes the whole study: only
        `out` and the options of the run can be given with it.
    chains : several Chain or str, optional
        With their classifiers. If neither chains nor selectors nor classifiers are given: the
        chains that ``fsframe inspect`` proposes for the tables, with the default classifier, after
        a stage that fills missing values if there are any and the classifier takes none.
    label, groups
        As in `select`, for every data frame and file.
    selectors, classifiers : several str, optional
        A grid: sets in selectors are expanded (``"{mim,jmi}:top={5,10}"``), and every selector is
        combined with every classifier.
    measures : str or several, optional
        Chains are compared by the first; accuracy by default, or R² for numeric targets.
    seeds : int or several, optional
        Each is a separate run with its own folds; 0 by default.
    folds, repeats, scheme, inner_folds : optional
        As in `evaluate`, but 1 repeat by default.
    all_features : bool, optional
        Whether every classifier is also evaluated on all features, as a baseline; True by default.
    rope : float, optional
        Region of practical equivalence of the first measure: differences up to this count as none;
        0.01 by default.
    name : str, optional
        Name of the study; ``study`` by default.
    out : path, optional
        Folder for the files that the command writes. Finished runs are kept in it: a second call
        continues an interrupted study, and reads a finished one. By default nothing is written.
    **options
        As in `select`; `overwrite` also replaces another study and files that no study has written.

    Returns
    -------
    StudyResult
        With `comparisons`, `best()`, `result(chain, data, seed)`, `to_frame()`, `plot()`,
        `save(path)`, `to_sklearn()`; displays itself in a notebook.

    Raises
    ------
    RequestError, DataError, PluginError, StoreError
        As `select`.

    Examples
    --------
    >>> import numpy as np, fsframe
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> data = fsframe.Dataset.from_arrays(X, X[:, 2] > 0, name="toy")
    >>> result = fsframe.study(
    ...     {"one": data}, selectors=["mim:top={1,4}"], classifiers=["knn"], seeds=[0, 1], folds=3
    ... )
    >>> result.chains
    ('mim:top=1 knn', 'mim:top=4 knn')
    >>> result.comparison.accuracy.shape
    (1, 2)
    """
    lists = _without_none(
        chains=chains, selectors=selectors, classifiers=classifiers, measures=measures, seeds=seeds
    )
    single = _without_none(scheme=scheme, folds=folds, repeats=repeats, inner_folds=inner_folds)
    single |= _without_none(all_features=all_features, rope=rope, name=name)
    about_table, about_run = table_options(study, options)
    roles = {"label": label, "groups": groups, **about_table}
    with asking("study", about_run) as ask:
        if isinstance(data, (str, os.PathLike)) and Path(data).suffix == ".toml":
            besides = [*lists, *single, *_without_none(**roles)]
            if besides:
                raise RequestError(
                    f"{os.fspath(data)} describes the whole study: {', '.join(besides)} cannot be "
                    "given with it; change the file, or give the tables themselves"
                )
            plan = read_plan(data)
        else:
            plan = _plan(data, roles, lists, single)
        folder = None if out is None else Path(os.path.abspath(out))
        return run_study(plan, ask, folder, **_limits(about_run), tell=remark)


def _limits(options: RunOptions) -> dict[str, Any]:
    """The options that `compare_on` and `run_study` take; the memory is in bytes by now."""
    defaults = {"overwrite": False, "memory": None, "mixed": False}
    return {name: options.get(name, otherwise) for name, otherwise in defaults.items()}


def _without_none(**arguments: Any) -> dict[str, Any]:
    """The arguments that are not None."""
    return {name: value for name, value in arguments.items() if value is not None}


def _plan(
    data: Any, roles: dict[str, Any], lists: dict[str, Any], single: dict[str, Any]
) -> StudyPlan:
    """The plan of a study from the arguments of `study`, checked as a whole."""
    faults = StudyFaults("fsframe.study", keyword=True)
    tables = tuple(_tables(data, roles, faults))
    said: dict[str, Any] = {"name": single.pop("name", "study")}
    said |= {key: _listed(value) for key, value in lists.items()}
    said |= {key.replace("_", "-"): value for key, value in single.items()}
    said["classifiers"] = [classifier_text(text) for text in said.get("classifiers", [])]
    if tables and not any(said.get(key) for key in ("chains", "selectors", "classifiers")):
        last = default_classifier()
        # Every chain is run on every table.
        fill = bool(last) and any(
            list(known_classifiers[last]().missing_problems(table.data)) for table in tables
        )
        proposed = (each.chain for table in tables for each in proposals_for(table.data, fill=fill))
        said["chains"] = list(dict.fromkeys(proposed))
    said = {key: value for key, value in said.items() if value != []}
    # JSON and TOML write text, numbers and lists of them alike.
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in said.items()]
    return plan_of(said, tables, f"# Requested by fsframe.study.\n{''.join(lines)}", faults)


def _listed(value: Any) -> Any:
    """One or several values as a list of plain Python values; None stays None."""
    if value is None:
        return None
    if isinstance(value, (str, Chain)) or not isinstance(value, Iterable):
        value = [value]
    # Scalars of NumPy as Python numbers.
    plain = (each.item() if hasattr(each, "item") else each for each in value)
    return [str(each) if isinstance(each, Chain) else each for each in plain]


def _tables(data: Any, roles: dict[str, Any], faults: StudyFaults) -> Iterator[StudyTable]:
    several, about = named_tables(data), dict(roles)
    label, groups = about.pop("label"), about.pop("groups")
    if not several:
        faults.add("data", "there is no table")
    known: set[str] = set()
    for place, (name, each) in enumerate(several):
        key = f"data[{name if isinstance(data, Mapping) else place}]"
        try:
            table, source = table_of(each, label, groups, cast(TableOptions, about), name)
        except StoreError:
            raise
        except FsframeError as error:
            faults.add(key, error)
            continue
        called = name if isinstance(data, Mapping) or is_frame(each) else table.name
        if called in known:
            faults.add(
                key, f"two tables are called {called!r}; give a mapping from names to tables"
            )
        known.add(called)
        path = Path(source) if source else None
        yield StudyTable(name=called, key=key, data=table, path=path)
