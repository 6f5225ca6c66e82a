"""A plugin that is broken costs only itself: fake distributions, through the command line."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from fsframe.storage.checkpoint import units_folder
from tests import same_process
from tests.command_line import FAKES, python
from tests.plugins.fakes import FAKES as WRITTEN
from tests.plugins.fakes import fsframe, written

BROKEN = {
    "fake_raises": "ValueError: first line second line ?[2J",
    "fake_exits": "SystemExit: 7",
    "fake_mute": "Mute",
    "fake_absent_module": "ModuleNotFoundError: No module named 'fake_module_that_is_not_there'",
    "fake_misspelled": "'fsframe_selector' is not a hook. Did you mean `fsframe_selectors`?",
    "fake_unmarked": "'fsframe_selectors' looks like a hook but lacks its marker; put @hookimpl "
    "(from fsframe.registry.hookspecs import hookimpl) above it",
    "fake_empty": "it offers nothing; implement fsframe_selectors or fsframe_classifiers or "
    "fsframe_regressors or fsframe_stability_metrics",
    "fake_newer": "'fake-newer' needs plugin API 99, this fsframe has 1; upgrade fsframe or "
    "install an older plugin",
    "fake_wrong_type": "fsframe_selectors yielded {'name': 'fake-wrong-type'}; it must yield "
    "SelectorEntry objects",
    "fake_returns": "fsframe_selectors returned SelectorEntry; it must yield SelectorEntry objects",
    "fake_bad_summary": "ValueError: entry summary must be one line of text, not '\\x1b[2J'",
    "fake_syntax": "SyntaxError: invalid syntax",
    "fake_midway": "KeyError: 'the second entry'",
    "fake_garbled": "its entry_points.txt cannot be read: ",
    "fake_bytes": "its entry_points.txt cannot be read: UnicodeDecodeError",
    "fake_no_target": "its entry point names 'not a module!', which is not a module",
}


def called(fake: str) -> str:
    """The name of a fake's entry point; of the distribution, where that cannot be read."""
    name = fake.replace("_", "-")
    return name if fake in ("fake_garbled", "fake_bytes") else name.removeprefix("fake-")


@pytest.fixture(scope="module")
def all_broken() -> dict[str, dict[str, Any]]:
    """What `fsframe plugins` says with every broken plugin installed at once, by plugin name."""
    done = fsframe("plugins", "--json", fakes=["fake_sound", *BROKEN], code=0)
    return {row["name"]: row for row in done.json["plugins"]}


@pytest.mark.parametrize("fake", BROKEN)
def test_a_broken_plugin_keeps_its_reason(all_broken, fake):
    row = all_broken[called(fake)]
    assert row["status"] == "failed"
    assert row["reason"].startswith(BROKEN[fake])
    assert "\n" not in row["reason"]
    assert row["distribution"].replace("-", "_") == fake


def test_a_sound_plugin_is_loaded_beside_all_the_broken_ones(all_broken):
    assert all_broken["sound"]["status"] == "loaded"
    assert all_broken["sound"]["entries"] == ["fake-spread", "fake-majority", "fake-equal"]
    for name in ("margin", "relief", "infotheory", "npfs", "stability"):
        assert all_broken[name]["status"] == "loaded", all_broken[name]["reason"]


def test_every_fake_is_asked_for_by_a_test():
    folders = [folder.name for folder in FAKES.iterdir() if folder.is_dir()]
    tests = Path(__file__).parents[1].rglob("test_*.py")
    texts = "\n".join(path.read_text(encoding="utf-8") for path in tests)
    assert [name for name in (*folders, *WRITTEN) if f'"{name}"' not in texts] == []


def four_rows(folder: Path) -> Path:
    path = folder / "t.csv"
    path.write_text("a,b,class\n1,5,x\n2,9,y\n3,1,x\n4,7,y\n")
    return path


def answer(chain: str, table: Path, fakes: list[str]) -> dict[str, Any]:
    """What the run of a chain says as JSON."""
    done = fsframe(*f"chain {chain} on {table} --no-out --json".split(), fakes=fakes, code=0)
    return done.json


def row_of(name: str, *fakes: str, **env: str) -> dict[str, Any]:
    """What `fsframe plugins` says of one."""
    done = fsframe("plugins", "--json", fakes=fakes, env=env)
    (row,) = [row for row in done.json["plugins"] if row["name"] == name]
    return {**row, "err": done.err}


