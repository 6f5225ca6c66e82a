"""Lines of JSON that the benchmarks of many rows add to their result files."""

from __future__ import annotations

import json
import os
import resource
from pathlib import Path
from typing import Any


def add_line(line: dict[str, Any], out: Path) -> None:
    """Print a line and add it to a file, with the peak memory of this process and the load."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    whole = {**line, "peak_gb": round(peak, 2), "load": round(os.getloadavg()[0], 1)}
    text = json.dumps(whole, ensure_ascii=False)
    print(text, flush=True)
    with out.open("a", encoding="utf-8") as file:
        file.write(text + "\n")
