"""What a plugin, the surroundings or the user's own words say steers no terminal."""

from __future__ import annotations

import pytest

from tests.same_process import fsframe

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
    ([f"no{STEERING}\nrun.h5: sound"], 2),
    (["info", f"--no{STEERING}\nrun.h5: sound"], 2),
    (["methods", "mim", f"more{STEERING}\nrun.h5: sound"], 2),
    (["chain", "mim", f"--no{STEERING}\nrun.h5: sound"], 2),
    (["evaluate", "mim", "on", "x.csv", "--seed", f"a{STEERING}\nrun.h5: sound"], 2),
]


@pytest.mark.parametrize(("words", "code"), WORDS, ids=lambda words: ascii(words)[:40])
def test_no_output_obeys_a_plugin_or_what_was_typed(words: list[str], code: int) -> None:
    env = {"FSFRAME_BLOCK": f"a{STEERING}", "FSFRAME_TRACE": f"{STEERING}\nrun.h5: sound"}
    done = fsframe(
        *words, fakes=["fake_steering", "fake_raises"], env=env if "info" in words else {}
    )
    assert done.code == code, done.err
    assert done.out or done.err
    for text in (done.out, done.err):
        lines = [line for line in text.split("\n") if line]
        assert all(line.isprintable() for line in lines), ascii(text)
        assert not [line for line in lines if line.startswith("run.h5: sound")], text


def test_json_of_plugins_and_methods_means_the_same() -> None:
    found = fsframe("plugins", "--json", fakes=["fake_steering"]).json["plugins"]
    (plugin,) = [plugin for plugin in found if plugin["name"] == "steering"]
    assert plugin["version"] == "1.0\x1b[2J"
    method = fsframe("methods", "fake-steering", "--json", fakes=["fake_steering"]).json
    power = next(p for p in method["parameters"] if p["name"] == "power")
    assert power["help"] == f"Exponent{STEERING}." and power["symbol"] == STEERING


def test_a_docstring_keeps_its_lines() -> None:
    done = fsframe("methods", "mim")
    assert "\\n" not in done.out
    assert "\n\nParameters:\n" in done.out and len(done.out.splitlines()) > 20


def test_info_remarks_on_a_memory_of_tables_that_is_no_size() -> None:
    done = fsframe("info", env={"FSFRAME_TABLE_MEMORY": "abc"})
    assert done.code == 0 and "note: FSFRAME_TABLE_MEMORY='abc' is not a size" in done.err
