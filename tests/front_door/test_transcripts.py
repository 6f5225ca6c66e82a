"""The first commands of five visitors, with what they print: kept as text and compared.

`FSFRAME_TRANSCRIPTS=write python -m pytest tests/front_door/test_transcripts.py` writes them again;
read the difference as the visitor would.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.command_line import Done
from tests.front_door.builder import patients, write

Call = Callable[..., Done]
FOLDER = Path(__file__).parent / "transcripts"
EXAMPLES = Path(__file__).parents[2] / "examples"
FEW = "npfs:n=10,permutations=19,alpha=0.1"
VISITORS = {
    "biologist": [
        "fsframe inspect patients.csv",
        "fsframe chain mim on patients.csv --no-out",
        "fsframe chain mim:top=3 on patients.csv --label Outcome"
        " --drop PatientID,Date,Batch,Comments --categorical 'Sex,ER status' --no-out",
        "fsframe chain mim:top=3 on patient.csv",
        "fsframe chain mimm:top=3 on patients.csv",
        "fsframe chain mim:tpo=3 on patients.csv --label Outcome",
        "fsframe chain anova-f:top=3 on patients.csv --label Outcome --drop"
        " PatientID,Date,Batch,Comments --categorical 'Sex,ER status' --no-out --dry-run",
        "fsframe chain --label Outcome mim:top=3 on patients.csv",
        "fsframe report patients.h5",
        "fsframe methods mimm",
    ],
    "data scientist": [
        "fsframe chain mim:top=3 knn on parkinsons.csv --no-out",
        "fsframe chain jmi:top=3 on parkinsons.csv --target class --no-out",
        "fsframe evaluate mim:top=3 knn on parkinsons.csv --folds 3 --repeats 1 --no-out",
        "fsframe chain mim:top=3 on parkinsons.csv --label Class --no-out",
        "fsframe chain mim:top=3 knn on parkinsons.csv --out model.h5 --quiet",
        "fsframe show model.h5",
        "fsframe predict model.h5 on parkinsons.csv -o predicted.csv",
        "fsframe apply model.h5 on parkinsons.csv -o reduced.csv",
        "fsframe chain mim:top=300 on parkinsons.csv --no-out",
        "fsframe evaluate mim:top=3 on parkinsons.csv --no-out",
    ],
    "reviewer": [
        f"fsframe chain mim:top=5 {FEW} on parkinsons_subjects.csv --groups subject --out run.h5",
        "fsframe show run.h5",
        "fsframe verify run.h5",
        "fsframe table run.h5",
        "fsframe audit run.h5",
        "fsframe report run.h5 --out report.html",
        "fsframe show report.html",
        "fsframe table run.h5 --pairs",
        "fsframe plot tests run.h5 -o tests.svg",
        "fsframe resume run.h5",
    ],
    "comparer of methods": [
        "fsframe methods anova-f",
        "fsframe chain {mim,anova-f}:top=3 on parkinsons.csv --no-out --dry-run",
        "fsframe evaluate mim:top={2,4} knn on parkinsons.csv --folds 2 --repeats 1 --no-out",
        "fsframe compare 'mim:top=3 knn' 'anova-f:top=3 knn' on parkinsons.csv --folds 3"
        " --repeats 1 --out both",
        "fsframe stability mim:top=3 on parkinsons.csv --n 10 --no-out",
        "fsframe compare 'mim:top=3' on parkinsons.csv",
        "fsframe evaluate mim:top=3 knn on parkinsons.csv --metric aucc --no-out",
        "fsframe chain mim:top=3 on parkinsons.csv --seed 1 --dry-run --no-out",
        "fsframe methods cmimm",
        "fsframe stability mim:top=3 on parkinsons.csv --metric nogueiro --no-out",
    ],
    "administrator": [
        "fsframe --version",
        "fsframe plugins",
        "fsframe chain mim:top=3 on parkinsons.csv --memory 1 --no-out",
        "fsframe chain mim:top=3 on parkinsons.csv --out /proc/none/run.h5",
        "fsframe chain mim:top=3 on parkinsons.csv --out run.h5 --quiet",
        "fsframe chain mim:top=3 on parkinsons.csv --out run.h5 --seed 2",
        "fsframe verify parkinsons.csv",
        "fsframe chain mim:top=3 on . --no-out",
        "fsframe verify run.h5",
        "fsframe resume nothing.h5",
    ],
}


def plain(text: str, here: Path) -> str:
    """Without what differs between machines and days."""
    text = text.replace(str(here), "FOLDER")
    text = re.sub(r"fsframe: compiling numerical kernels.*\n", "", text)
    text = re.sub(r"\b[0-9]+(\.[0-9]+)? (m?s|min)\b", "SECONDS", text)
    text = re.sub(r"(seconds per split +)[0-9.]+", r"\1SECONDS", text)
    text = re.sub(r"(?m)^(command +fsframe).*", r"\1 …", text)
    text = re.sub(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.+Z]*", "TIME", text)
    # Digits of long numbers differ in the last between processors.
    text = re.sub(r"(?<=[0-9]\.)([0-9]{6})[0-9]+", r"\1…", text)
    text = re.sub(r"\b[0-9a-f]{16,64}\b", "DIGEST", text)
    text = re.sub(r"\b[0-9]+\.[0-9]+\.[0-9]+[.0-9a-z+]*", "VERSION", text)
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


@pytest.mark.parametrize("visitor", VISITORS)
def test_the_first_commands_print_what_they_printed(call, here, visitor, undrawn):
    write(here / "patients.csv", patients())
    for name in ("parkinsons.csv", "parkinsons_subjects.csv"):
        shutil.copy(EXAMPLES / name, here / name)
    parts = []
    for command in VISITORS[visitor]:
        done = call(*shlex.split(command)[1:])
        ending = f"[exit code {done.code}]\n" if done.code else ""
        parts.append(f"$ {command}\n{plain(done.out + done.err, here)}{ending}")
    result = "\n".join(parts)
    stored = FOLDER / f"{visitor.replace(' ', '-')}.txt"
    if os.environ.get("FSFRAME_TRANSCRIPTS") == "write":
        stored.write_text(result, encoding="utf-8")
    assert result == stored.read_text(encoding="utf-8")
