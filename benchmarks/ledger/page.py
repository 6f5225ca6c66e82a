"""Write docs/ledger.md, its figures, and designs.md from the rows of the ledger.

python benchmarks/ledger/page.py [--rows FILE] [--out FILE] [--designs FILE] [--summary]
"""

from __future__ import annotations

import argparse
import csv
from collections import defaultdict
from pathlib import Path

import attrs
import numpy as np
from contenders import CONTENDERS, Contender
from designs import DESIGNS, Design
from run import OUT

PAGE = Path(__file__).parents[2] / "docs" / "ledger.md"
TABLES = Path(__file__).parent / "designs.md"
Rows = list[dict[str, str]]
FEW = 5
"""With fewer tables no promise is judged, and no contender ranked."""

PROMISES = {
    "share": "share of the false columns that are kept",
    "any": "share of tables in which a false column is kept",
    "fdr": "share of false columns among the kept",
    "count": "number of false columns kept",
}


@attrs.frozen
class Mean:
    """A mean with its standard error (NaN of one table) and the number of tables."""

    value: float
    error: float
    tables: int

    @classmethod
    def of(cls, values: list[float]) -> Mean:
        if not values:
            return cls(np.nan, np.nan, 0)
        error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
        return cls(float(np.mean(values)), float(error), len(values))

    def __str__(self) -> str:
        if not self.tables:
            return "—"
        error = "" if np.isnan(self.error) else f" ({self.error:.2f})"
        return f"{self.value:.2f}{error}"

    def short(self) -> str:
        """As in a narrow cell: the error joined by ±, nothing without tables."""
        return str(self).replace(" (", "±").rstrip(")") if self.tables else ""


def error_of(contender: Contender, design: Design, rows: Rows, signal: bool) -> Mean:
    """What the contender promises to bound, as measured."""
    kind = contender.false_if_not
    others = int((~design.mask(kind, signal)).sum())
    found = []
    for row in rows:
        false, kept = int(row[f"false_{kind}"]), len(row["kept"].split())
        found.append(
            {
                "any": float(false > 0),
                "fdr": false / max(1, kept),
                "count": float(false),
                "share": false / max(1, others),
            }[contender.promise]
        )
    return Mean.of(found)


def judged(contender: Contender, label: str) -> bool:
    """Whether the contender promises something for tables with this label."""
    made = bool(contender.promise) and contender.promised
    return made and not (label == "signal" and contender.only_null)


def missed(contender: Contender, error: Mean) -> bool:
    """Whether a promise is missed by more than two standard errors, on at least `FEW` tables."""
    if error.tables < FEW:
        return False
    spread = error.error
    if contender.promise in ("any", "fdr"):
        # The error of tables of which few or all fail is not known from them.
        spread = max(spread, np.sqrt(contender.level * (1 - contender.level) / error.tables))
    return error.value - contender.level > 2 * spread


def stability(rows: Rows, columns: int) -> float:
    """Nogueira's φ of the columns kept in different tables of one design."""
    kept = np.zeros((len(rows), columns))
    for place, row in enumerate(rows):
        kept[place, [int(j) for j in row["kept"].split()]] = 1.0
    share = kept.sum(axis=1).mean() / columns
    if len(rows) < 2 or share in (0.0, 1.0):
        return float("nan")
    return float(1 - kept.var(axis=0, ddof=1).mean() / (share * (1 - share)))


