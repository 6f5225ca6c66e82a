"""Kills, locks, clocks, disks, folders, environments and plugins that are not as they should be."""

from __future__ import annotations

import contextlib
import errno
import importlib
import json
import os
import random
import shutil
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace

from trials import ROOT, Trial, forked, small_table, started

from fsframe import system
from fsframe.errors import StoreError
from fsframe.storage import load_run


def kills(options: str, trial: Trial) -> None:
    """SIGKILL to running commands, which are then repeated; `tests/faults/signals.py` judges."""
    done = subprocess.run(
        [sys.executable, ROOT / "tests/faults/signals.py", "--trials", str(trial.times),
         "--signal", "SIGKILL", "--workers", "2", "--seconds", "1500", *options.split()],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    bad = sum(found[k] for k in ("lost", "unequal", "failed", "left", "hangs", "untrue",
                                 "tracebacks"))  # fmt: skip
    told = [*found["examples"], *["…"] * bad][:bad]
    for number in range(found["trials"]):
        trial.expect(number >= bad, told[number] if number < bad else "")
    trial.outcomes |= {"stopped": found["stopped"], "parts taken over": found["kept"]}


CHAIN = ["chain", "mim:top=3", "npfs:n=8,permutations=2,alpha=0.2", "on", "small.csv", "-q"]


def prepared(trial: Trial) -> str:
    """Make the table, import what the command needs, and say what it finds."""
    os.chdir(trial.folder)
    small_table(Path("small.csv"))
    # In forks of a process that has used threads, what needs them would wait for ever.
    anova = ["chain", "anova-f:top=1", "on", "small.csv", "-q", "-o", "other.h5"]
    report = ["report", "plain.h5", "-o", "plain.html"]
    apply = ["apply", "plain.h5", "on", "small.csv", "-o", "plain.csv"]
    import_what_commands_do([[*CHAIN, "-o", "plain.h5"], anova, report, apply])
    return digests(Path("plain.h5"))


def import_what_commands_do(commands: list[list[str]]) -> None:
    """Run commands in processes of their own, and import what they have imported."""
    script = (
        "import sys\nfrom fsframe.cli import main\n"
        "try:\n main(sys.argv[1:])\nfinally:\n print('modules', *sys.modules)"
    )
    for words in commands:
        done = subprocess.run(
            [sys.executable, "-c", script, *words], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        for name in done.stdout.partition("modules ")[2].split():
            if name not in sys.modules and name != "__main__":
                with contextlib.suppress(Exception):
                    importlib.import_module(name)


def digests(path: Path) -> str:
    """What a run file says; empty if there is none, or not a sound one."""
    try:
        return json.dumps(load_run(path).digests())
    except StoreError:
        return ""


def litter(folder: Path) -> list[str]:
    return [
        path.name for path in folder.iterdir() if path.name.startswith(".") or ".units" in path.name
    ]


def one_output(trial: Trial) -> None:
    """Two or three commands that want the same file; what lasts is whole, and of one of them."""
    found = prepared(trial)
    answers = {found, digests(Path("other.h5"))}
    same = [*CHAIN, "-o", "run.h5"]
    other = ["chain", "anova-f:top=1", "on", "small.csv", "-q", "-o", "run.h5"]
    report, apply = (
        ["report", "plain.h5", "-o", "run.h5"],
        ["apply", "plain.h5", "on", "small.csv", "-o", "run.csv"],
    )
    draw = random.Random(1)
    for number in range(trial.times):
        for old in ("run.h5", "run.csv"):
            Path(old).unlink(missing_ok=True)
        over = ["--overwrite"] * (number % 3 == 0)
        wanted = [
            [*draw.choice((same, other, same, report, apply)), *over] for _ in range(2 + number % 2)
        ]
        ends = [wait() for wait in [forked(words, trial.folder) for words in wanted]]
        codes = sorted(code for code, _ in ends)
        whole = digests(Path("run.h5")) in answers or not all(w[0] == "chain" for w in wanted)
        if litter(trial.folder) == ["run.h5.units"]:
            # A chain that found the name taken at its end keeps its work, and is given it back.
            refused = [words for words, (code, _) in zip(wanted, ends, strict=True) if code]
            again = next(words for words in refused if words[0] == "chain")
            code, _ = forked([*again, "--overwrite"], trial.folder)()
            whole = whole and code == 0 and digests(Path("run.h5")) in answers
        trial.expect(
            set(codes) <= {0, 2, 5} and 0 in codes and whole and not litter(trial.folder),
            f"{wanted}: {ends} {litter(trial.folder)}", f"exits {codes}",
        )  # fmt: skip


def locks(trial: Trial) -> None:
    """Locks that the file system lacks, refuses, always grants or never grants."""
    found = prepared(trial)

    def patched(how: str) -> Callable[[], None]:
        def flock(descriptor: int, operation: int) -> None:
            if how in errno.errorcode.values():
                raise OSError(getattr(errno, how), os.strerror(getattr(errno, how)))

        def prepare() -> None:
            system.fcntl = SimpleNamespace(flock=flock, LOCK_EX=2, LOCK_NB=4)

        return prepare

    promised = {"EAGAIN": {5}, "EIO": {0, 1, 5}, "EACCES": {0, 1, 5}}
    for how in ("ENOLCK", "ENOSYS", "EOPNOTSUPP", "EINVAL", "EIO", "EACCES", "EAGAIN", "granted"):
        for times in (1, 1, 2, 3, 3):
            Path("run.h5").unlink(missing_ok=True)
            shutil.rmtree("run.h5.units", ignore_errors=True)
            started = [
                forked([*CHAIN, "-o", "run.h5"], trial.folder, patched(how)) for _ in range(times)
            ]
            ends = [wait() for wait in started]
            codes = {code for code, _ in ends}
            right = digests(Path("run.h5")) == found if 0 in codes else True
            allowed = promised.get(how, {0} if times == 1 else {0, 5})
            trial.expect(codes <= allowed and right, f"flock {how}, {times} at once: {ends}", how)


def clock(trial: Trial) -> None:
    """The clock of the system set back or forward before and within a command, by LD_PRELOAD."""
    found = prepared(trial)
    Path("clock.c").write_text(CLOCK)
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-O1", "-o", "clock.so", "clock.c", "-ldl"], check=True
    )
    for start in (0, -86_400, -(10**9), -1_790_000_000, 4 * 10**9):
        for step in (0, -3600, -86_400 * 400):
            for words in (
                [*CHAIN, "-o", "run.h5"],
                ["show", "plain.h5"],
                ["report", "plain.h5", "--overwrite"],
            ):
                Path("run.h5").unlink(missing_ok=True)
                done = started(
                    *words, env={**os.environ, "LD_PRELOAD": str(trial.folder / "clock.so"),
                                 "CLOCK_START": str(start), "CLOCK_STEP": str(step)},
                )  # fmt: skip
                same = words[0] != "chain" or digests(Path("run.h5")) == found
                trial.expect(
                    done.returncode == 0 and same and "Traceback" not in done.stderr,
                    f"{start:+} {step:+} s: {words}: {done.returncode} {done.stderr[-500:]}",
                )  # fmt: skip
                if step and start:
                    break


CLOCK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
static long moved(void) {
    static int looks = 0;
    return atol(getenv("CLOCK_START")) + (++looks / 20) * atol(getenv("CLOCK_STEP"));
}
int clock_gettime(clockid_t id, struct timespec *t) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int code = real(id, t);
    if (id == CLOCK_REALTIME) { t->tv_sec += moved(); if (t->tv_sec < 0) t->tv_sec = 0; }
    return code;
}
time_t time(time_t *out) {
    struct timespec t; clock_gettime(CLOCK_REALTIME, &t); if (out) *out = t.tv_sec; return t.tv_sec;
}
int gettimeofday(struct timeval *v, void *zone) {
    struct timespec t; clock_gettime(CLOCK_REALTIME, &t);
    v->tv_sec = t.tv_sec; v->tv_usec = t.tv_nsec / 1000; return 0;
}
"""


def full_disk(trial: Trial) -> None:
    """Commands on a tmpfs of 12 to 500 kB (where it cannot be mounted, none is made)."""
    found = prepared(trial)
    place = trial.folder / "disk"
    place.mkdir()
    for kilobytes in (12, 20, 28, 36, 44, 60, 80, 120, 200, 500):
        for words in (
            [*CHAIN[:-2], "../small.csv", "-q", "-o", "run.h5"],
            ["report", "../plain.h5", "-o", "page.html"],
            ["apply", "../plain.h5", "on", "../small.csv", "-o", "a.csv"],
            ["plot", "scores", "../plain.h5", "-o", "p.svg"],
            ["table", "../plain.h5", "-o", "t.csv"],
            [
                "evaluate",
                "mim:top=2",
                "knn",
                "on",
                "../small.csv",
                "--folds",
                "3",
                "--repeats",
                "2",
                "-q",
                "-o",
                "run.h5",
            ],
        ):
            if subprocess.run(
                ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "t", place]
            ).returncode:
                return
            try:
                code, said = forked(words, place)()
                whole = words[0] != "chain" or code or digests(place / "run.h5") == found
                half = (
                    [p.name for p in place.iterdir() if p.is_file() and code]
                    if place.exists()
                    else []
                )
                trial.expect(
                    code in (0, 5, 1) and bool(whole) and not half
                    and (code == 0 or "No space" in said or "space" in said),
                    f"{kilobytes} kB: {words}: {code} {half} {said[-400:]}", f"exit {code}",
                )  # fmt: skip
            finally:
                subprocess.run(["umount", "-l", place], check=True)


def read_only(trial: Trial) -> None:
    """Cache and home that cannot be written to, or are not there, as a user without rights."""
    found = prepared(trial)
    trial.folder.chmod(0o755)
    bare, mine = trial.folder / "bare", trial.folder / "mine"
    bare.mkdir(mode=0o555)
    mine.mkdir()
    mine.chmod(0o777)
    (trial.folder / "small.csv").chmod(0o644)

    def nobody() -> None:
        os.setgid(65534)
        os.setuid(65534)

    for home in (str(bare), "/nonexistent", "/proc", "/dev/null", "relative", ""):
        for cache in (str(bare), "/nonexistent/x", "", "/dev/null", "relative"):
            out = mine / "run.h5"
            out.unlink(missing_ok=True)
            shutil.rmtree(f"{out}.units", ignore_errors=True)
            code, said = forked(
                [*CHAIN[:-2], "../small.csv", "-q", "-o", str(out)], mine, nobody,
                HOME=home, XDG_CACHE_HOME=cache, NUMBA_CACHE_DIR="",
            )()  # fmt: skip
            trial.expect(code == 0 and digests(out) == found and not litter(mine),
                         f"HOME={home} XDG_CACHE_HOME={cache}: {code} {said[-400:]}")  # fmt: skip


ENVIRONMENTS = (
    *({"NUMBA_NUM_THREADS": v} for v in ("0", "abc", "-1", "99999", "")),
    *({"OMP_NUM_THREADS": v} for v in ("0", "abc", "-1", "99999", "")),
    *({"NUMBA_THREADING_LAYER": v} for v in ("none", "omp", "workqueue")),
    {"NUMBA_DISABLE_JIT": "1"}, {"NUMBA_CACHE_DIR": "/proc/none"}, {"NUMBA_CPU_NAME": "generic"},
    *({"FSFRAME_PLUGINS": v} for v in ("", "none", "../..", "\x1b[2J", ",,,", "x" * 9000)),
    *({"FSFRAME_BLOCK": v} for v in ("", "numpy", "*", "no-such")),
    *({"FSFRAME_STRICT": v} for v in ("1", "perhaps")), {"FSFRAME_TRACE": "1"},
    *({"FSFRAME_IMPORT_TIMEOUT": v} for v in ("0", "-1", "abc", "nan", "1e400", "0.0001")),
    *({"FSFRAME_TABLE_MEMORY": v} for v in ("0", "abc", "-1", "1KB", "nan", "9" * 99)),
    *({"FSFRAME_PREFER": v} for v in ("x", "infotheory", ",,")), {"FSFRAME_REMARKS": "odd"},
    {"FSFRAME_SKLEARN_ALLOW": "os.system"}, {"FSFRAME_KERNELS": "/etc"},
    {"LANG": "C", "LC_ALL": "C"}, {"LC_ALL": "no_SUCH"}, {"PYTHONIOENCODING": "ascii"},
    {"HOME": ""}, {"TZ": "../../etc/passwd"}, {"TERM": ""}, {"COLUMNS": "0"}, {"COLUMNS": "abc"},
    {"TMPDIR": "/nonexistent"}, {"PYTHONOPTIMIZE": "2"}, {"PYTHONHASHSEED": "7"}, {"NO_COLOR": "1"},
    {"PYTHONWARNINGS": "error"}, {"OPENBLAS_NUM_THREADS": "0"}, {"POLARS_MAX_THREADS": "abc"},
    {"HDF5_PLUGIN_PATH": "/tmp"}, {"HDF5_USE_FILE_LOCKING": "odd"}, {"PATH": ""},
)  # fmt: skip
REFUSED = {"FSFRAME_PLUGINS", "FSFRAME_BLOCK", "FSFRAME_STRICT", "FSFRAME_IMPORT_TIMEOUT",
           "FSFRAME_TABLE_MEMORY", "FSFRAME_PREFER", "NUMBA_DISABLE_JIT"}  # fmt: skip
"""Variables of which a value may be refused, or leave out the plugins that are needed."""


def environment(trial: Trial) -> None:
    found = prepared(trial)
    for more in ENVIRONMENTS:
        Path("run.h5").unlink(missing_ok=True)
        done = started(*CHAIN, "-o", "run.h5", env={**os.environ, **more})
        codes = {0, 1, 2, 3, 4} if REFUSED & set(more) else {0}
        same = done.returncode != 0 or digests(Path("run.h5")) == found
        trial.expect(
            done.returncode in codes and same and "Traceback" not in done.stderr,
            f"{str(more)[:99]}: {done.returncode} {done.stderr[-600:]}", f"exit {done.returncode}",
        )  # fmt: skip


def file_modes(trial: Trial) -> None:
    """Modes under umasks; links and folders planted at names that a command may open."""
    found = prepared(trial)
    for mask in (0o000, 0o002, 0o022, 0o027, 0o077):
        for words, out in (
            ([*CHAIN, "-o", "run.h5"], "run.h5"),
            (["report", "plain.h5", "-o", "p.html"], "p.html"),
            (["apply", "plain.h5", "on", "small.csv", "-o", "a.csv"], "a.csv"),
        ):  # fmt: skip
            Path(out).unlink(missing_ok=True)
            code, said = forked(words, trial.folder, partial(os.umask, mask))()
            mode = stat.S_IMODE(Path(out).stat().st_mode) if code == 0 else -1
            trial.expect(mode == 0o666 & ~mask, f"umask {mask:o}: {words}: {code} {mode:o} {said}")
    victim = Path("victim")
    for name in (
        "run.h5",
        "run.h5.units",
        "run.h5.units/lock",
        ".run.h5.partial",
        "run.h5.units/manifest.json",
    ):
        for kind in ("link to a file", "link to nothing", "folder", "link to a folder"):
            shutil.rmtree("run.h5.units", ignore_errors=True)
            for old in ("run.h5", "run.h5.units", ".run.h5.partial"):
                if os.path.islink(old) or os.path.isfile(old):
                    os.unlink(old)
                shutil.rmtree(old, ignore_errors=True)
            victim.write_text("mine")
            shutil.rmtree("place", ignore_errors=True)
            Path("place").mkdir()
            Path(name).parent.mkdir(exist_ok=True)
            if kind == "folder":
                Path(name).mkdir()
            else:
                targets = {
                    "link to a file": victim,
                    "link to nothing": Path("nothing"),
                    "link to a folder": Path("place"),
                }
                Path(name).symlink_to(targets[kind].absolute())
            code, said = forked([*CHAIN, "-o", "run.h5"], trial.folder)()
            # A link at the name of the output stands for its target, as for other programs.
            wrote = name != "run.h5" and Path("nothing").exists()
            kept = victim.read_text(errors="replace") == "mine" and not list(
                Path("place").iterdir()
            )
            right = code != 0 or digests(Path("run.h5")) == found
            trial.expect(code in (0, 2, 5) and kept and not wrote and right,
                         f"{kind} at {name}: {code} {said[-300:]}", f"exit {code}")  # fmt: skip
            Path("nothing").unlink(missing_ok=True)


def closing(trial: Trial) -> None:
    """An engine closed or killed while it is busy: no worker is left, within 30 s."""
    from fsframe.execution.engine import ProcessEngine

    draw = random.Random(4)
    for number in range(trial.times):
        engine = ProcessEngine(2)
        futures = [engine.submit(time.sleep, draw.uniform(0, 0.2)) for _ in range(40)]
        time.sleep(draw.uniform(0, 2.0))
        workers = [process.pid for process in engine.executor._processes.values()]
        began = time.monotonic()
        ends = [engine.close] if number % 2 else [engine.kill, engine.close]
        threads = [threading.Thread(target=end, daemon=True) for end in ends]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        time.sleep(0.2)
        states = {
            pid: Path(f"/proc/{pid}/stat") for pid in workers if Path(f"/proc/{pid}").exists()
        }
        left = [
            pid
            for pid, state in states.items()
            if state.read_text().rpartition(")")[2].split()[0] not in "ZX"
        ]
        trial.expect(not left and time.monotonic() - began < 30, f"{number}: {left} {len(futures)}")


def own_tests(trial: Trial, *files: str) -> None:
    """Trials that the tests make already; each passed test is an attempt as promised."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rA", *files],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    for line in done.stdout.splitlines():
        word, _, what = line.partition(" ")
        # Captured logs have lines that begin with ERROR, too.
        if word in ("PASSED", "FAILED", "ERROR") and what.startswith("tests/"):
            trial.expect(word == "PASSED", what, word.lower())


