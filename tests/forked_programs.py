"""Programs that tests start, each a fork of a process that has imported already what it needs."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path

PATIENCE = 600.0

# Reads of programs, one a line, each of which a fork runs. The fork is as a shell starts a process:
# in a group of its own, by which signals are not ignored, though a test run under nohup or in the
# background hands on that they are, and then a command is right to ignore them.
FORKS = """
import json, os, runpy, signal, sys
exec(sys.argv[1], {})
print("ready", flush=True)
for line in sys.stdin:
    arguments, folder, streams = json.loads(line)
    child = os.fork()
    if not child:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    sys.exit()
os.setsid()
for number in (signal.SIGHUP, signal.SIGTERM):
    signal.signal(number, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
print(os.getpid(), flush=True)
os.chdir(folder)
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
for number in (1, 2):
    os.dup2(os.open(streams[number - 1], os.O_WRONLY | os.O_CREAT), number)
# As a new interpreter has them: what the streams of this one hold is not the program's.
sys.stdin, sys.stdout = open(0), open(1, "w")
sys.stderr = open(2, "w", buffering=1, errors="backslashreplace")
option, what, *rest = arguments
sys.argv = [what, *rest]
if option == "-m":
    runpy.run_module(what, run_name="__main__", alter_sys=True)
else:
    exec(what, {"__name__": "__main__"})
"""


class Forks:
    """A process that forks another for each program; `first` is code that it has run before."""

    def __init__(self, first: str, environ: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", FORKS, first],
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # No line is read before it is asked for, so that it can be seen whether there is one.
            bufsize=0,
        )
        self._last: Started | None = None
        while (line := self.line()) != "ready":
            assert line or self._process.poll() is None, f"{first} failed"

    def line(self) -> str:
        """The next line that the process says."""
        assert self._process.stdout is not None
        return self._process.stdout.readline().decode().rstrip("\n")

    def says(self) -> bool:
        """Whether there is such a line."""
        return bool(select.select([self._process.stdout], [], [], 0)[0])

    def start(self, folder: Path, *arguments: str) -> Started:
        """A program of Python in a folder, as arguments of the interpreter name it.

        One that was started before is ended.
        """
        if self._last is not None:
            self._last.end()
        streams = Path(tempfile.mkdtemp(prefix="fsframe-streams-"))
        out, err = streams / "out", streams / "err"
        os.mkfifo(err)
        assert self._process.stdin is not None
        asked = [arguments, str(folder), [str(out), str(err)]]
        self._process.stdin.write(f"{json.dumps(asked)}\n".encode())
        self._last = Started(self, int(self.line()), out, err)
        return self._last

    def close(self) -> None:
        with self._process as process:
            process.kill()


class Started:
    """A program that has been started, which is asked and ended as a `subprocess.Popen` is."""

    def __init__(self, forks: Forks, pid: int, out: Path, err: Path) -> None:
        self._forks, self.pid, self._out = forks, pid, out
        self.returncode: int | None = None
        self.stderr = err.open()

    def poll(self) -> int | None:
        if self.returncode is None and self._forks.says():
            self.returncode = int(self._forks.line())
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self) -> tuple[str, str]:
        """What it says until it ends; what does not end is killed after the patience."""
        give_up = threading.Timer(PATIENCE, self._kill_group)
        give_up.start()
        said = self.stderr.read()
        self._wait()
        give_up.cancel()
        out = self._out.read_text()
        shutil.rmtree(self._out.parent)
        return out, said

    def end(self) -> None:
        """End it if it has not ended."""
        if self.poll() is None:
            self._kill_group()
        self._wait()

    def _wait(self) -> None:
        if self.returncode is None:
            self.returncode = int(self._forks.line())
        self.stderr.close()

    def _kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