class Ledger:
    """The rows by cell."""

    def __init__(self, rows: Rows) -> None:
        self.cells: dict[tuple[str, str, str], Rows] = defaultdict(list)
        self.refused: dict[tuple[str, str], str] = {}
        for row in rows:
            if row["note"].startswith("refused"):
                self.refused[row["design"], row["contender"]] = row["note"]
            else:
                self.cells[row["design"], row["label"], row["contender"]].append(row)
        self.versions = sorted({row["version"] for row in rows})
        self.commits = sorted({row["commit"] for row in rows})

    def of(self, design: Design, label: str, contender: Contender) -> Rows:
        return self.cells.get((design.name, label, contender.name), [])

    def mean(self, design: Design, contender: Contender, name: str) -> Mean:
        rows = self.of(design, "signal", contender)
        return Mean.of([float(row[name]) for row in rows if row[name]])

    def failures(self) -> list[tuple[Design, str, Contender, Mean]]:
        """Cells in which a promise is missed."""
        found = []
        for design in DESIGNS:
            for label in ("null", "signal"):
                for contender in CONTENDERS:
                    if not judged(contender, label):
                        continue
                    rows = self.of(design, label, contender)
                    error = error_of(contender, design, rows, label == "signal")
                    if missed(contender, error):
                        found.append((design, label, contender, error))
        return found

    def ranked(self, design: Design, name: str) -> list[tuple[Mean, Contender]]:
        """Contenders by a mean of F1, the best first."""
        found = [(self.mean(design, c, name), c) for c in CONTENDERS]
        return sorted((one for one in found if one[0].tables >= FEW), key=lambda one: -one[0].value)

    def ours_first(self, design: Design) -> str:
        """ "first", "within one standard error" or "behind", by F1 against relevant columns."""
        ranked = self.ranked(design, "f1_relevant")
        if not ranked:
            return ""
        best, first = ranked[0]
        if first.package == "fsframe":
            return "first"
        for mean, contender in ranked:
            if contender.package == "fsframe":
                spread = np.nan_to_num(np.hypot(best.error, mean.error))
                near = best.value - mean.value <= spread
                return "within one standard error" if near else "behind"
        return "behind"


def red(text: str) -> str:
    return f'<span style="color:#c00">**{text}**</span>'


def design_section(ledger: Ledger, design: Design) -> list[str]:
    """The table of one design."""
    lines = [
        f"## {design.title}",
        "",
        f"`{design.name}`: {design.rows} rows, {design.columns} columns; relevant "
        f"{len(design.relevant)}, causal {len(design.causal)}.",
        "",
        "|contender|no signal|signal|F1 relevant|F1 causal|held out|φ|s|tables|",
        "|-|-|-|-|-|-|-|-|-|",
    ]
    for contender in CONTENDERS:
        null, signal = (ledger.of(design, label, contender) for label in ("null", "signal"))
        if not (null or signal):
            continue
        errors = ["", ""]
        if contender.promise:
            for place, (rows, label) in enumerate(((null, "null"), (signal, "signal"))):
                error = error_of(contender, design, rows, label == "signal")
                broken = judged(contender, label) and missed(contender, error)
                errors[place] = red(error.short()) if broken else error.short()
        seconds = Mean.of([float(row["seconds"]) for row in signal or null]).value
        phi = stability(signal, design.columns)
        f1, causal, held_out = (
            ledger.mean(design, contender, name)
            for name in ("f1_relevant", "f1_causal", "held_out")
        )
        cells = (
            contender.name,
            *errors,
            f1.short(),
            "" if causal.value == f1.value else causal.short(),
            held_out.short(),
            "" if np.isnan(phi) else f"{phi:.2f}",
            f"{seconds:.2g}",
            f"{len(null)}+{len(signal)}",
        )
        lines.append(f"|{'|'.join(cells)}|")
    refused = [name for own, name in ledger.refused if own == design.name]
    if refused:
        lines += ["", f"Refuse such a table, by name: {', '.join(sorted(refused))}."]
    return [*lines, ""]


def summary(ledger: Ledger) -> list[str]:
    """Five lines."""
    places = [place for d in DESIGNS if (place := ledger.ours_first(d))]
    failures = ledger.failures()
    ours = [one for one in failures if one[2].package == "fsframe"]
    made = sum(
        len(ledger.of(design, label, contender)) >= FEW
        for design in DESIGNS for label in ("null", "signal") for contender in CONTENDERS
        if contender.package == "fsframe" and judged(contender, label)
    )  # fmt: skip
    rows = sum(map(len, ledger.cells.values()))
    behind = [d.name for d in DESIGNS if ledger.ours_first(d) == "behind"]
    return [
        f"* {rows} results of {len(DESIGNS)} designs, in {len(ledger.cells)} cells.",
        f"* By F1 against relevant columns (of contenders with {FEW} tables or more) a chain of "
        f"fsframe is first in {places.count('first')} "
        f"of {len(places)} designs and within one standard error of the first in "
        f"{places.count('within one standard error')} more"
        + (f"; behind in {', '.join(behind)}." if behind else "."),
        f"* Of {made} promises of fsframe that {FEW} or more tables judge, {len(ours)} are missed "
        "by more than two standard errors. Of promises kept exactly, two in a hundred are missed "
        "by chance.",
        f"* Of other packages' promises {len(failures) - len(ours)} are missed.",
        f"* Cells have few tables (median {int(np.median([len(c) for c in ledger.cells.values()]))}"
        f"){_absent(ledger)}: this is a first look, not a verdict.",
    ]