def test_people_see_one_line_for_each_plugin_and_no_escape_sequence():
    done = fsframe("plugins", fakes=["fake_sound", "fake_raises", "fake_bad_summary"], code=0)
    assert "\x1b" not in done.out
    (line,) = [line for line in done.out.splitlines() if line.startswith("raises ")]
    assert "fake-raises 1.0" in line and "failed" in line and "ValueError: first line" in line
    (line,) = [line for line in done.out.splitlines() if line.startswith("sound ")]
    assert line.endswith("loaded  3 methods")


def test_the_traceback_is_shown_when_asked_for():
    assert "fake_raises.py" in fsframe("plugins", "--traceback", fakes=["fake_raises"]).out
    assert "fake_raises.py" not in fsframe("plugins", fakes=["fake_raises"]).out


def test_methods_of_a_stranger_are_listed_explained_and_run(tmp_path):
    table = four_rows(tmp_path)
    listed = fsframe("methods", fakes=["fake_sound"]).out
    assert "fake-spread" in listed and "fake-majority" in listed and "fake-equal" in listed
    explained = fsframe("methods", "fake-spread", fakes=["fake_sound"]).out
    assert "Exponent of the range. [a number > 0; default 1.0]" in explained
    done = fsframe(
        *f"chain fake-spread --power 2 --top 1 fake-majority on {table} --json".split(),
        fakes=["fake_sound"],
        code=0,
    )
    assert done.json["chain"] == "fake-spread:power=2.0,top=1 fake-majority"
    assert done.json["selected"] == ["b"]
    run = done.json["run_file"]
    assert done.json["stages"][0]["provider_version"] == "1.0"
    # Names, never code, are stored: the file opens where the plugin is gone.
    shown = same_process.fsframe("show", run, code=0)
    assert "fake-spread, from fake-sound 1.0, not available here" in shown.out


ASKING = ("chain {} on nothing.csv", "methods {}", "chain {} --help")
FAILED = {
    "fake_midway": "fake-early",
    "fake_newer": "fake-newer",
    "fake_misspelled": "fake-misspelled",
    "fake_raises": "fake-anything",
}


@pytest.mark.parametrize("command", ASKING)
@pytest.mark.parametrize("fake", FAILED)
def test_asking_for_what_a_failed_plugin_has_repeats_the_reason(fake, command):
    method = FAILED[fake]
    done = fsframe(*command.format(method).split(), fakes=[fake], code=3)
    assert done.out == ""
    assert done.err.startswith("fsframe: ")
    assert len(done.err.splitlines()) == 1
    assert called(fake) in done.err and BROKEN[fake] in done.err


def test_a_misspelled_bundled_name_is_answered_as_ever_beside_a_broken_plugin():
    done = fsframe("chain", "imigrate", "on", "x.csv", fakes=["fake_raises"], code=2)
    assert "Did you mean `immigrate`?" in done.err


@pytest.mark.parametrize(
    ("method", "complaint"),
    [
        ("fake-no-module", "fake_not_there:Thing: ModuleNotFoundError: No module named"),
        ("fake-no-class", "has no attribute 'Thing'"),
        ("fake-no-selector", "fake_bad_classes:NoSelector is not a Selector"),
        ("fake-exiting-class", "SystemExit: bye"),
    ],
)
def test_a_class_that_cannot_be_used_costs_only_its_own_name(method, complaint):
    done = fsframe("chain", method, "on", "x.csv", fakes=["fake_bad_classes"], code=3)
    assert complaint in done.err
    assert f"selector '{method}' of plugin 'fake-bad-classes'" in done.err
    assert len(done.err.splitlines()) == 1


def test_entries_of_unusable_classes_do_not_disturb_lists():
    assert "fake-no-module" in fsframe("methods", fakes=["fake_bad_classes"], code=0).out


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_a_reader_does_not_take_the_endings_of_bundled_formats(name, tmp_path):
    content = b"a,b,class\n" + b"1,2,x\n3,4,y\n" * 4
    (tmp_path / name).write_bytes(gzip.compress(content) if "gz" in name else content)
    fsframe("inspect", str(tmp_path / name), fakes=["fake_greedy"], code=0)


