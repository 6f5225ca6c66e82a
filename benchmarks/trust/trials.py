"""Trials of what users, disks, clocks, clusters and strangers may do; each counted in a CSV file.

    python benchmarks/trust/trials.py                        # the names of all trials
    python benchmarks/trust/trials.py --only clock,locks
    python benchmarks/trust/trials.py --only chains --times 2000 --out FILE

A trial makes many attempts and knows what is promised for each. A line is added to FILE
(`results/trials.csv`): the attempts, how many ended as promised, the others (with ``--show``, each
is printed), processor seconds with those of child processes, the commit, and what was simulated.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import importlib
import io
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", POLARS_MAX_THREADS="1")
ROOT = Path(__file__).resolve().parents[2]
RESULTS = Path(__file__).parent / "results" / "trials.csv"
MODULES = ("random_chains", "mutated_runs", "seed_equality", "surroundings", "strangers")
LONGEST = 10.0
"""Seconds of the processor after which an attempt counts as one that hangs."""


class Trial:
    """The attempts of one trial, and those that did not end as promised."""

    def __init__(self, times: int, folder: Path) -> None:
        self.times, self.folder = times, folder
        self.made = 0
        self.faults: list[str] = []
        self.outcomes: Counter[str] = Counter()

    def expect(self, promised: bool, what: str, outcome: str = "") -> None:
        """Count an attempt."""
        self.made += 1
        if outcome:
            self.outcomes[outcome] += 1
        if not promised:
            self.faults.append(what)

    def answered(self, what: str, work: Callable[[], Any], *exits: int) -> Any:
        """Count `work` as promised if it returns, or refuses with one of the exit codes `exits`."""
        value, outcome = ended(work)
        if outcome.startswith("hangs"):
            # Resamples of resamples take long; they are given more, and counted.
            self.outcomes["more than 10 s"] += 1
            value, outcome = ended(work, 30 * LONGEST)
        promised = {"answer", *(f"exit {code}" for code in exits)}
        self.expect(outcome in promised, f"{what}: {outcome}", outcome.split(":")[0])
        return value


class TooLong(BaseException):
    """An attempt has used too much of the processor."""


@contextlib.contextmanager
def bounded(seconds: float = LONGEST) -> Iterator[None]:
    """TooLong within the block after so many seconds of the processor."""

    def stop(*_: object) -> None:
        raise TooLong(f"not over after {seconds:.0f} s")

    old = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, old)


def ended(work: Callable[[], Any], seconds: float = LONGEST) -> tuple[Any, str]:
    """The value of `work`, and how it ended: ``answer``, ``exit N``, or a fault in words."""
    from fsframe.errors import FsframeError, PluginError

    try:
        with warnings.catch_warnings(), bounded(seconds):
            warnings.simplefilter("ignore")
            return work(), "answer"
    except PluginError as error:
        if TooLong.__name__ in error.detail:
            return None, "hangs"
        # No plugin of a stranger takes part: a bundled method has failed, or been misnamed.
        return None, f"exit 3: {error} {error.detail[-600:]}" if error.detail else "exit 3"
    except FsframeError as error:
        return error, f"exit {error.exit_code}"
    except TooLong as error:
        return None, f"hangs: {error}"
    except BaseException:
        return None, f"traceback: {traceback.format_exc()[-900:]}"


def command(*words: str, seconds: float = LONGEST) -> tuple[int, str]:
    """Exit code and messages of a command in this process; a traceback gives code -1."""
    from fsframe.cli import main

    said = io.StringIO()
    try:
        quiet = contextlib.redirect_stdout(io.StringIO())
        # Left last, the bound is over before anything else may be interrupted by it.
        with quiet, contextlib.redirect_stderr(said), bounded(seconds):
            main(list(words))
    except SystemExit as end:
        code = int(end.code or 0)
    except BaseException:
        return -1, said.getvalue() + traceback.format_exc()
    else:
        code = 0
    return (-1 if "Traceback" in said.getvalue() else code), said.getvalue()


def started(*words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own, with what it printed."""
    options = {"capture_output": True, "text": True, "timeout": 120, **options}
    return subprocess.run([sys.executable, "-m", "fsframe", *words], **options)


