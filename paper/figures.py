"""Writes the figures of paper.md from files of results; `docs/make_numbers.py` does so too.

python paper/figures.py [--check]
"""

from __future__ import annotations

import csv
import re
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAPER = ROOT / "paper" / "paper.md"
RESULTS = ROOT / "benchmarks"

_BLOCK = re.compile(r"(<!-- figures: python paper/figures.py -->\n).*?(<!-- end -->)", re.DOTALL)
_SUMMARY = (
    r"\* (?P<rows>\d+) results of (?P<designs>\d+) designs",
    r"fsframe is first in (?P<first>\d+) of \d+ designs and within one standard error of the first "
    r"in (?P<near>\d+) more",
    r"\* Of (?P<judged>\d+) promises of fsframe that 5 or more tables judge, (?P<missed>\d+) are",
    r"\* Of other packages' promises (?P<others>\d+) are missed",
)


def rows(name: str) -> list[dict[str, str]]:
    """The rows of a CSV file in `benchmarks`."""
    with (RESULTS / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def ledger() -> str:
    """Of the ledger: who finds the relevant columns, and which promises were missed."""
    script = RESULTS / "ledger" / "page.py"
    done = subprocess.run(
        [sys.executable, script, "--summary"], capture_output=True, text=True, check=True
    )
    found: dict[str, str] = {}
    for pattern in _SUMMARY:
        match = re.search(pattern, done.stdout)
        if match is None:
            raise SystemExit(f"{script.name} --summary does not say {pattern!r}")
        found |= match.groupdict()
    return (
        "A ledger (`benchmarks/ledger/results/ledger.csv`, {rows} results) runs stages of "
        "`fsframe` and of other packages on the same tables of {designs} designs whose relevant "
        "columns are known. By F1 a chain of `fsframe` is first in {first} designs and within one "
        "standard error of the first in {near} more. Of {judged} of its promises about errors "
        "that at least five tables judge, {missed} are missed by more than two standard errors, "
        "as are {others} promises of other packages; most cells have few tables yet."
    ).format(**found)


def knockoffs() -> str:
    """Of knockoffs over the lasso: the worst share of false features, and the power."""
    measured = rows("resampling/results/knockoffs_fdr.csv")
    plain = [row for row in measured if row["chain"].endswith("copies=1")]
    worst = max(plain, key=lambda row: float(row["fdr"]))
    least, most = min(float(row["fdr"]) for row in plain), float(worst["fdr"])
    powers = [float(row["power"]) for row in plain if row["power"]]
    return (
        f"Knockoffs of the lasso that promise at most {worst['promised']} false features among the "
        f"kept have between {least:.2f} and {most:.2f} "
        f"in {len(plain)} designs, with power from {min(powers):.2f} to {max(powers):.2f} "
        "(`benchmarks/resampling/results/knockoffs_fdr.csv`)."
    )


def published() -> str:
    """Of the figures printed in the papers on margin methods: how many were obtained again."""
    text = (RESULTS / "published" / "results" / "margin.md").read_text(encoding="utf-8")
    said = re.search(
        r"Of (\d+) figures \(variants apart\) (\d+) are equal, (\d+) above and (\d+) below; of "
        r"(\d+) the table cannot tell",
        text,
    )
    if said is None:
        raise SystemExit("benchmarks/published/results/margin.md has no summary")
    figures, equal, above, below, open_ = said.groups()
    return (
        f"Of {figures} accuracies printed in papers on margin methods, ten-fold cross-validation "
        f"gives {equal} again, {above} are higher and {below} lower here, and {open_} cannot be "
        "told apart (`benchmarks/published/results/margin.csv`)."
    )


def boruta() -> str:
    """Of Boruta and its Python port: processor time."""
    text = (RESULTS / "boruta" / "results" / "overlap.txt").read_text(encoding="utf-8")
    ratios = re.findall(r"BorutaPy, default .*processor time × ([\d.]+)", text)
    return (
        f"Against BorutaPy on {len(ratios)} tables, `boruta` is slower: the port takes "
        f"{min(ratios)} to {max(ratios)} of its processor time (`benchmarks/boruta/results/"
        "overlap.txt`)."
    )


def trust() -> str:
    """Of equal results, trials and faults put into the code."""
    equal = rows("trust/results/seed_equality.csv")
    same = sum(row["equal"].split(" of ")[0] == row["equal"].split(" of ")[1] for row in equal)
    made = {row["trial"]: row for row in rows("trust/results/trials.csv")}
    kills = [row for name, row in made.items() if name.startswith("kills")]
    mutants = rows("trust/results/mutants.csv")
    killed = sum(row["ended"] != "survived" for row in mutants)
    since = sum(row["ended"].endswith("written since") for row in mutants)
    return (
        f"Results are the same bits with 1, 2 and 4 threads and up to three workers in {same} of "
        f"{len(equal)} chains over all methods (`seed_equality.csv`); "
        f"{sum(int(row['as promised']) for row in kills)} of "
        f"{sum(int(row['made']) for row in kills)} killed runs were resumed or left as promised "
        f"(`trials.csv`); of {len(mutants)} small faults put into the code tests found "
        f"{killed - since} when they were drawn, and find {killed} since (`mutants.csv`, all in "
        "`benchmarks/trust/results`)."
    )


def figures() -> str:
    """What was measured, one item each."""
    told = [each() for each in (ledger, knockoffs, published, boruta, trust)]
    wrapped = [
        textwrap.fill(text, 98, initial_indent="* ", subsequent_indent="  ", break_on_hyphens=False)
        for text in told
    ]
    return "\n".join(wrapped) + "\n"


def paper() -> str:
    """The paper with the figures of today's files.

    Raises
    ------
    SystemExit
        If it has no place for them.
    """
    text = PAPER.read_text(encoding="utf-8")
    made, places = _BLOCK.subn(lambda found: f"{found[1]}\n{figures()}\n{found[2]}", text)
    if places != 1:
        raise SystemExit("paper.md has no place for figures")
    return made


def main() -> int:
    """Write the paper, or compare."""
    text = paper()
    if "--check" in sys.argv[1:]:
        return int(text != PAPER.read_text(encoding="utf-8"))
    PAPER.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
