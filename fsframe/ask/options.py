"""The arguments of the functions for programs, and the way in which their requests are answered."""

from __future__ import annotations

import contextlib
import inspect
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from fsframe.chains.chain import Chain, Stage
from fsframe.chains.request import Request
from fsframe.chains.stage import find_method, workers_hint
from fsframe.errors import RequestError
from fsframe.execution import open_engine
from fsframe.method.run import as_number, as_size
from fsframe.params import format_value
from fsframe.registry import classifiers
from fsframe.show.progress import Pace, ProgressBars
from fsframe.storage import RunRecord
from fsframe.table.column_kinds import Ordinal
from fsframe.table.dataset import Dataset
from fsframe.table.frames import is_annotated, is_frame, with_columns
from fsframe.table.read import read
from fsframe.table.reader import find_table, in_parts
from fsframe.table.roles import side_roles
from fsframe.text import remark, unexpected

if TYPE_CHECKING:
    from fsframe.execution import Engine
    from fsframe.method.run import Progress


Ask = Callable[[Request], RunRecord]
"""A function that answers a request: that of `asking` for programs, or one of `cli.running`."""


class RunOptions(TypedDict, total=False):
    """How a run is executed; nothing here changes a result, except `memory` (docs/executors.md).

    Parameters
    ----------
    workers : int
        Number of worker processes that compute resamples. A script must make the call below
        ``if __name__ == "__main__":``, since each worker imports the script.
    executor : Engine or concurrent.futures.Executor
        Instead of `workers`: an open pool, or ``client.get_executor()`` of a dask client.
    threads : int
        Maximum number of threads of a fit.
    memory : int or str
        Memory limit of the whole run, in bytes or as ``"2GB"``.
    progress : bool or callable
        Whether to show a bar, in a terminal or a notebook, once a run takes more than two seconds,
        and to note on stderr if it will take minutes; True by default. A callable is called with
        each Progress instead, like the `listener` of `Chain.run`.
    overwrite : bool
        Whether a file at `out` may be replaced.
    restart : bool
        Whether to discard what an interrupted run to `out` has left.
    mixed : bool
        Whether an interrupted run may be continued on another kind of processor.
    """

    workers: int
    executor: Engine | Executor
    threads: int
    memory: int | str
    progress: bool | Callable[[Progress], None]
    overwrite: bool
    restart: bool
    mixed: bool


class TableOptions(TypedDict, total=False):
    """How data frames and files are read: arguments of `fsframe.read` besides label and groups.

    For a data frame, `weight`, `time`, `event` and `adjust` may be values, one for each row, in
    place of names of columns. Side roles that plugins declare are accepted too.
    """

    drop: str | int | Iterable[str | int]
    categorical: str | int | Iterable[str | int] | bool
    ordinal: Ordinal
    dates: str
    encode: str
    missing_label: str
    keep: str | int | Iterable[str | int]
    weight: str | int | ArrayLike
    time: str | ArrayLike
    event: str | ArrayLike
    adjust: str | Iterable[str] | ArrayLike
    feature_groups: str | os.PathLike[str] | Mapping[str, Sequence[str]]
    task: str
    na: str | float | Iterable[str | float]
    delimiter: str
    header: bool
    decimal: str
    encoding: str
    x: str
    y: str
    names: str
    in_memory: bool
    transpose: bool
    samples: str | os.PathLike[str]
    labels: str | os.PathLike[str]


class Options(TableOptions, RunOptions, total=False):
    """Further arguments of the functions for programs: about the table, and about the run."""


def table_options(
    function: Callable[..., Any], options: Mapping[str, Any]
) -> tuple[TableOptions, RunOptions]:
    """Divide the further arguments of a function into those about the table and about the run.

    Raises
    ------
    TypeError
        For unknown arguments, with suggestions.
    RequestError
        Listing invalid values of workers, threads, memory and progress.
    """
    of_run = list(RunOptions.__annotations__)
    of_table = [*TableOptions.__annotations__, *(role.name for role in side_roles())]
    unknown = [name for name in options if name not in {*of_run, *of_table}]
    if unknown:
        arguments = inspect.signature(function).parameters
        known = [name for name in arguments if name not in ("data", "chain", "chains", "options")]
        raise TypeError(
            unexpected(function.__name__, unknown, dict.fromkeys(known + of_table + of_run))
        )
    table: Any = {name: value for name, value in options.items() if name in of_table}
    run: Any = {name: value for name, value in options.items() if name in of_run}
    problems = []
    for name in ("workers", "threads", "memory"):
        given = run.get(name)
        try:
            if given is not None:
                run[name] = as_size(given) if name == "memory" else as_number(given, name)
        except RequestError as error:
            problems.append(f"memory: {error}" if name == "memory" else str(error))
    shown = run.get("progress", True)
    if not (isinstance(shown, bool) or callable(shown)):
        problems.append(
            f"progress must be True, False or a function that is called with each Progress, not "
            f"{shown!r}"
        )
    if problems:
        raise RequestError("\n".join(problems))
    return table, run


