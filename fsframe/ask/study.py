"""The function `fsframe.study`: chains × tables × measures × seeds, or a study file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack, cast

from fsframe.ask.evaluations import finished_study, run_study
from fsframe.ask.options import (
    Ask,
    Options,
    RunOptions,
    TableOptions,
    asking,
    classifier_text,
    named_tables,
    table_of,
    table_options,
)
from fsframe.chains.chain import Chain
from fsframe.errors import FsframeError, RequestError, StoreError
from fsframe.evaluation.study_plan import StudyFaults, StudyPlan, StudyTable, plan_of, read_plan
from fsframe.remarks import remark
from fsframe.show.comparison_results import StudyResult
from fsframe.show.proposals import proposed_chains
from fsframe.show.study_page import check_folder, write_folder
from fsframe.table.frames import is_frame

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
    out: str | os.PathLike[str] | None = None,
    **options: Unpack[Options],
) -> StudyResult:
    """Evaluate chains × tables × measures × seeds in one run, like ``fsframe study``.

    Everything is checked before anything is computed, and all problems are reported together.

    Parameters
    ----------
    data : a table as in `select`, a list of tables, a mapping from names to tables, or a path
        A path is that of a study file (``study.toml``), which describes the whole study: only
        `out` and the options of the run are given with it.
    chains : several Chain or str, optional
        With their classifiers. If neither chains nor selectors nor classifiers are given: the
        methods that ``fsframe inspect`` proposes for the tables, with the default classifier.
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
    >>> found = fsframe.study(
    ...     {"one": data}, selectors=["mim:top={1,4}"], classifiers=["knn"], seeds=[0, 1], folds=3
    ... )
    >>> found.chains
    ('mim:top=1 knn', 'mim:top=4 knn')
    >>> found.comparison.accuracy.shape
    (1, 2)
    """
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
    about_table, about_run = table_options(study, options)
    roles = {"label": label, "groups": groups, **about_table}
    with asking("study", about_run) as ask:
        if isinstance(data, (str, os.PathLike)) and Path(data).suffix == ".toml":
            besides = [*given, *(key for key, value in roles.items() if value is not None)]
            if besides:
                raise RequestError(
                    f"{os.fspath(data)} describes the whole study: {', '.join(besides)} cannot be "
                    "given with it; change the file, or give the tables themselves"
                )
            plan = read_plan(data)
        else:
            plan = _plan(data, roles, given)
        folder = None if out is None else Path(os.path.abspath(out))
        return _run_plan(plan, ask, folder, about_run)


def _run_plan(plan: StudyPlan, ask: Ask, folder: Path | None, options: RunOptions) -> StudyResult:
    overwrite, record = options.get("overwrite", False), None
    if folder is not None:
        check_folder(folder, plan, overwrite=overwrite)
        record = None if overwrite else finished_study(folder, plan)
    if record is None:
        record = run_study(
            plan,
            ask,
            folder,
            overwrite=overwrite,
            memory=options.get("memory"),
            mixed=options.get("mixed", False),
            tell=remark,
        )
    found = StudyResult(record=record)
    if folder is not None:
        write_folder(record, found.comparisons, folder, overwrite=overwrite)
    return found


def _plan(data: Any, roles: dict[str, Any], given: dict[str, Any]) -> StudyPlan:
    """The plan of a study of some tables, checked as a whole."""
    faults = StudyFaults("fsframe.study", keyword=True)
    tables = tuple(_tables(data, roles, faults))
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
    return plan_of(said, tables, _source(said, tables, roles), faults)


def _listed(value: Any) -> Any:
    """One or several values as a list of plain ones."""
    if isinstance(value, (str, Chain)) or not isinstance(value, Iterable):
        value = [value]
    return [str(each) if isinstance(each, Chain) else _plain(each) for each in value]


def _plain(value: Any) -> Any:
    """A number of numpy as Python's own."""
    return value.item() if hasattr(value, "item") else value


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


def _source(said: Mapping[str, Any], tables: Sequence[StudyTable], roles: Mapping[str, Any]) -> str:
    """The request as a study file; tables that were not read from a file are comments."""
    lines = ["# Requested by fsframe.study."]
    # JSON and TOML write text, numbers and lists of them alike.
    lines += [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in said.items()]
    for table in tables:
        if table.path is None:
            lines += ["", f"# The table {json.dumps(table.name)} was passed by a program."]
            continue
        lines += ["", "[[tables]]", f"path = {json.dumps(str(table.path), ensure_ascii=False)}"]
        lines += [f"name = {json.dumps(table.name, ensure_ascii=False)}"]
        # Study files number columns from 1, Python arguments from 0.
        for key, value in roles.items():
            if isinstance(value, int) and not isinstance(value, bool):
                lines.append(f"{key} = {value + 1 if value >= 0 else value}")
            elif isinstance(value, dict):
                inner = (f"{json.dumps(k)} = {json.dumps([*v])}" for k, v in value.items())
                lines.append(f"{key} = {{ {', '.join(inner)} }}")
            elif value is not None:
                plain = value if isinstance(value, (str, bool)) else [*value]
                lines.append(f"{key} = {json.dumps(plain, ensure_ascii=False)}")
    return "\n".join(lines) + "\n"
