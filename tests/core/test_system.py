"""What only some systems have is used in one module, and a chain runs where it is missing."""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from fsframe import system
from fsframe.errors import StoreError
from fsframe.storage import checkpoint
from tests.command_line import Done, python
from tests.same_process import fsframe

ROOT = Path(__file__).parents[2]
MODULES = {
    *("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "posix", "nt", "syslog", "spwd"),
    *("msvcrt", "winreg", "_winapi", "crypt", "readline", "curses"),
}
# What the standard library documents as available on some systems only.
OS_NAMES = {
    *("chown", "chroot", "copy_file_range", "ctermid", "eventfd", "fchdir", "fchmod", "fchown"),
    *("fdatasync", "fork", "forkpty", "fpathconf", "fstatvfs", "getegid", "geteuid", "getgid"),
    *("getgroups", "getloadavg", "getpgid", "getpgrp", "getpriority", "getresuid", "getsid"),
    *("getuid", "getxattr", "kill", "killpg", "lchown", "lockf", "memfd_create", "mkfifo", "mknod"),
    *("nice", "openpty", "pathconf", "pidfd_open", "pipe2", "posix_fadvise", "posix_fallocate"),
    *("posix_spawn", "pread", "preadv", "pwrite", "pwritev", "register_at_fork"),
    *("sched_getaffinity", "sched_setaffinity", "sched_yield", "sendfile", "setegid", "setpgid"),
    *("setpriority", "setsid", "setuid", "setxattr", "splice", "startfile", "statvfs", "sync"),
    *("sysconf", "uname", "wait", "wait3", "wait4", "waitid", "waitpid", "WIFSIGNALED", "WTERMSIG"),
    *("MFD_CLOEXEC", "O_BINARY", "O_CLOEXEC", "O_DIRECT", "O_DIRECTORY", "O_NOCTTY", "O_NOFOLLOW"),
    *("O_NONBLOCK", "O_PATH", "O_SYNC", "O_TMPFILE"),
}
SIGNAL_NAMES = {
    *("SIGALRM", "SIGBUS", "SIGCHLD", "SIGCONT", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT"),
    *("SIGSTOP", "SIGTSTP", "SIGUSR1", "SIGUSR2", "SIGXCPU", "SIGBREAK", "CTRL_C_EVENT"),
    *("SIG_BLOCK", "SIG_SETMASK", "SIG_UNBLOCK", "ITIMER_REAL", "alarm", "getitimer", "setitimer"),
    *("pause", "pthread_kill", "pthread_sigmask", "set_wakeup_fd", "siginterrupt", "sigwait"),
}
# Keywords of subprocess.Popen, and parameters for descriptors of folders.
KEYWORDS = {"preexec_fn", "start_new_session", "process_group", "creationflags", "dir_fd"}


# Names above that are also words of this program.
WORDS = {"alarm", "kill", "nice", "pause", "splice", "sync", "wait"}


def any_of(names: set[str]) -> str:
    return f"({'|'.join(sorted(names))})"


# Also as text for getattr and hasattr, and paths that only Unix has.
SPECIAL = [
    re.compile(pattern)
    for pattern in (
        rf"(?:import|from) {any_of(MODULES)}\b",
        rf"\b(?:os\.|from os import .*\b){any_of({*OS_NAMES, 'name'})}\b",
        rf"\b(?:signal\.|from signal import .*\b){any_of(SIGNAL_NAMES)}\b",
        r"\b(?:sys\.|from sys import .*\b)(platform)\b",
        rf"\b{any_of(KEYWORDS)}=",
        rf"'{any_of((OS_NAMES | SIGNAL_NAMES) - WORDS)}'",
        "'(/proc|/dev/fd|/dev/std|/sys/)",
    )
]


# A module without any of these words, be it in comments, has nothing of the above in its code.
MENTIONED = re.compile(
    rf"\b(?:os|signal|sys|{'|'.join(MODULES | KEYWORDS | (OS_NAMES | SIGNAL_NAMES) - WORDS)})\b"
    "|/proc|/dev/|/sys/"
)


def found(path: Path) -> list[str]:
    """Whatever only some systems have, wherever the code of a module says it."""
    text = path.read_text(encoding="utf-8")
    if not MENTIONED.search(text):
        return []
    tree = ast.parse(text)
    for node in ast.walk(tree):
        # Documentation.
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value.value = ""
    code = ast.unparse(tree)
    names = [name for pattern in SPECIAL for name in pattern.findall(code)]
    return [f"{path.relative_to(ROOT)}: {name}" for name in names]


def test_no_other_module_uses_what_only_some_systems_have() -> None:
    modules = [*ROOT.glob("fsframe/**/*.py"), *ROOT.glob("plugins/**/*.py")]
    assert len(modules) > 100
    others = [path for path in modules if path != ROOT / "fsframe" / "system.py"]
    assert len(others) == len(modules) - 1
    used = [line for path in others for line in found(path)]
    assert not used, "\n".join(used)
    # The module itself shows that the search finds them.
    here = "\n".join(found(ROOT / "fsframe" / "system.py"))
    for name in ("fcntl", "resource", "pwd", "getuid", "O_NOFOLLOW", "SIGHUP", "preexec_fn"):
        assert f": {name}" in here, name


# Imports what is needed first: those libraries look at the real system.
PRETEND = """
import sys, json, os, signal
system, missing = {system!r}, {missing!r}
import {first}
import multiprocessing.connection, concurrent.futures.process, socket, subprocess, tempfile, shutil
import threadpoolctl, urllib.request
threadpoolctl.threadpool_info = list  # Some of its versions ask for libraries of Windows.
shutil.which = lambda *_, **__: None  # From Python 3.12 on it asks Windows.
for module, names in missing.items():
    for name in names:
        if hasattr(sys.modules[module], name):
            delattr(sys.modules[module], name)
for name in {modules!r}:
    sys.modules[name] = None
sys.platform = system
{then}
"""
COMMANDS = """
from fsframe.system import missing_protections
from tests.same_process import fsframe
done = [fsframe(*words) for words in {commands!r}]
print(json.dumps([missing_protections(), *([each.code, each.out, each.err] for each in done)]))
"""
FOR_COMMANDS = "asyncio, click, h5py, llvmlite, numba, numpy, pluggy, scipy"
FOR_TESTS = f"{FOR_COMMANDS}, matplotlib, polars, sklearn"
TESTS = """
import pytest
print("ended", int(pytest.main({tests!r})))
"""

WITHOUT = {
    "win32": {
        "modules": ["fcntl", "resource", "pwd", "grp"],
        "os": [
            *("getuid", "geteuid", "kill", "killpg", "memfd_create", "mkfifo", "pread", "pwrite"),
            *("sysconf", "chown", "fork"),
            *("sched_getaffinity", "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "MFD_CLOEXEC"),
        ],
        "signal": ["SIGHUP", "SIGALRM", "SIGKILL", "SIGSTOP", "setitimer", "pthread_sigmask"],
    },
    "darwin": {
        "modules": [],
        "os": ["memfd_create", "sched_getaffinity", "MFD_CLOEXEC"],
        "signal": [],
    },
}


def pretend(
    name: str, folder: Path, *, commands: Sequence[Sequence[str]] = (), tests: Sequence[str] = ()
) -> str:
    """What commands say on stdout, and then pytest, where a process takes its system for another.

    Both may be given, since such a process takes seconds to start.
    """
    without = WITHOUT[name]
    then = f"{COMMANDS if commands else ''}{TESTS if tests else ''}"
    code = PRETEND.format(
        system=name,
        first=FOR_TESTS if tests else FOR_COMMANDS,
        missing={module: without[module] for module in ("os", "signal")},
        modules=without["modules"],
        then=then.format(commands=commands, tests=tests),
    )
    environ = {"PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "plugins")))}
    return python("-c", code, cwd=folder, env=environ).out


TABLE = ROOT / "examples" / "parkinsons.csv"
CHAIN = ["chain", "anova-f:top=6", "mim:top=3", "on", str(TABLE), "--json", "-o"]
ASKED = [[*CHAIN, "there.h5"], ["--contained", "info"], ["info", "--json"]]


def chosen_tests(*parts: str) -> list[str]:
    """Arguments of pytest that collect these parts of the suite and run some of the tests."""
    # pytest itself asks for consoles of Windows where it captures descriptors.
    words = ["-c", str(ROOT / "pyproject.toml"), "-p", "no:cacheprovider", "--capture=sys"]
    # All are collected; one module passes, and a test is chosen that uses what Windows lacks.
    chosen = ["-k", "test_registry or test_a_pipe_or_a_link_in_place_of_a_unit_file"]
    return [*words, *chosen, *(str(ROOT / "tests" / part) for part in parts)]


@pytest.fixture(scope="module")
def windows(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder in which commands and a few tests were run as on Windows, and what they said."""
    folder = tmp_path_factory.mktemp("windows")
    few = chosen_tests("registry/test_registry.py", "storage/units/test_unit_files.py")
    return folder, pretend("win32", folder, commands=ASKED, tests=few)


def check_answers(name: str, folder: Path, said: str) -> None:
    """Whether the commands that are `ASKED` gave the answers of this system."""
    assert not system.LINUX or system.missing_protections() == ()
    here = fsframe(*CHAIN, str(folder / "here.h5"))
    # What is printed before is of the libraries.
    line = next(line for line in said.splitlines() if line.startswith("[["))
    missing, *there = json.loads(line)
    chain, contained, info = (Done(*each) for each in there)
    assert chain.code == 0, chain.err
    stages = []
    for done in (here, chain):
        stages.append(done.json["stages"])
        for stage in stages[-1]:
            assert stage.pop("seconds") >= 0
    assert stages[0] == stages[1]
    assert (folder / "there.h5").is_file()
    # What cannot be contained is refused, and what is not guarded is told by those who ask.
    assert contained.code == 2 and f"this system ({name}) does not have" in contained.err
    assert info.code == 0 and info.json["not guarded"] == missing
    if name == "win32":
        assert len(missing) == 6
        # A protection that is missing is said where it would have been used.
        assert "compiled kernels are not kept, since a file cannot be checked" in chain.err
    else:
        assert [text.partition(":")[0] for text in missing] == [
            "processes have no limit of memory",
            "each worker is sent a copy of the table",
        ]


def check_tests(name: str, said: str) -> None:
    """Whether the chosen tests passed, but for one that uses what Windows lacks."""
    assert "ended 0" in said, said[-2000:]
    assert int(re.search(r"(\d+) passed", said)[1]) > 40
    assert ("this system has no mkfifo" in said) == (name == "win32")


# Windows lacks all that macOS lacks, and more.
def test_a_chain_gives_the_same_answer_without_what_another_system_lacks(windows) -> None:
    check_answers("win32", *windows)


@pytest.mark.slow
def test_a_chain_gives_the_same_answer_without_what_macos_lacks(tmp_path) -> None:
    check_answers("darwin", tmp_path, pretend("darwin", tmp_path, commands=ASKED))


def test_the_core_of_the_suite_can_be_collected_and_begun(windows) -> None:
    check_tests("win32", windows[1])


@pytest.mark.slow
@pytest.mark.parametrize("name", WITHOUT)
def test_most_of_the_suite_can_be_collected_and_begun(name, tmp_path) -> None:
    everything = chosen_tests("core", "method", "registry", "table", "storage")
    check_tests(name, pretend(name, tmp_path, tests=everything))


def test_a_lock_whose_holder_cannot_be_asked_is_not_taken_over(tmp_path, monkeypatch) -> None:
    held = checkpoint.FolderLock.take(tmp_path)
    monkeypatch.setattr(checkpoint, "lock_file", lambda descriptor: None)
    monkeypatch.setattr(checkpoint, "process_exists", lambda pid: None)
    with pytest.raises(StoreError, match="is in use by another run of this process"):
        checkpoint.FolderLock.take(tmp_path)
    held.release()
    checkpoint.FolderLock.take(tmp_path).release()


def test_without_a_flag_that_refuses_links_they_are_looked_for(tmp_path, monkeypatch) -> None:
    monkeypatch.delattr(os, "O_NOFOLLOW")
    (tmp_path / "file").write_bytes(b"kept")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    with open(system.open_for_reading(tmp_path / "file", follow=False), "rb") as file:
        assert file.read() == b"kept"
    with pytest.raises(OSError, match="symbolic links"):
        system.open_for_reading(tmp_path / "link", follow=False)


def test_where_files_have_no_owners_nobody_is_trusted(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(system, "user_number", lambda: None)
    assert system.trusted_owners(tmp_path) == frozenset()
    assert system.distrust(os.stat(tmp_path), frozenset({0})) == system.UNKNOWN
    assert system.distrust_folder(tmp_path, frozenset({0})) == system.UNKNOWN
