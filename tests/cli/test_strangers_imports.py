"""Run files and studies whose names are import paths: no command and no function imports them."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

import fsframe
from fsframe.errors import FsframeError
from fsframe.storage import load_run, write_run
from fsframe.storage.records import RunRecord
from fsframe.storage.study_file import load_study as read_study
from fsframe.storage.study_file import write_study
from fsframe.storage.write import run_file_content

from .conftest import Call

NAMED = [
    "sklearn:estimator=evilmod.Boom",
    "sklearn-selector:estimator=evilmod.X",
    "importance:of=evilmod.Boom",
    "rfe:of=evilmod:Boom",
    "npfs:n=3,base=(importance:of=evilmod.Boom)",
    "evilmod/boom",
]
MADE = {
    "chain": "chain mim:top=2 knn on small.csv -q -o run.h5",
    "selectors": "chain mim:top=3 npfs:n=4,permutations=5,alpha=0.2 on small.csv -q -o run.h5",
    "evaluate": "evaluate mim:top=2 knn on small.csv --folds 2 --repeats 1 -q -o run.h5",
    "stability": "stability mim:top=2 on small.csv --n 3 -q -o run.h5",
}
COMMANDS = (
    "show run.h5",
    "show run.h5 --json",
    "verify run.h5",
    "audit run.h5",
    "predict run.h5 on small.csv",
    "apply run.h5 on small.csv -o out.csv",
    "resume run.h5 --overwrite",
    "report run.h5",
    "plot scores run.h5 -o picture.svg",
    "table run.h5 -o table.csv",
)
REBUILDS = re.compile("predict|audit")
"""What takes the methods up again, by the names that the file gives."""


def in_stages(record: RunRecord, params: dict[str, Any], **changes: Any) -> RunRecord:
    """The run with these parameters, names or providers in all of its stages."""
    stages = [attrs.evolve(s, params=s.params | params, **changes) for s in record.stages]
    return attrs.evolve(record, stages=stages)


def changed(good: RunRecord, named: str) -> Iterator[RunRecord]:
    """The run with `named` as its chain, at the end of it, as stages, as parameters, as plugin."""
    name, _, rest = named.partition(":")
    parameter, _, value = rest.rpartition("=")
    own = {parameter.rpartition(",")[2]: value} if parameter else {}
    values = {"base": named, "classifier": named, "estimator": value or named, "of": value or named}
    yield in_stages(attrs.evolve(good, chain=f"mim:top=2 {named}"), values)
    yield attrs.evolve(good, chain=named, command=f"chain {named} on small.csv")
    if "/" not in name:
        yield in_stages(attrs.evolve(good, chain=named), own, name=name)
    yield in_stages(good, {}, provider="evilmod")


def use(
    call: Call, here: Path, record: RunRecord, boom: Path, commands: Iterable[str] = COMMANDS
) -> None:
    """Everything that can be done with a run file, or some of it."""
    write_run(here / "run.h5", record, overwrite=True)
    for command in commands:
        for left in ("out.csv", "table.csv", "picture.svg", "run.html"):
            (here / left).unlink(missing_ok=True)
        done = call(command)
        assert done.code in ((0, 2, 5) if REBUILDS.match(command) else (0,)), (command, done.err)
        assert not boom.exists(), command
    result = fsframe.load_run(here / "run.h5")
    assert repr(result) and result._repr_html_()
    with contextlib.suppress(FsframeError):
        result.to_sklearn()
    assert not boom.exists()


@pytest.mark.parametrize(("kind", "named"), [*zip(MADE, NAMED, strict=False)])
def test_nothing_that_a_run_file_names_is_imported(
    call: Call, here: Path, boom: Path, undrawn: None, kind: str, named: str
) -> None:
    call(MADE[kind], code=0)
    use(call, here, next(changed(load_run(here / "run.h5"), named)), boom)


@pytest.mark.parametrize("named", NAMED)
def test_nothing_is_imported_where_the_methods_of_a_run_are_taken_up_again(
    call: Call, here: Path, boom: Path, named: str
) -> None:
    call(MADE["chain"], code=0)
    record = next(changed(load_run(here / "run.h5"), named))
    use(call, here, record, boom, filter(REBUILDS.match, COMMANDS))
    done = call("predict run.h5 on small.csv")
    assert done.code in (2, 3) and "evilmod" in done.err


@pytest.mark.slow
@pytest.mark.parametrize("kind", MADE)
@pytest.mark.parametrize("named", NAMED)
def test_nothing_is_imported_wherever_a_run_file_names_it(
    call: Call, here: Path, boom: Path, kind: str, named: str
) -> None:
    call(MADE[kind], code=0)
    for record in changed(load_run(here / "run.h5"), named):
        use(call, here, record, boom)


def test_nothing_that_a_study_names_is_imported(
    call: Call, here: Path, boom: Path, undrawn: None
) -> None:
    asked = ["mim:top=2 knn", "mim:top=3 knn"]
    fsframe.study(here / "small.csv", asked, folds=2).save(here / "study.zip")
    record = read_study(here / "study.zip")
    names = NAMED[0], NAMED[3]
    evil = tuple(f"mim:top={k} {named}" for k, named in enumerate(names, 2))
    both = itertools.cycle(zip(evil, names, strict=True))
    runs = {
        cell: in_stages(
            attrs.evolve(run, chain=f"cross-validation:folds=2,base=({chain})"),
            {"base": chain, "classifier": named},
        )
        for (cell, run), (chain, named) in zip(record.runs.items(), both, strict=False)
    }
    forged = attrs.evolve(record, chains=evil, runs=runs)
    first, *rest = record.source.split("knn")
    source = f"{first}{names[0]}{names[1].join(rest)}"
    images = {cell: run_file_content(run) for cell, run in runs.items()}
    write_study(here / "study.zip", forged.asked(), images, source, overwrite=True)
    for command in (
        "study study.zip",
        "study study.zip -o tables",
        "report study.zip",
        "table study.zip",
        "plot pareto study.zip -o picture.svg",
    ):
        assert call(command).code == 0, command
        assert not boom.exists(), command
    result = fsframe.load_study(here / "study.zip")
    assert all(named in repr(result) for named in names)
    assert result._repr_html_() and len(result.to_frame())
    data = fsframe.read(here / "small.csv")
    with pytest.raises(FsframeError, match="evilmod"):
        result.to_sklearn().fit(data.X, data.y)
