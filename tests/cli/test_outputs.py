"""No command replaces what it reads, nor anything that is not a file."""

from __future__ import annotations

import io
import os
import re
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from fsframe.cli.terminal import say
from tests.command_line import python
from tests.same_process import fsframe

from .conftest import Call


@pytest.fixture
def run(call: Call, here: Path) -> Path:
    call("chain mim:top=2 margin on small.csv -q", code=0)
    return here / "small.mim_top=2-margin.h5"


# Each writes to OUT; what it reads is small.csv, and of the second kind the run file too.
FROM_TABLE = [
    "chain mim on small.csv --overwrite -o OUT",
    "chain mim npfs:n=2,permutations=5,alpha=0.2 on small --overwrite -o OUT",
    "evaluate mim on small.csv --folds 2 --repeats 1 --overwrite -o OUT",
    "stability mim on small.csv --n 3 --overwrite -o OUT",
    "apply small.mim_top=2-margin.h5 on small.csv --overwrite -o OUT",
    "predict small.mim_top=2-margin.h5 on small.csv --overwrite -o OUT",
    "predict small.mim_top=2-margin.h5 on new --train small --overwrite -o OUT",
]
FROM_RUN = [
    "apply small.mim_top=2-margin.h5 on small.csv --overwrite -o OUT",
    "predict small.mim_top=2-margin.h5 on small.csv --overwrite -o OUT",
    "report small.mim_top=2-margin.h5 --overwrite -o OUT",
    "show small.mim_top=2-margin.h5 --overwrite --csv OUT",
]
RUN = "small.mim_top=2-margin.h5"
READ = [*((command, "small.csv") for command in FROM_TABLE), *((c, RUN) for c in FROM_RUN)]
# One guard asks for both kinds of links.
LINKED = [(*each, (os.symlink, os.link)[k % 2]) for k, each in enumerate(READ)]


@pytest.mark.parametrize(("command", "read", "link"), LINKED)
def test_what_is_read_is_never_replaced_by_its_name_or_another(
    call: Call, here: Path, run: Path, command: str, read: str, link: Callable[[Path, Path], None]
) -> None:
    (here / "new.csv").write_bytes((here / "small.csv").read_bytes())
    original, other = here / read, here / "other.csv"
    link(original, other)
    before = (original.read_bytes(), original.stat().st_ino, sorted(os.listdir(here)))
    for name in (original, other):
        done = call(*command.replace("OUT", str(name)).split(), code=5)
        assert "is the same file as" in done.err and "name another file" in done.err
        after = (original.read_bytes(), original.stat().st_ino, sorted(os.listdir(here)))
        assert after == before


@pytest.mark.parametrize("command", dict.fromkeys([*FROM_TABLE[:-1], *FROM_RUN]))
def test_devices_pipes_and_streams_are_left_alone(
    call: Call, here: Path, run: Path, command: str
) -> None:
    pipe = here / "pipe.csv"
    os.mkfifo(pipe)
    (here / "null.csv").symlink_to(os.devnull)
    names = [os.devnull, str(pipe), "null.csv", "/dev/fd/2", "/dev/stderr"]
    if not command.startswith(("apply", "predict")):
        names += ["-", "/dev/stdout"]
    for name in names:
        done = call(*command.replace("OUT", name).split())
        # A relative name may be told as the absolute one.
        assert done.code == 5 and re.search(rf"cannot write \S*{name}: it is a", done.err)
    assert stat.S_ISFIFO(os.stat(pipe).st_mode)
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_resume_keeps_the_table_that_it_is_given(call: Call, here: Path) -> None:
    from fsframe import Chain, read
    from fsframe.storage.checkpoint import units_folder
    from fsframe.storage.unit_files import Manifest

    table = here / "small.csv"
    chain = Chain.parse("mim npfs:n=4,permutations=1,alpha=0.5")
    units = units_folder(table)
    units.mkdir()
    Manifest.of(chain, read(table), 0, {"path": str(table), "overwrite": "yes"}).keep(units)
    before = table.read_bytes()
    assert call(f"resume {table}").code == 5
    assert table.read_bytes() == before


