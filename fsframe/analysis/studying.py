"""What a program calls for a study: chains × tables × measures × seeds, or a study file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

from fsframe.analysis.asking import classifier_text, table_of
from fsframe.analysis.carrying_out import (
    Surroundings,
    Target,
    check_surroundings,
    one_engine,
    run_chain,
)
from fsframe.analysis.forecast import proposed_chains
from fsframe.analysis.progress import ProgressBars
from fsframe.analysis.study_result import StudyResult
from fsframe.analysis.study_run import (
    StudyRun,
    carried_out,
    check_folder,
    finished_study,
    write_folder,
)
from fsframe.chains.chain import Chain
from fsframe.contracts.data_frames import is_frame
from fsframe.contracts.remarks import remark
from fsframe.errors import FsframeError, RequestError, StoreError
from fsframe.evaluation.study_plan import StudyFaults, StudyPlan, StudyTable, plan_of, read_plan
from fsframe.storage import RunRecord

__all__ = ["study"]

_KEYS = ("scheme", "folds", "repeats", "inner_folds", "all_features", "rope")


def study(
    data: Any,
    chains: Iterable[Chain | str] | None = None,
    *,
    label: Any = None,
    groups: str | int | None = None,
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
    out: Target = None,
    **surroundings: Unpack[Surroundings],
) -> StudyResult:
    """Chains × tables × measures × seeds in one run, as ``fsframe study`` answers it.

    Everything is checked before anything is computed, and all that is wrong is told at once.

    Parameters
    ----------
    data : a table as in `select`, a list of tables, a mapping from names to tables, or a path
        Of a study file (``study.toml``), which says all of the study: then only `out` and
        surroundings are given besides.
    chains : several Chain or str, optional
        With their classifiers. Without chains, selectors and classifiers: the methods that
        ``fsframe inspect`` considers first for such a table, each with the default classifier.
    label, groups
        As in `select`, of every frame and file.
    selectors, classifiers : several str, optional
        A grid: sets in selectors are spelled out (``"{mim,jmi}:top={5,10}"``), and every selector
        meets every classifier.
    measures : str or several, optional
        Chains are compared by the first; accuracy by default, R² of numeric targets.
    seeds : int or several, optional
        Each is a run of its own, with folds of its own; 0 by default.
    folds, repeats, scheme, inner_folds : optional
        As in `evaluate`; repeated once by default.
    all_features : bool, optional
        Whether every classifier is also evaluated on all features, to stand beside the chains; true
        by default.
    rope : float, optional
        Differences of the first measure up to this are practically none; 0.01 by default.
    name : str, optional
        What the study is called; ``study`` by default.
    out : path, optional
        A folder that gets what the command leaves. Finished runs are kept in it: called again, an
        interrupted study goes on, and a finished one is read. Without it nothing is written.
    **surroundings
        As in `select`; `overwrite` replaces another study, and files that it has not written.

    Returns
    -------
    StudyResult
        Shows itself; `comparisons`, `best()`, `result(chain, data, seed)`, `to_frame()`, `plot()`,
        `save(path)`, `to_sklearn()`.

    Raises
    ------
    RequestError, DataError, PluginError, StoreError
        As `select`.

    Examples
    --------
    >>> import numpy as np, fsframe
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> data = fsframe.Dataset.from_arrays(X, X[:, 2] > 0, name="toy")
    >>> found = fsframe.study(
    ...     {"one": data}, selectors=["mim:top={1,4}"], classifiers=["knn"], seeds=[0, 1], folds=3
    ... )
    >>> found.chains
    ('mim:top=1 knn', 'mim:top=4 knn')
    >>> found.comparison.accuracy.shape
    (1, 2)
    """
    check_surroundings("study", surroundings)
    asked: dict[str, Any] = {
        "chains": chains,
        "selectors": selectors,
        "classifiers": classifiers,
        "measures": measures,
        "seeds": seeds,
        "folds": folds,
        "repeats": repeats,
        "scheme": scheme,
        "inner_folds": inner_folds,
        "all_features": all_features,
        "rope": rope,
        "name": name,
    }
    given = {key: value for key, value in asked.items() if value is not None}
    if isinstance(data, (str, os.PathLike)) and Path(data).suffix == ".toml":
        roles = {"label": label, "groups": groups}
        besides = [*given, *(key for key, value in roles.items() if value is not None)]
        if besides:
            raise RequestError(
                f"{os.fspath(data)} says what the study is: {', '.join(besides)} cannot be given "
                "besides; change the file, or give the tables themselves"
            )
        plan = read_plan(data)
    else:
        plan = _plan(data, label, groups, given)
    return _carried_out(plan, out, surroundings)


def _carried_out(plan: StudyPlan, out: Target, surroundings: Surroundings) -> StudyResult:
    folder = None if out is None else Path(os.path.abspath(out))
    overwrite = surroundings.get("overwrite", False)
    if folder is not None:
        check_folder(folder, plan, overwrite=overwrite)
        record = None if overwrite else finished_study(folder, plan)
        if record is not None:
            found = StudyResult(record=record)
            write_folder(record, found.comparisons, folder)
            return found
    bars = ProgressBars()
    with one_engine(surroundings) as shared:

        def one(each: StudyRun, path: Path | None, beside: int) -> RunRecord:
            bars.begin_part(f"run {each.number} of {each.total}")
            source = "" if each.table.path is None else str(each.table.path)
            # Finished runs are never replaced; one that is of something else is refused.
            own: Surroundings = {**shared, "overwrite": False}
            return run_chain(
                "study", each.chain, each.table.data, source, each.seed, path, own, beside, bars
            )

        record = carried_out(
            plan,
            one,
            folder,
            overwrite=overwrite,
            mixed=surroundings.get("mixed", False),
            tell=remark,
        )
    found = StudyResult(record=record)
    if folder is not None:
        write_folder(record, found.comparisons, folder, overwrite=overwrite)
    return found


def _plan(data: Any, label: Any, groups: str | int | None, given: dict[str, Any]) -> StudyPlan:
    """The study of some tables, checked as a whole."""
    faults = StudyFaults("fsframe.study", keyword=True)
    tables = tuple(_tables(data, label, groups, faults))
    said: dict[str, Any] = {"name": given.get("name", "study")}
    for key in ("chains", "selectors", "classifiers", "measures", "seeds"):
        if key in given:
            said[key] = _listed(given[key])
    for key in _KEYS:
        if key in given:
            said[key.replace("_", "-")] = given[key]
    said["classifiers"] = [classifier_text(text) for text in said.get("classifiers", [])]
    if tables and not any(said.get(key) for key in ("chains", "selectors", "classifiers")):
        said["chains"] = list(dict.fromkeys(c for t in tables for c in proposed_chains(t.data)))
    said = {key: value for key, value in said.items() if value != []}
    return plan_of(said, tables, _source(said, tables, label, groups), faults)


def _listed(value: Any) -> Any:
    """Several values as a list of plain ones; one that is not of several as a list of one."""
    if isinstance(value, (str, Chain)) or not isinstance(value, Iterable):
        value = [value]
    return [str(each) if isinstance(each, Chain) else _plain(each) for each in value]


def _plain(value: Any) -> Any:
    """A number of numpy as Python's own."""
    return value.item() if hasattr(value, "item") else value


