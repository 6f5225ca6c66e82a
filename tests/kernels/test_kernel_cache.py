"""Kernels on disk: of their sources, damaged, of somebody else, or written by two at once."""

from __future__ import annotations

import ast
import contextlib
import gc
import importlib.util
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import pytest
from numba.core import config

from fsframe import system
from fsframe.kernels import compiled, unset_senseless_threads
from fsframe.kernels.compiled import njit
from fsframe.system import user_number
from tests.command_line import fsframe
from tests.forked_programs import Forks

KERNEL = """
from fsframe.kernels.compiled import njit

@njit()
def factor():
    return {factor}

@njit()
def triple(x):
    return 3 * x
"""


def write_package(folder: Path, **modules: str) -> Path:
    """A package in the folder, with these modules."""
    folder.mkdir()
    for name, text in {"__init__": "", **modules}.items():
        (folder / f"{name}.py").write_text(text)
    return folder


# numba is ready in what forks, which takes a second; what `fsframe.kernels.compiled` notices begins
# with the fork.
FIRST = """
import numba
numba.njit(lambda x: 3 * x)(2)
import fsframe.kernels.compiled
"""
BEFORE = """
import os, sys
from numba.core import config
os.environ.update({})
config.reload_config()
sys.path.insert(0, "")
"""
# All that the end of a process is for, without the half second that it takes to free the compiler.
AFTER = """
import atexit, os, sys
atexit._run_exitfuncs()
sys.stdout.flush()
sys.stderr.flush()
os._exit(0)
"""
Python = Callable[..., tuple[str, str]]


@pytest.fixture(scope="module")
def python() -> Iterator[Python]:
    """What a process of its own says on stdout and stderr; kernels lie where they do by default."""
    if not hasattr(os, "fork"):
        pytest.skip("each process is a fork")
    unset = ("NUMBA_CACHE_DIR", "FSFRAME_KERNELS")
    inherited = {key: value for key, value in os.environ.items() if key not in unset}

    def run(code: str, folder: Path, **environ: str) -> tuple[str, str]:
        program = forks.start(folder, "-c", f"{BEFORE.format(environ)}\n{code}\n{AFTER}")
        out, err = program.communicate()
        assert program.returncode == 0, err
        return out.strip(), err

    with contextlib.closing(Forks(FIRST, {**inherited, "OPENBLAS_NUM_THREADS": "1"})) as forks:
        yield run


ASK = "from kernels.small import triple; print(triple(2))"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return write_package(tmp_path / "kernels", small=KERNEL.format(factor=3))