@pytest.mark.parametrize(
    ("name", "code", "says"),
    [
        ("t", 4, "t.odd.csv cannot be read by {}: KeyError: 'oops'"),
        ("exit", 3, "{}: it tried to end the program (SystemExit: 0)"),
        ("none", 3, "none.odd.csv: {} returned NoneType, not a data frame"),
    ],
)
def test_a_reader_that_fails_is_named_with_its_plugin(name, code, says, tmp_path):
    (tmp_path / f"{name}.odd.csv").write_text("a,b,class\n1,2,x\n")
    done = fsframe("inspect", str(tmp_path / f"{name}.odd.csv"), fakes=["fake_greedy"])
    assert done.code == code
    assert says.format("reader `greedy` of plugin `greedy` 1.0") in done.err
    assert len(done.err.splitlines()) == 1


def test_provider_and_name_settle_a_contest(tmp_path):
    for provider, kept in (("fake-alpha", "a"), ("fake-beta", "b")):
        asked = f"{provider}/fake-contested"
        result = answer(asked, four_rows(tmp_path), ["fake_alpha", "fake_beta"])
        assert (result["chain"], result["selected"]) == (asked, [kept])
        assert result["stages"][0]["provider"] == provider


def test_order_of_installation_decides_nothing():
    pairs = (["fake_alpha", "fake_beta"], ["fake_beta", "fake_alpha"])
    for command in ("plugins --json", "methods --json", "chain fake-contested --dry-run"):
        one, other = (fsframe(*command.split(), fakes=pair) for pair in pairs)
        assert one == other
    listed = fsframe("methods", fakes=pairs[0]).out
    assert "fake-alpha/fake-contested" in listed and "fake-beta/fake-contested" in listed


def test_two_distributions_may_use_one_entry_point_name():
    twins = ["fake_twin_left", "fake_twin_right"]
    done = fsframe("plugins", "--json", fakes=twins)
    rows = {row["name"]: row["entries"] for row in done.json["plugins"]}
    assert rows["fake-twin-left.twin"] == ["fake-left"]
    assert rows["fake-twin-right.twin"] == ["fake-right"]
    settled = fsframe("methods", "fake-twin-left/fake-left", fakes=twins)
    # Found by the full name; the class behind it does not exist in this fake.
    assert settled.code == 3 and "fake_twin_left:Nothing" in settled.err


def test_a_distribution_without_metadata_is_known_by_its_folder():
    row = row_of("no-metadata", "fake_no_metadata")
    assert row["status"] == "loaded"
    assert (row["distribution"], row["version"]) == ("fake_no_metadata", "unknown")


# What the environment says is honoured before anything of a plugin is imported.


def test_a_plugin_that_is_not_blocked_is_imported():
    assert "was imported" in fsframe("plugins", fakes=["fake_blocked"]).err


def test_a_blocked_plugin_is_not_imported():
    env = {"FSFRAME_BLOCK": " relif , Fake_Blocked "}
    row = row_of("blocked", "fake_blocked", **env)
    assert "was imported" not in row["err"]
    assert (row["status"], row["reason"]) == ("blocked", "blocked by FSFRAME_BLOCK")
    odd = "FSFRAME_BLOCK names 'relif', which is not a plugin. Did you mean `relief`?"
    assert odd in row["err"]
    asked = fsframe("chain", "fake-blocked", "on", "x", fakes=["fake_blocked"], env=env, code=3)
    assert "blocked, blocked: blocked by FSFRAME_BLOCK" in asked.err


def test_strict_stops_at_the_first_plugin_that_fails():
    strict = {"FSFRAME_STRICT": "1"}
    done = fsframe("plugins", fakes=["fake_exits"], env=strict, code=3)
    assert done.err.startswith("fsframe: plugin 'exits' (fake-exits 1.0): SystemExit: 7. FSFRAME_")
    fsframe("plugins", fakes=["fake_exits"], env={"FSFRAME_STRICT": "0"}, code=0)
    fsframe("--help", fakes=["fake_exits"], env=strict, code=0)


def test_each_step_of_loading_is_reported_when_asked_for():
    traced = {"FSFRAME_TRACE": "1", "FSFRAME_BLOCK": "blocked"}
    done = fsframe("plugins", fakes=["fake_sound", "fake_exits", "fake_blocked"], env=traced)
    assert "fsframe plugins: sound: importing fake_sound.plugin" in done.err
    assert "fsframe plugins: sound: offers fake-spread, fake-majority, fake-equal" in done.err
    assert "fsframe plugins: exits: failed: SystemExit: 7" in done.err
    assert "fsframe plugins: blocked: blocked by FSFRAME_BLOCK" in done.err
    assert "importing fake_blocked" not in done.err


