"""The script on docs/executors.md runs as it stands."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_script_on_the_page_runs(tmp_path):
    page = (ROOT / "docs" / "executors.md").read_text(encoding="utf-8")
    [script] = re.findall(r"```python\n(.*?)```", page, re.S)
    (tmp_path / "script.py").write_text(script)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "script.py")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