def test_chain_run_keeps_the_table_that_it_was_told_of(here: Path) -> None:
    import fsframe

    table = here / "small.data"
    table.write_bytes((here / "small.csv").read_bytes())
    data = fsframe.read(table)
    with pytest.raises(fsframe.errors.StoreError, match=r"is the same file as small\.data"):
        fsframe.Chain.parse("mim").run(data, out="small.data", overwrite=True, source="small.data")


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("chain mim on small.csv -o a.csv", "end its name in .h5; fsframe table RUN.h5 -o a.csv"),
        ("evaluate mim on small.csv -o a.XLSX", "a run file, which is HDF5, to a.XLSX"),
        ("report a.h5 -o a.csv", "end its name in .html; fsframe table RUN.h5 -o a.csv writes"),
        ("compare mim jmi on small.csv -o a.csv", "name a folder; its results.csv is the table"),
    ],
)
def test_a_name_that_says_another_kind_of_file_is_refused(
    call: Call, here: Path, asked: str, told: str
) -> None:
    call("chain mim on small.csv -o a.h5", code=0)
    assert told in call(f"{asked} --overwrite", code=5).err
    assert sorted(path.suffix for path in here.iterdir() if path.name.startswith("a.")) == [".h5"]


def test_compare_keeps_a_table_called_like_its_results(call: Call, here: Path) -> None:
    folder = here / "d"
    folder.mkdir()
    table = folder / "results.csv"
    table.write_bytes((here / "small.csv").read_bytes())
    asked = "compare mim:top=1 mim on {} --folds 2 --repeats 1 -q -o d"
    assert "is the same file as" in call(asked.format("d/results.csv"), code=5).err
    assert "does not come from an earlier comparison" in call(asked.format("small.csv"), code=5).err
    assert table.read_bytes() == (here / "small.csv").read_bytes()
    table.unlink()
    call(asked.format("small.csv"), code=0)
    assert call(asked.format("small.csv")).code == 0, "its own results are made anew"


def test_compare_proposes_no_options_that_fit_one_of_its_tables_only(
    call: Call, here: Path
) -> None:
    rows = [f"{k % 2},{k / 7},{k % 5 + k / 9}" for k in range(30)]
    (here / "other.csv").write_text("\n".join(["class,a,b", *rows]))
    asked = "compare mim:top=1 mim on {} --folds 2 --repeats 1 -q"
    assert "  fsframe compare" in call(asked.format("other.csv")).err
    done = call(asked.format("small.csv other.csv"))
    assert done.code == 4 and "fsframe compare" not in done.err
    assert "`fsframe study`" in done.err and '\n  label = "class"' in done.err


def test_new_plugin_writes_into_no_file_and_no_device(call: Call, here: Path) -> None:
    (here / "dangling").symlink_to(here / "nowhere" / "else")
    for name in (os.devnull, "small.csv", "dangling"):
        call(f"new-plugin gap -o {name}", code=5)
    assert not (here / "nowhere").exists()


@pytest.mark.parametrize("name", ["-", "/dev/stdout"])
def test_text_tables_go_to_stdout_where_that_is_asked_for(
    call: Call, here: Path, run: Path, name: str
) -> None:
    call("apply small.mim_top=2-margin.h5 on small.csv -o reduced.csv", code=0)
    done = call(f"apply small.mim_top=2-margin.h5 on small.csv -o {name}")
    assert done.code == 0 and done.out == (here / "reduced.csv").read_text(encoding="utf-8")
    done = call(f"predict small.mim_top=2-margin.h5 on small.csv -o {name}")
    assert done.code == 0 and done.out.startswith("row,class,score ill")


