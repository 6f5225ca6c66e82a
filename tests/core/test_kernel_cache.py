"""Kernels on disk: damaged, out of reach, or written by two at once, they are compiled anew."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from numba.core import config

from fsframe.contracts import kernel_cache
from fsframe.contracts.compiled import njit

KERNEL = """
from fsframe.contracts.compiled import njit

@njit()
def triple(x):
    return 3 * x
"""
_UNSET = ("NUMBA_CACHE_DIR", "FSFRAME_KERNELS")
ASK = "from kernels.small import triple; print(triple(2))"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "kernels"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "small.py").write_text(KERNEL)
    return folder


@pytest.fixture
def module(package: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.setattr(config, "CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(package.parent / "cache"))
    monkeypatch.setattr(kernel_cache, "_REFUSED", set())
    spec = importlib.util.spec_from_file_location("small_kernels", package / "small.py")
    assert spec is not None and spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    # As modules are that hold kernels: numba imports them by name when it takes one from disk.
    monkeypatch.setitem(sys.modules, "small_kernels", found)
    spec.loader.exec_module(found)
    yield found


def hits(function: Callable[..., Any], *arguments: Any) -> int:
    """How often a new dispatcher of the function found its kernel on disk."""
    fresh = njit()(function.py_func)  # type: ignore[attr-defined]
    (number,) = arguments
    assert fresh(number) == 3 * number
    return sum(fresh.stats.cache_hits.values())


def files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.kernel"))


def test_every_truncation_and_flip_of_a_kernel_is_thrown_away(module: ModuleType) -> None:
    assert module.triple(2) == 6
    (file,) = files(Path(str(module.__file__)).parents[1])
    sound = file.read_bytes()
    assert hits(module.triple, 2) == 1
    places = [0, 5, 20, 40, 83, 84, 90, *range(100, len(sound), len(sound) // 20), len(sound) - 1]
    damaged = [bytes((*sound[:at], sound[at] ^ 0x20, *sound[at + 1 :])) for at in places]
    damaged += [sound[:length] for length in (0, 1, 50, 84, 90, len(sound) // 2, len(sound) - 1)]
    damaged += [sound + b"x", b"\x80\x04."]
    for content in damaged:
        file.write_bytes(content)
        assert hits(module.triple, 2) == 0
        assert hits(module.triple, 2) == 1, "what replaced the damaged file is sound"


def test_a_sealed_file_of_another_kernel_is_not_used(module: ModuleType) -> None:
    assert module.triple(2) == 6 and module.triple(2.5) == 7.5
    one, other = files(Path(str(module.__file__)).parents[1])
    shutil.copy(one, other)
    # The bytes are whole, the machine code is that of another signature: it must not be run.
    assert hits(module.triple, 2) + hits(module.triple, 2.5) == 1


def test_a_folder_in_place_of_the_file_costs_the_cache_only(module: ModuleType) -> None:
    assert module.triple(2) == 6
    (file,) = files(Path(str(module.__file__)).parents[1])
    file.unlink()
    file.mkdir()
    assert hits(module.triple, 2) == 0


def test_files_of_older_sources_go_when_newer_are_kept(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert module.triple(2) == 6
    (old,) = files(Path(str(module.__file__)).parents[1])
    monkeypatch.setattr(kernel_cache, "_sources", lambda folder: "0123456789abcdef")
    assert hits(module.triple, 2) == 0
    (new,) = files(Path(str(module.__file__)).parents[1])
    assert new != old


def test_a_home_that_is_not_known_is_no_folder_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("FSFRAME_KERNELS", raising=False)
    monkeypatch.setattr(config, "CACHE_DIR", "")
    # What expanduser gives where there is neither HOME nor an entry for the user.
    monkeypatch.setattr(os.path, "expanduser", lambda text: text)
    assert list(kernel_cache._folders(tmp_path / "m.py")) == [tmp_path / "__pycache__"]


def test_a_temporary_folder_that_others_can_write_to_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o700)
    monkeypatch.setenv("FSFRAME_KERNELS", str(shared))
    assert shared in kernel_cache._folders(tmp_path / "m.py")
    shared.chmod(0o777)
    assert shared not in kernel_cache._folders(tmp_path / "m.py")


def ask(package: Path, code: str = ASK, **environ: str) -> tuple[str, str]:
    """What a process of its own says on stdout and stderr."""
    inherited = {k: v for k, v in os.environ.items() if k not in _UNSET}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=package.parent,
        capture_output=True,
        text=True,
        check=False,
        env={**inherited, **environ},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr


@pytest.fixture
def blocked(package: Path, tmp_path: Path) -> dict[str, str]:
    """Files stand where the folders beside the module and of the user would be."""
    (package.parent / "__pycache__").write_text("")
    (tmp_path / "cache").write_text("")
    return {"XDG_CACHE_HOME": str(tmp_path / "cache"), "TMPDIR": str(tmp_path)}


def test_a_chosen_folder_is_used_and_one_that_cannot_be_is_told(
    package: Path, tmp_path: Path
) -> None:
    chosen = tmp_path / "chosen"
    assert ask(package, NUMBA_CACHE_DIR=str(chosen))[0] == "6"
    assert len(files(chosen)) == 1 and not files(package.parent / "__pycache__")
    answer, said = ask(package, NUMBA_CACHE_DIR=os.devnull)
    assert answer == "6" and len(files(package.parent / "__pycache__")) == 1
    assert f"NUMBA_CACHE_DIR={os.devnull} cannot be used" in said


def test_kernels_keep_no_folder_of_a_package_alive(package: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(package, elsewhere / "kernels")
    assert ask(package)[0] == "6" and files(tmp_path / "__pycache__")
    # What an uninstaller removes: its own files, their byte code, and folders that are then empty.
    for found in [*package.rglob("*.py"), *package.rglob("*.pyc")]:
        found.unlink()
    for folder in [*package.rglob("*"), package]:
        folder.rmdir()
    # An editable installation finds its packages after everything that lies on the path.
    later = f"import sys; sys.path.append({str(elsewhere)!r}); {ASK}"
    assert ask(package, later)[0] == "6"


def test_a_read_only_installation_keeps_its_kernels_with_the_user(
    package: Path, tmp_path: Path
) -> None:
    (package.parent / "__pycache__").write_text("")
    own = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    assert ask(package, **own)[0] == "6"
    assert len(files(tmp_path / "cache" / "fsframe")) == 1
    answer, said = ask(package, **own)
    assert answer == "6" and "compiling" not in said


def test_where_nothing_can_be_kept_a_temporary_folder_serves_workers_and_goes(
    package: Path, tmp_path: Path, blocked: dict[str, str]
) -> None:
    worker = f"import subprocess, sys; {ASK}; subprocess.run([sys.executable, '-c', {ASK!r}])"
    answer, said = ask(package, worker, **blocked)
    assert answer.split() == ["6", "6"]
    assert said.count("compiling") == 1, "the worker found what its parent had compiled"
    assert said.count("cached in a temporary folder only") == 1
    assert not list(tmp_path.glob("fsframe-kernels-*"))


@pytest.mark.parametrize(
    "fault",
    [
        "import tempfile\ndef no(*a, **k): raise OSError(30, 'Read-only file system')\n"
        "tempfile.mkdtemp = no",
        "import os\ndef no(*a, **k): raise OSError(28, 'No space left on device')\nos.replace = no",
    ],
    ids=["no folder at all", "the disk is full"],
)
def test_without_any_folder_kernels_are_compiled_and_it_is_told(
    package: Path, blocked: dict[str, str], fault: str
) -> None:
    answer, said = ask(package, f"{fault}\n{ASK}", **blocked)
    assert answer == "6"
    assert "compiled kernels cannot be cached and are compiled in every process" in said
    assert not files(package.parent)


def test_two_processes_that_compile_at_once_leave_sound_files(package: Path) -> None:
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
    answer, told = ask(package, each.format(2, 2.5))
    assert answer == "6 7.5" and "compiling" not in told