def _absent(ledger: Ledger) -> str:
    seen = {name for _, _, name in ledger.cells}
    names = [c.name for c in CONTENDERS if c.name not in seen]
    return f", and not yet measured are {', '.join(names)}" if names else ""


def missed_table(ledger: Ledger) -> list[str]:
    """The promises of fsframe that are missed, a row each."""
    ours = [one for one in ledger.failures() if one[2].package == "fsframe"]
    if not ours:
        return []
    lines = [
        "**Promises missed** by more than two standard errors:",
        "",
        "|chain|design|label|measured|promised|",
        "|-|-|-|-|-|",
    ]
    for design, label, contender, error in sorted(ours, key=lambda one: CONTENDERS.index(one[2])):
        told = "no signal" if label == "null" else "signal"
        lines.append(
            f"|{contender.name}|`{design.name}`|{told}|{red(error.short())}|{contender.level:g}|"
        )
    return [*lines, ""]


def unpromised(ledger: Ledger) -> list[str]:
    """A sentence on methods that name a level and promise none over tables, without a signal."""
    shares: dict[str, list[float]] = defaultdict(list)
    for contender in (c for c in CONTENDERS if not c.promised):
        for design in DESIGNS:
            error = error_of(contender, design, ledger.of(design, "null", contender), False)
            if error.tables >= FEW:
                shares[contender.name].append(error.value)
    if not shares:
        return []
    named = "; ".join(
        f"`{name}` {min(of):.2f} to {max(of):.2f} (median {np.median(of):.2f})"
        for name, of in shares.items()
    )
    return [
        "The published test of Boruta at 0.05 is not judged, because it promises no level over "
        "tables. Shares of the tables without a signal in which it keeps a column, over designs: "
        f"{named}.",
        "",
    ]


def promises() -> list[str]:
    """One line for each kind of promise, with the contenders that make it."""
    lines = []
    for kind, meaning in PROMISES.items():
        own = [c for c in CONTENDERS if c.promise == kind and c.promised]
        levels = sorted({c.level for c in own})
        bounds = (
            f"≤ {v:g}: {', '.join(f'`{c.name}`' for c in own if c.level == v)}" for v in levels
        )
        if own:
            lines.append(f"* {meaning}, {'; '.join(bounds)}.")
    return lines


def page(ledger: Ledger) -> str:
    """The page."""
    import proposals  # It takes what this module offers.

    lines = [
        "# The ledger: promises and answers, measured",
        "",
        "*Which stage keeps what it promises, and which finds the columns that matter?*",
        "",
        "Tables are drawn from designs whose relevant columns are known, with and without a "
        "signal. The contenders, every stage that promises an error rate and methods of other "
        "packages, run on the same tables. "
        "[A table for every design](../benchmarks/ledger/designs.md) also says what each contender "
        "promises. `python benchmarks/ledger/run.py` computes the results, "
        "`python benchmarks/ledger/page.py` writes both pages.",
        "",
        "A column is **relevant** if the label depends on it, alone or with others, and **causal** "
        "if the label is made from it. Copies of a cause are relevant, not causal. **F1** is the "
        "harmonic mean of the share of true columns found and the share of found columns that are "
        "true, with its standard error over tables.",
        "",
        "## Summary",
        "",
        *summary(ledger),
        "",
        "![F1 against relevant columns](figures/ledger-f1.svg)",
        "",
        "![measured error over promise, without a signal](figures/ledger-errors.svg)",
        "",
        *missed_table(ledger),
        *unpromised(ledger),
        "|design|best by F1 relevant|best of fsframe|fsframe is|",
        "|-|-|-|-|",
    ]
    for design in DESIGNS:
        ranked = ledger.ranked(design, "f1_relevant")
        if not ranked:
            continue
        own = [(mean, c) for mean, c in ranked if c.package == "fsframe"]
        lines.append(
            f"|`{design.name}`|{ranked[0][1].name} {ranked[0][0].short()}|"
            f"{f'{own[0][1].name} {own[0][0].short()}' if own else ''}|"
            f"{ledger.ours_first(design)}|"
        )
    return "\n".join([*lines, "", *proposals.section(ledger)]).rstrip() + "\n"