TRIALS = {
    "kills": (
        partial(kills, "--command chain --command evaluate --command stability --command resume"),
        100, "SIGKILL to the command, its group or one of 2 workers; then the same command again",
    ),
    "kills-study": (partial(kills, "--command study"), 50, "the same of `study`"),
    "kills-workers": (
        partial(kills, "--command chain --command study --target worker"),
        50, "SIGKILL to one of 2 workers only",
    ),
    "one-output": (one_output, 60, "two or three of chain, report and apply that write one file"),
    "locks": (locks, 0, "flock replaced: seven errors, and one that grants everybody everything; "
              "one to three commands at once"),
    "clock": (clock, 0, "CLOCK_REALTIME shifted by a preloaded library, at the start (up to 57 "
              "years back) and while the command runs"),
    "full-disk": (full_disk, 0, "a mounted tmpfs of 12 to 500 kB; six commands"),
    "read-only": (read_only, 0, "home and cache read-only, absent, devices or relative, as nobody"),
    "environment": (environment, 0, "one odd variable each: FSFRAME_*, NUMBA_*, OMP_*, LANG …"),
    "file-modes": (file_modes, 0, "five umasks; links and folders at names that a run may open"),
    "closing": (closing, 20, "an engine of two workers closed or killed under 40 tasks"),
    "cluster": (
        lambda trial: own_tests(trial, "tests/execution/test_engines.py",
                                "tests/execution/test_cluster.py"),
        0, "tests with a real scheduler and workers: other versions, workers and scheduler killed",
    ),
    "plugins": (
        lambda trial: own_tests(trial, "tests/faults/test_unruly_plugins.py",
                                "tests/plugins/test_isolation.py"),
        0, "tests with plugins that exit, raise, hang, print, move, and import slowly",
    ),
    "kernels": (
        lambda trial: own_tests(trial, "tests/kernels/test_kernel_cache.py"),
        0, "tests with forged, damaged and foreign kernels",
    ),
}  # fmt: skip