@pytest.fixture
def module(package: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.setattr(config, "CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(package.parent / "cache"))
    monkeypatch.setattr(compiled, "_REFUSED", set())
    monkeypatch.setattr(compiled, "_DISTRUSTED", set())
    spec = importlib.util.spec_from_file_location("small_kernels", package / "small.py")
    assert spec is not None and spec.loader is not None
    result = importlib.util.module_from_spec(spec)
    # As modules are that hold kernels: numba imports them by name when it takes one from disk.
    monkeypatch.setitem(sys.modules, "small_kernels", result)
    spec.loader.exec_module(result)
    yield result


def hits(function: Callable[..., Any], *arguments: Any) -> int:
    """How often a new dispatcher of the function found its kernel on disk."""
    fresh = njit()(function.py_func)  # type: ignore[attr-defined]
    (number,) = arguments
    assert fresh(number) == 3 * number
    return sum(fresh.stats.cache_hits.values())


def files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.kernel"))


@pytest.fixture
def kept(module: ModuleType, tmp_path: Path) -> Path:
    """The file of a kernel that has been compiled for whole numbers."""
    assert module.triple(2) == 6
    (file,) = files(tmp_path)
    return file


def test_every_truncation_and_flip_of_a_kernel_is_thrown_away(module, kept) -> None:
    sound = kept.read_bytes()
    assert hits(module.triple, 2) == 1
    places = [0, 5, 20, 40, 83, 84, 90, *range(100, len(sound), len(sound) // 8), len(sound) - 1]
    damaged = [bytes((*sound[:at], sound[at] ^ 0x20, *sound[at + 1 :])) for at in places]
    damaged += [sound[:length] for length in (0, 1, 50, 84, 90, len(sound) // 2, len(sound) - 1)]
    damaged += [sound + b"x", b"\x80\x04."]
    for content in damaged:
        kept.write_bytes(content)
        assert hits(module.triple, 2) == 0
        assert hits(module.triple, 2) == 1, "what replaced the damaged file is sound"


def test_a_sealed_file_of_another_kernel_is_not_used(module, tmp_path) -> None:
    assert module.triple(2) == 6 and module.triple(2.5) == 7.5
    one, other = files(tmp_path)
    shutil.copy(one, other)
    # The bytes are whole, the machine code is that of another signature: it must not be run.
    assert hits(module.triple, 2) + hits(module.triple, 2.5) == 1


def test_a_folder_in_place_of_the_file_costs_the_cache_only(module, kept) -> None:
    kept.unlink()
    kept.mkdir()
    assert hits(module.triple, 2) == 0


def test_files_of_older_sources_go_when_newer_are_kept(module, monkeypatch, tmp_path) -> None:
    assert module.triple(2) == 6
    (old,) = files(tmp_path)
    monkeypatch.setattr(compiled, "_sources", lambda folder: "0123456789abcdef")
    assert hits(module.triple, 2) == 0
    (new,) = files(tmp_path)
    assert new != old


def test_a_home_that_is_not_known_is_no_folder_here(tmp_path, monkeypatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("FSFRAME_KERNELS", raising=False)
    monkeypatch.setattr(config, "CACHE_DIR", "")
    # What expanduser gives where there is neither HOME nor an entry for the user.
    monkeypatch.setattr(os.path, "expanduser", lambda text: text)
    assert list(compiled._folders(tmp_path / "m.py")) == [tmp_path / "__pycache__"]


def test_a_temporary_folder_that_others_can_write_to_is_not_used(tmp_path, monkeypatch) -> None:
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o700)
    monkeypatch.setenv("FSFRAME_KERNELS", str(shared))
    assert shared in compiled._folders(tmp_path / "m.py")
    shared.chmod(0o777)
    assert shared not in compiled._folders(tmp_path / "m.py")


class Forged:
    """What runs a command when a kernel's file is opened."""

    def __init__(self, mark: Path) -> None:
        self.mark = str(mark)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        return os.mkdir, (self.mark,)


def forge(file: Path, mark: Path) -> None:
    """Replace a kernel's file by one with a right checksum that leaves a mark when it is read."""
    key = "the key is read after the harm is done"
    file.write_bytes(compiled._sealed(key, Forged(mark)))


STRANGERS = frozenset({4_000_000_000})


def behind_a_link(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))
    folder.symlink_to("elsewhere")


OPENED: dict[str, Callable[[Path, pytest.MonkeyPatch], object]] = {
    "folder of a stranger": lambda file, patch: patch.setattr(
        compiled, "trusted_owners", lambda source: STRANGERS
    ),
    "folder open to everybody": lambda file, patch: file.parent.chmod(0o777),
    "folder open to a group": lambda file, patch: [
        patch.setattr(system, "is_private_group", lambda user, group: False),
        file.parent.chmod(0o775),
    ],
    "file open to everybody": lambda file, patch: file.chmod(0o666),
    "folder behind a link": lambda file, patch: behind_a_link(file.parent),
}


@pytest.mark.parametrize("what", OPENED)
def test_a_kernel_that_somebody_else_can_have_written_is_not_read(
    module, tmp_path, monkeypatch, capsys, what, kept
) -> None:
    mark = tmp_path / "mark"
    forge(kept, mark)
    assert hits(module.triple, 2) == 0
    assert mark.is_dir(), "this forgery works where its writer is trusted"
    mark.rmdir()
    forge(kept, mark)
    OPENED[what](kept, monkeypatch)
    capsys.readouterr()
    assert hits(module.triple, 2) == 0
    assert not mark.exists()
    said = capsys.readouterr().err
    assert "are not used, since it " in said and "set NUMBA_CACHE_DIR" in said


def test_kernels_of_a_stranger_are_replaced_by_own_ones_elsewhere(module, tmp_path, kept) -> None:
    kept.parent.chmod(0o777)
    assert hits(module.triple, 2) == 0
    (own,) = files(tmp_path / "cache")
    assert own.stat().st_mode & 0o022 == own.parent.stat().st_mode & 0o022 == 0
    assert hits(module.triple, 2) == 1


def test_own_folders_and_files_are_closed_to_others_whatever_the_umask(module, tmp_path) -> None:
    before = os.umask(0)
    try:
        assert module.triple(2) == 6
    finally:
        os.umask(before)
    (file,) = files(tmp_path)
    assert file.stat().st_mode & 0o022 == file.parent.stat().st_mode & 0o022 == 0
    assert hits(module.triple, 2) == 1


@pytest.mark.skipif(user_number() != 0, reason="only root can give away")
def test_a_folder_given_to_another_user_is_not_used(module, package, capsys, tmp_path) -> None:
    assert module.triple(2) == 6
    (file,) = files(tmp_path / "__pycache__")
    os.chown(file.parent, 4242, 4242)
    assert hits(module.triple, 2) == 0
    told = f"compiled kernels in {file.parent} are not used, since it belongs to"
    assert told in capsys.readouterr().err
    # The program itself belongs to that user now: who can change it may change its kernels.
    os.chown(package / "small.py", 4242, 4242)
    compiled._DISTRUSTED.clear()
    assert hits(module.triple, 2) == 1
    assert "not used" not in capsys.readouterr().err


def test_a_link_of_a_stranger_above_the_folder_is_not_followed(tmp_path, monkeypatch) -> None:
    target = tmp_path / "target"
    (target / "kernels").mkdir(parents=True)
    link = tmp_path / "link"
    link.symlink_to(target)
    ours = system.trusted_owners(Path(__file__))
    assert system.distrust_folder(link / "kernels", ours) == ""
    result = system.distrust_folder(link / "kernels", STRANGERS)
    assert result.startswith(f"is reached by a link, {link}, that belongs to")


def test_the_private_group_of_the_owner_may_write(monkeypatch) -> None:
    grp, pwd = pytest.importorskip("grp"), pytest.importorskip("pwd")
    people = {7: pwd.struct_passwd(("ann", "x", 7, 70, "", "/", "/"))}
    groups = {
        70: grp.struct_group(("ann", "x", 70, [])),
        71: grp.struct_group(("staff", "x", 71, [])),
    }
    monkeypatch.setattr(pwd, "getpwuid", people.__getitem__)
    monkeypatch.setattr(grp, "getgrgid", groups.__getitem__)
    system.is_private_group.cache_clear()

    def reason(mode: int, user: int = 7, group: int = 70) -> str:
        state = os.stat_result((0o40000 | mode, 1, 1, 1, user, group, 0, 0, 0, 0))
        system.is_private_group.cache_clear()
        return system.distrust(state, frozenset({0, 7, 8}))

    assert reason(0o775) == ""
    assert reason(0o755, group=71) == ""
    assert reason(0o775, group=71) == "can be written to by the group staff"
    assert reason(0o777) == "can be written to by everybody"
    assert reason(0o775, user=8) == "can be written to by the group ann"
    assert reason(0o755, user=9).startswith("belongs to user 9, not to you")
    groups[70] = grp.struct_group(("ann", "x", 70, ["ann", "bob"]))
    assert reason(0o775) == "can be written to by the group ann"
    system.is_private_group.cache_clear()


@pytest.fixture
def blocked(package: Path, tmp_path: Path) -> dict[str, str]:
    """Files stand where the folders beside the module and of the user would be."""
    (package.parent / "__pycache__").write_text("")
    (tmp_path / "cache").write_text("")
    return {"XDG_CACHE_HOME": str(tmp_path / "cache"), "TMPDIR": str(tmp_path)}


def test_a_chosen_folder_is_used_and_one_that_cannot_be_is_reported(
    module, package, tmp_path, monkeypatch, capsys
) -> None:
    chosen = tmp_path / "chosen"
    # As numba reads NUMBA_CACHE_DIR.
    monkeypatch.setattr(config, "CACHE_DIR", str(chosen))
    assert hits(module.triple, 2) == 0 and hits(module.triple, 2) == 1
    assert len(files(chosen)) == 1 and not files(tmp_path / "__pycache__")
    monkeypatch.setattr(config, "CACHE_DIR", os.devnull)
    assert hits(module.triple, 2) == 0 and len(files(tmp_path / "__pycache__")) == 1
    assert f"NUMBA_CACHE_DIR={os.devnull} cannot be used" in capsys.readouterr().err


def test_kernels_keep_no_folder_of_a_package_alive(package, tmp_path, python) -> None:
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(package, elsewhere / "kernels")
    assert python(ASK, tmp_path)[0] == "6" and files(tmp_path / "__pycache__")
    # What an uninstaller removes: its own files, their byte code, and folders that are then empty.
    for found in [*package.rglob("*.py"), *package.rglob("*.pyc")]:
        found.unlink()
    for folder in [*package.rglob("*"), package]:
        folder.rmdir()
    # An editable installation finds its packages after everything that lies on the path.
    later = f"import sys; sys.path.append({str(elsewhere)!r}); {ASK}"
    assert python(later, tmp_path)[0] == "6"


def test_where_nothing_can_be_kept_a_temporary_folder_serves_workers_and_goes(
    package, tmp_path, blocked, python
) -> None:
    worker = f"import subprocess, sys; {ASK}; subprocess.run([sys.executable, '-c', {ASK!r}])"
    answer, said = python(worker, tmp_path, **blocked)
    assert answer.split() == ["6", "6"]
    assert said.count("compiling") == 1, "the worker found what its parent had compiled"
    assert said.count("cached in a temporary folder only") == 1
    assert not list(tmp_path.glob("fsframe-kernels-*"))


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("tempfile.mkdtemp", OSError(30, "Read-only file system")),
        ("os.replace", OSError(28, "No space left on device")),
    ],
    ids=["no folder at all", "the disk is full"],
)
def test_without_any_folder_kernels_are_compiled_and_it_is_reported(
    package, blocked, python, name, error
):
    fault = f"import os, tempfile\ndef no(*a, **k): raise {error!r}\n{name} = no"
    answer, said = python(f"{fault}\n{ASK}", package.parent, **blocked)
    assert answer == "6"
    assert "compiled kernels cannot be cached and are compiled in every process" in said
    assert not files(package.parent)


def test_two_processes_that_compile_at_once_leave_sound_files(package, python) -> None:
    each = "from kernels.small import triple; print(triple({}), triple({}))"
    orders = [("2", "2.5"), ("2.5", "2")]
    running = [
        subprocess.Popen(
            [sys.executable, "-c", each.format(*order)],
            cwd=package.parent,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for order in orders
    ]
    said = [process.communicate()[0].split() for process in running]
    assert said == [["6", "7.5"], ["7.5", "6"]]
    answer, told = python(each.format(2, 2.5), package.parent)
    assert answer == "6 7.5" and "compiling" not in told


OUTER = """
from fsframe.kernels.compiled import njit
from kernels.inner import factor

@njit()
def times(x):
    return factor() * x
"""


def test_a_kernel_is_compiled_again_when_one_that_it_calls_has_changed(
    tmp_path: Path, python: Python
) -> None:
    ask = "from kernels.outer import times; print(times(2), sum(times.stats.cache_misses.values()))"
    package = write_package(tmp_path / "kernels", outer=OUTER)
    for factor, answer in ((3, "6"), (50, "100")):
        (package / "inner.py").write_text(KERNEL.format(factor=factor))
        assert python(ask, tmp_path)[0] == f"{answer} 1"
        assert python(ask, tmp_path)[0] == f"{answer} 0"


def test_nothing_but_kernels_goes_without_types() -> None:
    root = Path(__file__).parents[2]
    settings = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["mypy"]["overrides"]
    (untyped,) = [o["module"] for o in settings if o.get("disallow_untyped_defs") is False]
    for module in untyped:
        path = root / "plugins" / f"{module.replace('.', '/')}.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.returns is None:
                decorators = [ast.unparse(each).partition("(")[0] for each in node.decorator_list]
                assert "njit" in decorators, f"{module}.{node.name}"


def test_that_kernels_are_compiled_is_said_once_for_an_installation(
    tmp_path: Path, python: Python
) -> None:
    for name in ("first", "second"):
        one, two = (KERNEL.format(factor=factor) for factor in (3, 5))
        write_package(tmp_path / name, one=one, two=two)

    def said(module: str, **environ: str) -> str:
        return python(f"from {module} import factor; factor()", tmp_path, **environ)[1]

    assert "compiling numerical kernels: the first run of a method takes" in said("first.one")
    # Kernels of another plugin, and those of new sources, are compiled without a word.
    assert said("second.one") == ""
    (tmp_path / "first" / "one.py").write_text(KERNEL.format(factor=30))
    assert said("first.one") == ""
    assert len(list(tmp_path.rglob("*.kernel"))) == 2
    # In another folder it has not been said.
    chosen = {"NUMBA_CACHE_DIR": str(tmp_path / "chosen")}
    (tmp_path / "first" / "one.py").write_text(KERNEL.format(factor=300))
    assert "compiling" in said("first.one", **chosen)
    assert said("second.two", **chosen) == ""


def test_the_search_for_garbage_rests_only_while_kernels_are_compiled():
    @njit(cache=False)
    def half(x):
        return x / 2

    @njit(cache=False)
    def wrong(x):
        return x.no_such_thing

    assert half(3.0) == 1.5 and gc.isenabled()
    with pytest.raises(numba.errors.TypingError):
        wrong(1.0)
    assert gc.isenabled()
    gc.disable()
    try:
        assert half(3) == 1.5 and not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.parametrize("value", ["0", "-2", "many", "", "2"])
def test_a_number_of_threads_stays_if_it_is_one(monkeypatch, capsys, value):
    monkeypatch.setenv("NUMBA_NUM_THREADS", value)
    unset_senseless_threads()
    kept, said = os.environ.get("NUMBA_NUM_THREADS"), capsys.readouterr().err
    if value == "2":
        assert (kept, said) == (value, "")
    else:
        assert kept is None
        assert f"NUMBA_NUM_THREADS={value!r} is not a number of threads" in said


@pytest.mark.parametrize(
    ("environ", "code", "said"),
    [
        ({"NUMBA_NUM_THREADS": "0"}, 0, "NUMBA_NUM_THREADS='0' is not a number of threads"),
        ({"NUMBA_DISABLE_JIT": "1"}, 2, "unset NUMBA_DISABLE_JIT"),
    ],
)
def test_senseless_variables_of_numba_are_blamed_on_no_plugin(tmp_path, environ, code, said):
    rows = "\n".join(f"{7 * k % 11},{5 * k % 13},{k % 2}" for k in range(30))
    (tmp_path / "small.csv").write_text(f"a,b,y\n{rows}\n")
    done = fsframe("chain", "mim:top=1", "on", "small.csv", "--no-out", cwd=tmp_path, env=environ)
    assert done.code == code, done.err
    assert said in done.err and "plugin" not in done.err