def designs_page(ledger: Ledger) -> str:
    """A table for every design."""
    lines = [
        "# The ledger: every design",
        "",
        "The tables behind [promises and answers, measured](../../docs/ledger.md), which says what "
        "relevant, causal and F1 mean.",
        "",
        "What the contenders promise (those without a line promise nothing):",
        "",
        *promises(),
        "",
        "* **no signal**, **signal**: what the stage promises to bound, as measured, ± its "
        "standard error; "
        + red("red")
        + f" if it exceeds the promise by more than two standard errors, on at least {FEW} tables. "
        "A column is false if it is not relevant; for conditional methods (`lasso`, knockoffs, the "
        "package ipss) if it is not causal; for `interactions` if it does not interact. "
        "`npfs` promises something only for labels that depend on no column: its error with a "
        "signal is shown, not judged.",
        "* **F1 causal**: blank where equal to F1 relevant. "
        "**held out**: balanced accuracy (numeric targets: R²) of a support vector machine with a "
        "radial kernel and its defaults, on 600 unseen rows. **φ**: Nogueira's stability of the "
        "kept columns over the tables of a design. **s**: processor seconds. **tables**: without "
        "and with a signal.",
        "* Other packages know no groups, covariates or times, and get only the columns, as from "
        "their users. Stabl is absent, since it is not in the package index.",
        "* SelectKBest and ReliefF keep ten columns, the true number in two designs.",
        "* `boruta` and BorutaPy have 50 trees and at most 30 rounds (39 with best-shadow); the "
        "published test promises no level over tables, and its error is shown, not judged.",
        "* Above 200 columns `mim:top=100` screens before a base of `npfs` within each resample, "
        "and `npfs` uses its corrected test.",
        f"* Versions: {', '.join(ledger.versions)}. Commits: {', '.join(ledger.commits)}.",
        "",
    ]
    for design in DESIGNS:
        lines += design_section(ledger, design)
    return "\n".join(lines).rstrip() + "\n"


def figures(ledger: Ledger, folder: Path) -> None:
    """Two pictures, F1 and error over promise; cells of few tables are blank."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.rcParams["svg.hashsalt"] = "ledger"
    designs, names = [d.name for d in DESIGNS], [c.name for c in CONTENDERS]
    f1 = np.full((len(names), len(designs)), np.nan)
    ratio = np.full_like(f1, np.nan)
    for i, contender in enumerate(CONTENDERS):
        for j, design in enumerate(DESIGNS):
            mean = ledger.mean(design, contender, "f1_relevant")
            f1[i, j] = mean.value if mean.tables >= FEW else np.nan
            rows = ledger.of(design, "null", contender)
            if contender.promise and len(rows) >= FEW:
                error = error_of(contender, design, rows, False)
                ratio[i, j] = error.value / contender.level
    for name, values, title, top, colours in (
        ("f1", f1, f"F1 against relevant columns, {FEW} tables or more", 1.0, "viridis"),
        (
            "errors",
            ratio,
            f"error over promise, no signal, {FEW} tables or more (2 and above: 2)",
            2.0,
            "coolwarm",
        ),
    ):
        figure = Figure(figsize=(9, 8), layout="constrained")
        axes = figure.subplots()
        image = axes.imshow(np.minimum(values, top), vmin=0, vmax=top, cmap=colours, aspect="auto")
        axes.set_xticks(range(len(designs)), designs, rotation=60, ha="right")
        axes.set_yticks(range(len(names)), names)
        axes.set_title(title)
        figure.colorbar(image, ax=axes, shrink=0.6)
        figure.savefig(folder / f"ledger-{name}.svg", metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=Path, default=OUT)
    parser.add_argument("--out", type=Path, default=PAGE)
    parser.add_argument("--designs", type=Path, default=TABLES)
    parser.add_argument("--summary", action="store_true", help="print the summary only")
    given = parser.parse_args()
    with given.rows.open() as file:
        ledger = Ledger(list(csv.DictReader(file)))
    if given.summary:
        print("\n".join(summary(ledger)))
        return
    (given.out.parent / "figures").mkdir(exist_ok=True)
    figures(ledger, given.out.parent / "figures")
    given.out.write_text(page(ledger))
    given.designs.write_text(designs_page(ledger))
    print(f"wrote {given.out} and {given.designs}")


if __name__ == "__main__":
    main()