@contextlib.contextmanager
def asking(function: str, options: RunOptions) -> Iterator[Ask]:
    """Context with a function that answers requests, all of them with one set of workers.

    Run files record `function`, the one that a program called, as their command.

    Raises
    ------
    RequestError
        For two options that exclude each other.
    """
    workers, executor = options.get("workers"), options.get("executor")
    if workers is not None and executor is not None:
        raise RequestError("give workers= or executor=, not both")
    memory, bars = options.get("memory"), ProgressBars()
    limit = "" if memory is None else f", memory={memory}"
    with contextlib.ExitStack() as opened:
        engine: Any = executor
        pace: Pace | None = None

        def ask(request: Request) -> RunRecord:
            nonlocal engine, pace
            if request.part:
                bars.begin_part(request.part)
            what = f"{str(request.chain)!r}, …, seed={request.seed}{limit}"
            # Of several runs, only the table of their results is replaced.
            limits = {**options, "overwrite": not request.part and options.get("overwrite")}
            request = request.within(limits, f"fsframe.{function}({what})")
            answer = request.answer()
            if answer is not None:
                return answer
            if engine is None and workers is not None:
                engine = opened.enter_context(open_engine(workers=workers))
            if pace is None:
                hint = "" if engine is not None else workers_hint(request.chain, "workers=")
                pace = Pace(remark, hint)
            measured = pace
            wanted = options.get("progress", True)
            if not wanted or callable(wanted):
                return request.run(engine, wanted or None)

            def listener(progress: Progress) -> None:
                bars(progress)
                measured(progress)

            with bars.shown():
                return request.run(engine, listener)

        yield ask


_OBJECT = re.compile(r"([A-Z]\w*)\((.*)\)", re.DOTALL)


def classifier_text(text: str | None) -> str | None:
    """The stage for ``--classifier``: the given one, or ``sklearn`` if a class is given.

    Raises
    ------
    RequestError
        If it is an object of Python, such as ``LogisticRegression()``.

    Examples
    --------
    >>> classifier_text("sklearn.tree.DecisionTreeClassifier:standardize=yes")
    'sklearn:estimator=sklearn.tree.DecisionTreeClassifier,standardize=yes'
    >>> classifier_text("knn:k=5")
    'knn:k=5'
    """
    if text is None:
        return None
    if made := _OBJECT.fullmatch(text.strip()):
        own = {offer.name.replace("-", ""): offer.name for offer in classifiers.offers()}
        name = own.get(made[1].lower())
        stage = f"{name}{':' * bool(made[2])}{made[2]}" if name else f"sklearn:estimator={made[1]}"
        raise RequestError(
            f"a classifier is given as the text of a stage, not as an object: write {stage!r}"
            + ", and its parameters as options, a JSON object" * bool(made[2] and not name)
        )
    name, colon, rest = text.partition(":")
    if "." not in name or "/" in name:
        return text
    return f"sklearn:estimator={name}{',' if colon else ''}{rest}"


def protocol_chain(name: str, base: str, given: Mapping[str, str | None]) -> Chain:
    """A chain of one stage: the protocol `name`, such as cross-validation, of the chain `base`.

    `given` holds parameters as text; those that are None are left out.

    Raises
    ------
    RequestError, PluginError
        Naming everything that is wrong with them.
    """
    given = {**given, "classifier": classifier_text(given.get("classifier"))}
    texts = {key: value for key, value in given.items() if value is not None}
    return Chain((Stage(name, find_method(name).from_texts({"base": base, **texts})),))


def texts_of(**given: Any) -> dict[str, str | None]:
    """Parameter values as the text that a command would take.

    >>> texts_of(folds=5, curve=[1, 2], scheme=None)
    {'folds': '5', 'curve': '[1,2]', 'scheme': None}
    """
    return {key: None if value is None else format_value(value) for key, value in given.items()}


def named_tables(data: Any) -> list[tuple[str, Any]]:
    """The given tables, each with its name in a mapping, or ``data``, or ``data1``, ``data2``, …"""
    if isinstance(data, Mapping):
        return [(str(name), each) for name, each in data.items()]
    if isinstance(data, (list, tuple)):
        return [(f"data{place}", each) for place, each in enumerate(data, start=1)]
    return [("data", data)]


