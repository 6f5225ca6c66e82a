"""Run files, manifests and plugins from strangers: nothing they name is imported or obeyed."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import attrs
import numpy as np
import pytest

from fsframe.storage import load_run, write_run
from tests.command_line import Done
from tests.same_process import fsframe

from .conftest import Call, Context, write_rows, write_small

EVIL = "sklearn:estimator=evilmod.Boom"


@pytest.fixture
def interrupted(call: Call, here: Path, full_disk: Context) -> Callable[..., None]:
    """Interrupts a command, and changes its manifest by hand so that it fits its digest again."""

    def leave(command: str, chain: str = "", **changes: object) -> None:
        with full_disk():
            call(command, code=5)
        manifest = here / "run.h5.units" / "manifest"
        body = json.loads(manifest.read_bytes().split(b"\n", 2)[2])
        body |= {"chain": chain or body["chain"], "request": body["request"] | changes}
        raw = json.dumps(body).encode()
        head = f"fsframe-unfinished 1\nsha256 {hashlib.sha256(raw).hexdigest()}\n".encode()
        manifest.write_bytes(head + raw)

    return leave


EVALUATE = "evaluate mim:top=2 knn on small.csv --folds 2 --repeats 1 -o run.h5 -q"


def test_a_manifest_does_not_decide_what_is_overwritten(
    call: Call, here: Path, interrupted: Callable[..., None]
) -> None:
    victim = here / "elsewhere" / "mine.txt"
    victim.parent.mkdir()
    victim.write_text("mine")
    interrupted(EVALUATE, csv=str(victim), overwrite="yes")
    done = call("resume run.h5")
    assert done.code == 0
    assert victim.read_text() == "mine"


def test_a_manifest_does_not_replace_the_file_of_another_run(
    call: Call, here: Path, interrupted: Callable[..., None]
) -> None:
    interrupted(EVALUATE, overwrite="yes")
    (here / "run.h5").write_text("mine")
    assert "--overwrite" in call("resume run.h5", code=5).err
    assert (here / "run.h5").read_text() == "mine"
    assert call("resume run.h5 --overwrite -q").code == 0
    assert load_run(here / "run.h5").chain.startswith("cross-validation")


def test_resume_imports_no_estimator_that_is_not_scikit_learns(
    call: Call, here: Path, boom: Path, interrupted: Callable[..., None]
) -> None:
    command = "chain mim:top=2 knn on small.csv -o run.h5 -q"
    interrupted(command, chain=f"mim:top=2 {EVIL}")
    assert "evilmod.Boom" in call("resume run.h5", code=2).err
    assert not boom.exists()


FORGED = "x\n/tmp/run.h5: sound\x1b[2J\x9b1m\u202e"


MADE = {
    "chain.h5": "chain mim:top=2 knn on small.csv -q -o chain.h5",
    "evaluate.h5": EVALUATE.replace("run.h5", "evaluate.h5"),
    "stability.h5": "stability mim:top=2 on small.csv --n 3 -q -o stability.h5",
}


@pytest.fixture(scope="module")
def forged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files whose every name would steer a terminal: one of a chain, of each protocol one."""
    folder = tmp_path_factory.mktemp("forged")
    write_small(folder)
    for name, command in MADE.items():
        fsframe(command, cwd=folder, code=0)
        record = load_run(folder / name)
        data = attrs.evolve(
            record.data,
            name=FORGED,
            source=FORGED,
            label=FORGED,
            feature_names=[f"{FORGED}{k}" for k in range(record.n_features)],
            class_names=[f"{FORGED}{k}" for k in range(len(record.class_names))],
        )
        last = record.stages[-1]
        stages = [
            *record.stages[:-1],
            attrs.evolve(last, provider_version=FORGED, warnings=(FORGED,), params={
                key: FORGED if key == "base" else value for key, value in last.params.items()
            }),
        ]  # fmt: skip
        if name == "chain.h5":
            stages[0] = attrs.evolve(stages[0], name=FORGED.replace("/", "|"), provider=FORGED)
        changed = attrs.evolve(
            record,
            data=data,
            stages=stages,
            command=FORGED,
            created=FORGED,
            fsframe_version=FORGED,
            chain=FORGED,
            warnings=[FORGED],
            environment={FORGED: FORGED},
        )
        write_run(folder / name, changed, overwrite=True)
    return folder


@pytest.fixture
def strange(forged: Path, here: Path) -> Path:
    """A copy of these files, which commands may change."""
    return shutil.copytree(forged, here, dirs_exist_ok=True)


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize(
    "command", ["show {}", "show {} --json", "verify {}", "report {}", "predict {} on small.csv",
                "apply {} on small.csv -o out.csv", "resume {}", "resume {} --json"],
)  # fmt: skip
def test_no_output_obeys_a_name(call: Call, strange: Path, name: str, command: str) -> None:
    steers_nothing(call(command.format(name)))


def steers_nothing(done: Done) -> None:
    """Nothing that was printed steers a terminal or stands where fsframe itself speaks."""
    for text in (done.out, done.err):
        lines = [line for line in text.split("\n") if line]
        assert all(line.isprintable() for line in lines), ascii(text)
        assert not [line for line in lines if line.startswith("/tmp/run.h5: sound")], text


