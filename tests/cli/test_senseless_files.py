"""Run files that are well-formed, sealed and senseless: shown, or refused in a sentence."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

from fsframe.errors import StoreError
from fsframe.storage import RunRecord, load_run, write_run
from tests.command_line import python
from tests.same_process import fsframe

from .conftest import LONGEST, Call, TooLong, within_seconds, write_small

RUNS = {
    "npfs.h5": "chain immigrate:max_iter=3 npfs:n=5,null=published on small.csv -q -o npfs.h5",
    "evaluate.h5": "evaluate mim:top={1,2} knn on small.csv --folds 2 --repeats 2 --curve [1,3] -q "
    "-o evaluate.h5",
    "stability.h5": "stability mim:top=2 on small.csv --n 4 -q -o stability.h5",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with these runs of its small table."""
    folder = tmp_path_factory.mktemp("runs")
    write_small(folder)
    for command in RUNS.values():
        fsframe(command, cwd=folder, code=0)
    return folder


def with_last(record: RunRecord, **changes: Any) -> RunRecord:
    """The record, its last stage with other parameters or tables; None takes one away."""
    last = record.stages[-1]
    parts = {}
    for part in ("params", "tables"):
        merged = {**getattr(last, part), **changes.get(part, {})}
        parts[part] = {key: value for key, value in merged.items() if value is not ...}
    selection = attrs.evolve(last.selection, tables=parts["tables"])
    stage = attrs.evolve(last, selection=selection, **parts)
    return attrs.evolve(record, stages=[*record.stages[:-1], stage])


def other_values(array: np.ndarray) -> Iterator[Any]:
    """What somebody may put in the place of a table."""
    yield ...
    yield np.zeros((0,) * max(1, array.ndim))
    yield np.zeros(3)
    yield np.zeros((2, 2), dtype=np.int8)
    yield array[:1] if array.size else np.ones(1)
    yield np.array(["text"])
    for number in (10**9, -5, 2**62):
        yield np.full(array.shape, number, dtype=np.int64)
    for number in (np.inf, -np.inf, np.nan, 1e308, 5e-324):
        yield np.full(array.shape, number)
    if array.dtype.kind in "iub":
        yield array.astype(np.float64)
        yield ~array.astype(np.int64)


PARAMETERS = (
    ...,
    None,
    3,
    True,
    [],
    {},
    "",
    "(",
    "{" * 50,
    "a" * 70_000,
    [["deep"]],
    {"a": [1e300]},
)


def senseless(record: RunRecord) -> Iterator[tuple[str, RunRecord]]:
    """The record with each table and each parameter replaced in turn, and odd names and scores."""
    for name, table in record.stages[-1].tables.items():
        for number, value in enumerate(other_values(table)):
            yield f"table {name} #{number}", with_last(record, tables={name: value})
    for name in record.stages[-1].params:
        for number, value in enumerate(PARAMETERS):
            yield f"parameter {name} #{number}", with_last(record, params={name: value})
    for number, value in enumerate((np.inf, -np.inf, np.nan, 1e308)):
        scores = np.full(record.n_features, value)
        yield f"scores #{number}", attrs.evolve(record, scores=scores)
    for number, name in enumerate(("$\\frac$", "<script>", "\x1b[2J", "=cmd", "x" * 4000, "", "_")):
        data = attrs.evolve(record.data, feature_names=[name] * record.n_features)
        yield f"names #{number}", attrs.evolve(record, data=data)
        last = attrs.evolve(record.stages[-1], name=name.replace("<", "") or "e")
        yield f"stage #{number}", attrs.evolve(record, stages=[*record.stages[:-1], last])
    yield (
        "seconds",
        attrs.evolve(
            record, stages=[*record.stages[:-1], attrs.evolve(record.stages[-1], seconds=np.inf)]
        ),
    )