def test_what_a_plugin_prints_does_not_mix_with_results(tmp_path):
    asked = f"chain fake-printing on {four_rows(tmp_path)} --no-out --json"
    for words in ("plugins --json", asked):
        done = fsframe(*words.split(), fakes=["fake_prints"])
        assert done.json
    assert done.json["selected"] == ["a"]
    for said in ("at import", "by the hook", "with the class", "while selecting"):
        assert f"printed {said}" in done.err


def test_without_any_plugin_the_program_still_answers():
    nothing = {"FSFRAME_PLUGINS": ""}
    for command in ("--help", "methods", "plugins", "chain --help", "info"):
        fsframe(*command.split(), env=nothing, code=0)
    done = fsframe("plugins", "--json", fakes=["fake_blocked"], env=nothing)
    told = {(row["status"], row["reason"]) for row in done.json["plugins"]}
    assert told == {("blocked", "not among FSFRAME_PLUGINS")}
    assert "was imported" not in done.err


TAKERS = ["fake_taker", "relief"]
RELIEFF = "chain relieff:k=3,top=1 margin on {} {}"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rows = [f"{i % 7},{(i * 5) % 11},{i % 2 * 3 + i % 3},{'xy'[i % 2]}" for i in range(30)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["a,b,c,class", *rows]) + "\n")
    return path


def test_a_plugin_that_offers_relieff_changes_nothing_but_one_note(table):
    asked = RELIEFF.format(table, "--no-out --json").split()
    alone, beside = same_process.fsframe(*asked), fsframe(*asked, fakes=TAKERS)
    assert alone.code == beside.code == 0, beside.err
    assert alone.json["digests"] == beside.json["digests"]
    assert "note" not in alone.err
    assert beside.err.count("note: 'relieff' is the bundled selector; that of ") == 1
    assert "`fake-taker/relieff`" in beside.err
    spelled = ["relief/" + word if word.startswith("relieff") else word for word in asked]
    by_provider = fsframe(*spelled, fakes=TAKERS)
    assert by_provider.code == 0 and by_provider.json["selected"] == alone.json["selected"]
    assert by_provider.json["stages"][0]["provider"] == "relief"


def test_strangers_called_like_a_bundled_plugin_take_no_name(table):
    done = fsframe("plugins", "--json", fakes=TAKERS)
    rows = {row["name"]: row for row in done.json["plugins"]}
    assert (rows["relief"]["distribution"], rows["relief"]["provider"]) == ("fsframe", "relief")
    assert rows["fake-taker.relief"]["provider"] == "fake-taker"
    assert rows["relief.relief"]["provider"] == "relief.relief"
    for provider, kept in (("fake-taker", "a"), ("relief.relief", "b")):
        result = answer(f"{provider}/relieff", table, TAKERS)
        assert (result["selected"], result["stages"][0]["provider"]) == ([kept], provider)


def test_a_run_begun_with_one_stranger_continues_and_predicts_with_another(tmp_path):
    table, run = four_rows(tmp_path), tmp_path / "r.h5"
    begun = (
        "import sys, fsframe; from fsframe.chains.request import Request; "
        "from fsframe.storage.unit_files import Unit; t, r = sys.argv[1:]; "
        "c = fsframe.Chain.parse('fake-contested knn:k=1'); "
        "a = Request(chain=c, data=fsframe.read(t), out=r, source=t, details={'path': t}); "
        "o = a.checkpoint(); o.commit(Unit('9~ab', 0, 1), b'x'); o.close()"
    )
    python("-c", begun, table, run, fakes=[written("fake_beta")])
    assert units_folder(run).is_dir()
    both = ["fake_alpha", "fake_beta"]
    done = fsframe("resume", str(run), "--json", fakes=both, code=0)
    assert done.json["selected"] == ["b"]
    fsframe("predict", str(run), "on", str(table), fakes=both, code=0)
    assert "not available" not in fsframe("show", str(run), fakes=both).out


def test_a_wheel_for_two_versions_of_fsframe_is_loaded_and_noted():
    done = fsframe("plugins", fakes=["fake_later"])
    (line,) = [line for line in done.out.splitlines() if line.startswith("later ")]
    assert "loaded" in line and "'fsframe_dialects' is not known to this fsframe" in line
