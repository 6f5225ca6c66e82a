"""Kills, locks, clocks, disks, folders, environments and plugins that are not as they should be."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial

from trials import ROOT, Trial


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
    for number in range(found["trials"]):
        trial.expect(number >= bad, (found["examples"] + ["…"] * bad)[number] if bad else "")
    trial.outcomes |= {"stopped": found["stopped"], "parts taken over": found["kept"]}


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
}  # fmt: skip