def table_of(
    data: Any,
    label: Any = None,
    groups: Any = None,
    options: TableOptions | None = None,
    name: str = "data",
) -> tuple[Dataset, str]:
    """The table to run on, and the path it was read from.

    Parameters
    ----------
    data : Dataset, data frame, path, table in parts, or (n_samples, n_features) array
        As in `fsframe.select`; an array only if `label` is one too.
    label : str, int or (n_samples,) array, optional
    groups : str, int or (n_samples,) array, optional
        An array only if `label` is one, or `data` is a data frame.
    options : TableOptions, optional
    name : str
        Name for a data frame.

    Raises
    ------
    RequestError
        If `data` is something else, or if the arguments do not apply to it: a label or other roles
        with a Dataset, arguments for files with a data frame.
    DataError, StoreError
        As raised by `fsframe.read`.
    """
    said: dict[str, Any] = {**(options or {})}
    if groups is not None:
        said["groups"] = groups
    if isinstance(data, Dataset):
        besides = [*(["label"] if label is not None else []), *said]
        if besides:
            raise RequestError(
                "a Dataset already has its label, groups and other roles; "
                f"{' '.join(f'{key}=' for key in besides)} is for data frames and files"
            )
        return data, ""
    if isinstance(data, (str, os.PathLike)) or in_parts(data):
        if label is not None and not isinstance(label, (str, int)):
            raise RequestError(
                "the label of a file must be one of its columns, given by name or position"
            )
        if not isinstance(data, (str, os.PathLike)):
            return read(data, label=label, **said), ""
        path = find_table(os.fspath(data))
        return read(path, label=label, **said), str(Path(path))
    # A frame whose columns have several levels of names calls them by tuples.
    of_frame = isinstance(label, tuple) and label in getattr(data, "columns", ())
    apart = not (label is None or isinstance(label, (str, int)) or of_frame)
    if is_frame(data) or is_annotated(data) or (apart and _is_matrix(data)):
        arrays = {role: value for role, value in said.items() if holds_values(role, value, data)}
        if apart:
            arrays["label"] = label
        else:
            said["label"] = label
        if is_frame(data):
            data, names = with_columns(data, arrays)
            return read(data, name=name, **{**said, **names}), ""
        if not apart:
            return read(data, name=name, **said), ""
        beside = {"task": said.pop("task", None)}
        if not isinstance(groups, (str, int)):
            beside["groups"] = said.pop("groups", None)
        if said:
            raise RequestError(
                f"{' '.join(f'{key}=' for key in said)} is for a data frame that also holds the "
                "label: put the label into it and name it, or use Dataset.from_arrays(X, y, …)"
            )
        return Dataset.from_arrays(data, label, name=name, **beside), ""
    fields = getattr(getattr(data, "dtype", None), "names", None)
    if apart and getattr(data, "ndim", None) == 1 and not fields:
        raise RequestError(
            f"data has one dimension, but a table has two: for {len(data)} samples of one "
            "feature, pass data.reshape(-1, 1)"
        )
    rows_by_name = isinstance(data, list) and all(isinstance(row, Mapping) for row in data)
    hint = ""
    if isinstance(data, Mapping) and {"data", "target"} <= data.keys():
        hint = "; for scikit-learn's Bunch, pass bunch.data with label=bunch.target"
    elif fields or rows_by_name or isinstance(data, Mapping):
        hint = "; make columns by name a data frame with pandas.DataFrame(data)"
    raise RequestError(
        "data must be a Dataset, a data frame (pandas, polars, pyarrow, AnnData) or a "
        f"path, not {type(data).__name__}; for arrays, give the labels as label=y, or use "
        f"fsframe.Dataset.from_arrays(X, y){hint}"
    )


def holds_values(role: str, given: Any, data: Any) -> bool:
    """Whether a role of `data` is given as values of its rows, and not as names of columns."""
    if role == "groups":
        return not isinstance(given, (str, int)) and getattr(given, "ndim", 1) == 1
    if role not in ("weight", "time", "event", "adjust") or getattr(given, "ndim", 0) != 1:
        return False
    numbers = np.asarray(given).dtype.kind in "biuf"
    return role != "adjust" or numbers or len(given) == len(data)


def _is_matrix(data: Any) -> bool:
    """Whether `data` has rows and columns: an array, a sparse matrix or nested lists."""
    if isinstance(data, (list, tuple)):
        return bool(data) and all(isinstance(row, (list, tuple)) for row in data)
    return getattr(data, "ndim", None) == 2