def tried(
    call: Call, here: Path, made: Path, commands: tuple[str, ...], step: int,
    count: Callable[..., None],
) -> dict[int, int]:  # fmt: skip
    """How many trials ended with each exit code; all are tried before any that fell is told."""
    codes: dict[int, int] = {}
    fallen: list[str] = []
    number = unwritten = 0
    for name in RUNS:
        for what, record in senseless(load_run(made / name)):
            number += 1
            if number % step:
                continue
            try:
                write_run(here / "odd.h5", record, overwrite=True)
            except StoreError:
                # What a reader refuses a writer does not write: infinite scores, surrogates.
                unwritten += 1
                continue
            # Some of the files take the commands by turns.
            turn = number // step % len(commands)
            for told in commands if step == 1 else commands[turn : turn + 1]:
                try:
                    with within_seconds(LONGEST):
                        code = call(told).code
                except (Exception, TooLong) as error:
                    # `call` fails where there is a traceback.
                    fallen.append(f"{name}, {what}: `{told}`: {error!r}"[:600])
                    continue
                if code not in ((0, 2, 5) if "--csv" in told else (0, 5)):
                    fallen.append(f"{name}, {what}: `{told}`: exit code {code}")
                codes[code] = codes.get(code, 0) + 1
    if step == 1:
        count("senseless files, sealed: shown, verified, reported, made into tables", files=number,
              refused_when_written=unwritten, commands=sum(codes.values()),
              tracebacks_other_codes_and_hangs=len(fallen),
              **{f"exit_{code}": times for code, times in sorted(codes.items())})  # fmt: skip
    assert not fallen, "\n".join([str(len(fallen)), *fallen[:20]])
    return codes


def test_senseless_files_are_shown_or_refused(call: Call, here: Path, made: Path, count) -> None:
    codes = tried(call, here, made, ("show odd.h5", "show odd.h5 --json"), 25, count)
    assert codes[0] and codes[5]


@pytest.mark.slow
def test_senseless_files_are_reported_or_refused(call: Call, here: Path, made: Path, count) -> None:
    codes = tried(
        call,
        here,
        made,
        ("show odd.h5", "show odd.h5 --json", "verify odd.h5",
         "report odd.h5 --overwrite", "show odd.h5 --csv odd.csv --overwrite"),
        1,
        count,
    )  # fmt: skip
    assert codes[0] and codes[5]


def billionth_fold(record: RunRecord) -> RunRecord:
    fold = np.array(record.stages[-1].tables["fold"])
    fold[0, 0] = 10**9
    return with_last(record, tables={"fold": fold})


def with_base(base: str) -> Callable[[RunRecord], RunRecord]:
    return lambda record: with_last(record, params={"base": base})


SET = "{" + ",".join(map(str, range(1, 60))) + "}"
GRID = ",".join(f"k{n}={SET}" for n in range(5))
REAL = ",".join(f"{name}={SET}" for name in ("top", "sigma", "tol", "max_iter", "prune"))
COSTS = {"cost": np.zeros(50_000_000, dtype=np.int8)}
HIDDEN: dict[str, tuple[str, Callable[[RunRecord], RunRecord]]] = {
    "fold 10⁹": ("evaluate.h5", billionth_fold),
    "a grid of 59⁵": ("evaluate.h5", with_base(f"immigrate:{REAL} knn")),
    "a nested grid of 59⁵": ("evaluate.h5", with_base(f"npfs:base=(mim:{GRID}) knn")),
    "20,000 brackets": ("evaluate.h5", with_base("(" * 20_000 + "mim" + ")" * 20_000)),
    "50 million costs": ("npfs.h5", lambda record: with_last(record, tables=COSTS)),
}

COMMANDS = """
import json, resource, sys, time
from fsframe.cli import main
import fsframe.show.page
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (200, 200))
codes = []
for words in json.load(sys.stdin):
    start = time.process_time()
    try:
        main(words)
    except SystemExit as ended:
        codes.append([ended.code, time.process_time() - start])
sys.stderr.write("\\n" + json.dumps(codes))
"""


def test_no_cost_is_hidden_in_a_file(here: Path, made: Path) -> None:
    """In 3 GiB of addresses and minutes of the processor, where each took all there was."""
    commands, expected = [], []
    for number, (name, change) in enumerate(HIDDEN.values()):
        odd = f"odd-{number}.h5"
        write_run(here / odd, change(load_run(made / name)))
        commands += [["show", odd, "--json"], ["report", odd]]
        expected += [0 if name == "npfs.h5" else 5] * 2
    done = python("-c", COMMANDS, given=json.dumps(commands), cwd=here)
    assert "Traceback" not in done.err, done.err[-500:]
    codes = json.loads(done.err.rpartition("\n")[2])
    assert [code for code, _ in codes] == expected


def test_what_is_shown_is_json_whatever_the_numbers(call: Call, here: Path, made: Path) -> None:
    changed = with_last(
        load_run(made / "stability.h5"), tables={"stability-nogueira": np.array([np.inf])}
    )
    write_run(here / "stability.h5", changed)
    said = json.loads(call("show stability.h5 --json").out, parse_constant=lambda name: 1 / 0)
    assert said["stability"]["nogueira"]["value"] is None