@pytest.mark.parametrize("command", ["table run.h5", "predict run.h5 on small.csv"])
def test_a_line_break_in_a_name_makes_no_line_on_a_terminal(
    call: Call, here: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    table = (here / "small.csv").read_text()
    for name in ("gene-b", "ill", "well"):
        table = table.replace(name, f'"{FORGED}{name}"')
    (here / "small.csv").write_text(table)
    call("chain mim:top=2 knn on small.csv -q -o run.h5", code=0)
    for terminal in (False, True):
        monkeypatch.setattr("fsframe.cli.terminal.shows_text", lambda terminal=terminal: terminal)
        lines = call(command).out.split("\n")
        forged = [line for line in lines if line.startswith("/tmp/run.h5: sound")]
        assert bool(forged) is not terminal, "a file or pipe gets the cells as they are"
        assert not terminal or all(line.isprintable() for line in lines)


def test_json_means_the_same_with_its_escapes(call: Call, strange: Path) -> None:
    said = call("show chain.h5 --json").json
    assert said["data"]["name"] == FORGED and said["warnings"][0] == FORGED


def test_tables_with_strange_names_are_evaluated_compared_and_studied_line_by_line(
    call: Call, here: Path
) -> None:
    names = ['"a\x1b[2J"', '"b\nsmall.csv: sound"', '"c\u202e"']
    y = ["ill\x1b[2J", "well\x9b1m"]
    X = np.random.default_rng(0).standard_normal((24, 3)).round(2)
    rows = [[*row, y[i % 2]] for i, row in enumerate(X)]
    write_rows(here / "odd.csv", [[*names, "state"], *rows])
    for command in (
        "chain mim:top=2 npfs:n=5,permutations=5,alpha=0.2 on odd.csv --no-out",
        "evaluate mim:top=2 knn on odd.csv --folds 2 --repeats 1 --no-out",
        "stability mim:top=2 on odd.csv --n 3 --no-out",
        "chain mim:top=2 on odd.csv --no-out --drop nobody\x1b[2J",
    ):
        done = call(*command.split(" "))
        assert all(line.isprintable() for line in (done.out + done.err).split("\n")), command
        assert "\nsmall.csv: sound" not in done.out + done.err
    done = call("compare", "mim:top=2 knn", "relieff:top=2 knn", "on", "odd.csv", "--folds", "2",
                "--repeats", "1", "-q")  # fmt: skip
    assert done.code == 0 and all(line.isprintable() for line in done.out.split("\n"))


STEERING = "\x1b[2J\x9b1m\u202e\r"
WORDS = [
    (["plugins"], 0),
    (["plugins", "--json"], 0),
    (["plugins", "--traceback"], 0),
    (["methods"], 0),
    (["methods", "--json"], 0),
    (["methods", "fake-steering"], 0),
    (["methods", "fake-steering", "--json"], 0),
    (["chain", "--help"], 0),
    (["chain", "fake-steering", "--help"], 0),
    (["check", "fake-steering"], 3),
    (["check", "fake-steering", "--json"], 3),
    (["info"], 0),
    (["info", "--json"], 0),
    ([f"no{STEERING}\n/tmp/run.h5: sound"], 2),
    (["info", f"--no{STEERING}\n/tmp/run.h5: sound"], 2),
    (["methods", "mim", f"more{STEERING}\n/tmp/run.h5: sound"], 2),
    (["chain", "mim", f"--no{STEERING}\n/tmp/run.h5: sound"], 2),
    (["evaluate", "mim", "on", "x.csv", "--seed", f"a{STEERING}\n/tmp/run.h5: sound"], 2),
]


@pytest.mark.parametrize(("words", "code"), WORDS, ids=lambda words: ascii(words)[:40])
def test_no_output_obeys_a_plugin_or_what_was_typed(words: list[str], code: int) -> None:
    env = {"FSFRAME_BLOCK": f"a{STEERING}", "FSFRAME_TRACE": f"{STEERING}\n/tmp/run.h5: sound"}
    done = fsframe(
        *words, fakes=["fake_steering", "fake_raises"], env=env if "info" in words else {}
    )
    assert done.code == code, done.err
    assert done.out or done.err
    steers_nothing(done)


def test_json_of_plugins_and_methods_means_the_same() -> None:
    result = fsframe("plugins", "--json", fakes=["fake_steering"]).json["plugins"]
    (plugin,) = [plugin for plugin in result if plugin["name"] == "steering"]
    assert plugin["version"] == "1.0\x1b[2J"
    method = fsframe("methods", "fake-steering", "--json", fakes=["fake_steering"]).json
    power = next(p for p in method["parameters"] if p["name"] == "power")
    assert power["help"] == f"Exponent{STEERING}." and power["symbol"] == STEERING


def test_limits_of_parameters_are_fields() -> None:
    parameters = {p["name"]: p for p in fsframe("methods", "mim", "--json").json["parameters"]}
    bins = parameters["bins"]
    assert (bins["least"], bins["most"], bins["choices"]) == (2, 65536, ["auto"])
    assert parameters["edges"]["items"] == {}


def test_a_docstring_keeps_its_lines() -> None:
    done = fsframe("methods", "mim")
    assert "\\n" not in done.out
    assert "\n\nParameters:\n" in done.out and len(done.out.splitlines()) > 20


def test_info_remarks_on_a_memory_of_tables_that_is_no_size() -> None:
    done = fsframe("info", env={"FSFRAME_TABLE_MEMORY": "abc"})
    assert done.code == 0 and "note: FSFRAME_TABLE_MEMORY='abc' is not a size" in done.err