def test_a_pipe_with_a_reader_is_not_replaced_under_it(call: Call, here: Path, run: Path) -> None:
    pipe = here / "pipe.csv"
    os.mkfifo(pipe)
    reader = threading.Thread(target=pipe.read_bytes, daemon=True)
    reader.start()
    done = call("apply small.mim_top=2-margin.h5 on small.csv -o pipe.csv --overwrite")
    assert done.code == 5 and "it is a pipe" in done.err
    os.close(os.open(pipe, os.O_WRONLY))
    reader.join(10)
    assert not reader.is_alive()


# Pipes, closed streams, and lines on a terminal: wrapped to its width, no name cut


FSFRAME = f'"{sys.executable}" -m fsframe'


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (f"{FSFRAME} methods --json | true", 0),
        (f"{FSFRAME} methods >&-", 5),
        (f"{FSFRAME} --version < /dev/null", 0),
        (f"{FSFRAME} imigrate 2>&-", 2),
    ],
)
def test_a_stream_that_goes_away_is_no_traceback(line: str, code: int) -> None:
    done = subprocess.run(line, shell=True, capture_output=True, text=True, timeout=60)
    assert done.returncode == code
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
@pytest.mark.parametrize(
    ("words", "where"), [("methods", "&-"), ("methods --json", "/dev/full"), ("--version", "&-")]
)
def test_output_that_cannot_be_written_is_an_error(words: str, where: str) -> None:
    line = f"{FSFRAME} {words} >{where}"
    done = subprocess.run(line, shell=True, capture_output=True, text=True, timeout=60)
    assert done.returncode == 5
    assert done.stderr.startswith("fsframe: cannot write to standard output: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("words", ["methods", "inspect examples/parkinsons.csv"])
def test_a_reader_that_has_seen_enough_makes_no_error(words: str) -> None:
    line = f"({FSFRAME} {words}; echo $? >&2) | head -n 1"
    root = Path(__file__).parents[2]
    done = subprocess.run(line, shell=True, capture_output=True, text=True, timeout=60, cwd=root)
    assert done.stderr.strip() in ("0", "141")


def test_the_installed_script_is_the_same_program() -> None:
    script = os.path.join(os.path.dirname(sys.executable), "fsframe")
    done = subprocess.run([script, "--version"], capture_output=True, text=True, timeout=60)
    assert done.stdout == python("-m", "fsframe", "--version").out
    assert done.stdout.startswith("fsframe ")


@pytest.mark.parametrize("encoding", ["latin-1", "cp437", "utf-8"])
def test_a_terminal_that_lacks_signs_gets_others(tmp_path: Path, encoding: str) -> None:
    rows = [f"{k},{k % 3},{'ab'[k % 2]}" for k in range(12)]
    table = "\n".join(["größe,漢字🧬,label", *rows])
    (tmp_path / "t.csv").write_text(table + "\n", encoding="utf-8")
    screen, found = (
        fsframe(f"chain mim on t.csv --no-out {more}", cwd=tmp_path, encoding=encoding)
        for more in ("", "--json")
    )
    assert screen.code == found.code == 0, screen.err + found.err
    assert set(found.json["selected"]) == {"größe", "漢字🧬"}
    assert ("12 samples x 2" if encoding == "cp437" else "12 samples × 2") in screen.out
    assert ("漢字🧬" if encoding == "utf-8" else "\\u6f22\\u5b57\\ud83e\\uddec") in screen.out


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("width", [60, 80])
def test_long_lines_are_wrapped_between_words(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    names = [f"MDVP:Jitter(Abs)-{k}" for k in range(12)]
    line = f"  warning: {', '.join(names)} are alike"
    monkeypatch.setattr("shutil.get_terminal_size", lambda: os.terminal_size((width, 24)))
    monkeypatch.setattr(sys, "stdout", Terminal())
    say(line)
    shown = sys.stdout.getvalue()  # type: ignore[attr-defined]
    assert all(len(each) <= width for each in shown.splitlines()) and shown.count("\n") > 2
    assert all(name in shown for name in names)
    assert " ".join(shown.split()) == " ".join(line.split())
    # A file or a pipe gets the line as it is.
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    say(line)
    assert sys.stdout.getvalue() == f"{line}\n"  # type: ignore[attr-defined]