def _tables(
    data: Any, label: Any, groups: str | int | None, faults: StudyFaults
) -> Iterator[StudyTable]:
    several: Sequence[tuple[str, Any]]
    if isinstance(data, Mapping):
        several = [(str(name), each) for name, each in data.items()]
    elif isinstance(data, (list, tuple)):
        several = [(f"data{place}", each) for place, each in enumerate(data, start=1)]
    else:
        several = [("data", data)]
    if not several:
        faults.add("data", "there is no table")
    known: set[str] = set()
    for place, (name, each) in enumerate(several):
        key = f"data[{name if isinstance(data, Mapping) else place}]"
        try:
            table, source = table_of(each, label, groups, name=name)
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


def _source(
    said: Mapping[str, Any],
    tables: Sequence[StudyTable],
    label: Any,
    groups: str | int | None,
) -> str:
    """What was asked for in the words of a study file; tables without a file are remarks."""
    lines = ["# Asked for by fsframe.study."]
    # Texts, numbers and lists of them are written alike in JSON and in TOML.
    lines += [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in said.items()]
    for table in tables:
        if table.path is None:
            lines += ["", f"# The table {json.dumps(table.name)} was given by a program."]
            continue
        lines += ["", "[[tables]]", f"path = {json.dumps(str(table.path), ensure_ascii=False)}"]
        lines += [f"name = {json.dumps(table.name, ensure_ascii=False)}"]
        # Columns are numbered from 1 where people write them, from 0 in the library.
        for key, column in (("label", label), ("groups", groups)):
            if isinstance(column, int):
                lines.append(f"{key} = {column + 1 if column >= 0 else column}")
            elif isinstance(column, str):
                lines.append(f"{key} = {json.dumps(column, ensure_ascii=False)}")
    return "\n".join(lines) + "\n"