def forked(
    words: Sequence[str], folder: Path, prepare: Callable[[], None] = bool, **environ: str
) -> Callable[[], tuple[int, str]]:
    """Start a command in a fork, which has imported already; call the result for its end."""
    said = Path(tempfile.mkstemp(prefix="said-", dir=folder.parent)[1])
    child = os.fork()
    if child == 0:
        code = 70
        try:
            os.setsid()
            os.chdir(folder)
            os.environ.update(environ)
            for number in (1, 2):
                os.dup2(os.open(said, os.O_WRONLY | os.O_APPEND), number)
            sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
            from fsframe.cli import main

            try:
                prepare()
                main(list(words))
            except SystemExit as end:
                code = int(end.code or 0)
            sys.stderr.flush()
        except BaseException:
            os.write(2, traceback.format_exc().encode())
        finally:
            os._exit(code)

    def wait() -> tuple[int, str]:
        give_up = time.monotonic() + 120
        while time.monotonic() < give_up:
            pid, status = os.waitpid(child, os.WNOHANG)
            if pid:
                text = said.read_text(errors="replace")
                code = os.waitstatus_to_exitcode(status)
                return (-1 if "Traceback" in text else code), text
            time.sleep(0.01)
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return -2, "not over after 120 s"

    return wait


def small_table(path: Path, rows: int = 40) -> Path:
    """A table of text: classes ill and well, told apart by column b."""
    import numpy as np

    values = np.random.default_rng(0).standard_normal((rows, 5)).round(3)
    values[:, 1] += 3 * (np.arange(rows) % 2)
    lines = ["a,b,c,d,e,state"]
    lines += [",".join([*map(str, row), ("ill", "well")[k % 2]]) for k, row in enumerate(values)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def seconds_used() -> float:
    """Seconds of the processor of this process and its children."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def all_trials() -> dict[str, tuple[Callable[[Trial], None], int, str]]:
    """Name → function, usual number of attempts (0: fixed), what was done and how."""
    found: dict[str, tuple[Callable[[Trial], None], int, str]] = {}
    for module in MODULES:
        found |= importlib.import_module(f"trial_{module}").TRIALS
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", help="names of trials, joined by commas")
    parser.add_argument("--times", type=int, help="attempts, where a trial draws them")
    parser.add_argument("--show", action="store_true", help="print attempts that failed")
    parser.add_argument("--out", type=Path, default=RESULTS, help="a CSV file; lines are added")
    asked = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    trials = all_trials()
    if not asked.only:
        print(*(f"{name:16} {how}" for name, (_, _, how) in trials.items()), sep="\n")
        return
    for name in asked.only.split(","):
        work, times, how = trials[name]
        folder = Path(tempfile.mkdtemp(prefix="fsframe-trial-"))
        trial, began, clock = Trial(asked.times or times, folder), seconds_used(), time.monotonic()
        here = Path.cwd()
        try:
            work(trial)
        finally:
            os.chdir(here)
            shutil.rmtree(folder, ignore_errors=True)
        version = subprocess.run(
            ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True
        )
        row = {
            "trial": name, "made": trial.made, "as promised": trial.made - len(trial.faults),
            "faults found": len(trial.faults), "processor s": f"{seconds_used() - began:.0f}",
            "commit": version.stdout.strip(), "what was tried": how,
            "ends": ", ".join(f"{k} {v}" for k, v in sorted(trial.outcomes.items())),
        }  # fmt: skip
        print(row, f"{time.monotonic() - clock:.0f} s elapsed", flush=True)
        if asked.show:
            print(*trial.faults[:200], sep="\n", flush=True)
        add(asked.out, row)


def add(path: Path, row: dict[str, Any]) -> None:
    """Add a line to a CSV file."""
    new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(row), lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(row)


if __name__ == "__main__":
    sys.modules["trials"] = sys.modules["__main__"]
    main()
