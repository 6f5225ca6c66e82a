"""Figures on pages about error control are those of the measured CSV files."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "methods" / "error-control.md").read_text(encoding="utf-8")
FLAT = " ".join(TEXT.replace("**", "").split())


def rows(name: str, folder: str = "resampling") -> list[dict[str, str]]:
    path = ROOT / "benchmarks" / folder / "results" / name
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def kept(chain: str, table: str) -> str:
    """What a chain that ends so keeps of noise, with its error, as the page writes it."""
    found = [r for r in rows("halves_on_noise.csv") if r["chain"].endswith(chain)]
    (row,) = [r for r in found if r["table"] == table]
    return f"{row['kept']} ± {row['se']}"


def cpss(bound: str, table: str) -> str:
    return kept(f"cpss:bound={bound},pairs=25".replace("bound=auto,", ""), table)


def test_false_features_of_cpss_are_those_measured() -> None:
    assert (
        f"auto {cpss('auto', 'independent')} (independent) and {cpss('auto', 'copies')} (copies), "
        f"worst-case {cpss('worst-case', 'independent')} and {cpss('worst-case', 'copies')}, "
        f"unimodal {cpss('unimodal', 'independent')} and "
        f"{cpss('unimodal', 'copies')}, r-concave {cpss('r-concave', 'independent')} and "
        f"{cpss('r-concave', 'copies')}." in FLAT
    )


def test_false_features_of_ipss_are_those_measured() -> None:
    base = "correlation:top=20,threshold=1.0 ipss:pairs=25,false_selections="
    whole, half, tenth = (kept(f"{base}{v}", "independent") for v in ("1.0", "0.5", "0.1"))
    lasso = kept("lasso:top=10 ipss:pairs=25,false_selections=1.0", "independent")
    assert f"{whole} of 1, {half} of 0.5 and {tenth} of 0.1" in FLAT
    assert f"lasso {lasso} of 1" in FLAT


def test_the_table_of_knockoffs_is_the_one_measured() -> None:
    shown = re.findall(r"^\| (\d+) \| (ar \S+) \| (\S+) ± (\S+) \| (\S+) \|$", TEXT, re.MULTILINE)
    measured = [
        (row["chain"].rpartition("copies=")[2], row["design"], row["fdr"], row["se"], row["power"])
        for row in rows("knockoffs_fdr.csv")
        if row["design"].startswith("ar ")
    ]
    assert shown == measured and len(shown) == 4


def test_the_example_of_ipss_is_the_one_measured() -> None:
    found = [r["here"] for r in rows("published_examples.csv") if r["method"] == "ipss"]
    false, true = (text.removesuffix(" (24 tables)") for text in found)
    assert f"24 tables) keeps {false} false and {true} true." in FLAT


def on_designs(chain: str, design: str, label: str = "null", column: str = "false") -> str:
    """A figure of a chain on a design of the ledger."""
    (row,) = [
        r
        for r in rows("halves_on_designs.csv")
        if (r["chain"], r["design"], r["label"]) == (chain, design, label)
    ]
    error = {"false": "false_se", "share_false": "share_se"}[column]
    return f"{row[column]} ± {row[error]}"


def found(bound: str) -> str:
    """How many relevant features `cpss` finds on wide tables."""
    chain = f"relieff:top=5 cpss:bound={bound},pairs=15"
    (row,) = [
        r
        for r in rows("halves_on_designs.csv")
        if (r["chain"], r["design"], r["label"]) == (chain, "60x1000", "signal")
    ]
    return row["true"]


def test_figures_on_designs_of_the_ledger_are_those_measured() -> None:
    top, permuted = "relieff:top=5 cpss:bound=", "permutation,pairs=15"
    wide, rare = "60x1000", "95-5"
    pieces = [
        f"`relieff` {on_designs(top + 'r-concave', wide)}, "
        f"`anova-f` {on_designs('anova-f:top=5 cpss:bound=r-concave', wide)}, "
        f"unimodal {on_designs(top + 'unimodal', wide)}.",
        f"`relieff` {on_designs(top + 'r-concave', rare)} (classes of 95 and 5 %)",
        f"`relieff` {on_designs(top + 'auto', wide)} (60 × 1000) and "
        f"{on_designs(top + 'auto', rare)} (95 and 5 %), "
        f"`anova-f` {on_designs('anova-f:top=5 cpss:bound=auto', wide)} (60 × 1000)",
        f"finds {found('auto')}, `unimodal` {found('unimodal')}, `r-concave` {found('r-concave')}.",
        *(
            f"{on_designs(f'{base} ipss:bound=published', wide, 'null', 'share_false')} (`{base}`)"
            for base in ("relieff", "anova-f")
        ),
        " and ".join(
            on_designs(f"{base} ipss:bound=published", wide, "signal", "share_false")
            for base in ("relieff", "anova-f")
        ),
        f"keeps {on_designs(top + permuted, wide)} (60 × 1000), {on_designs(top + permuted, rare)} "
        f"(95 and 5 %), {on_designs(top + permuted, 'blocks')} (`blocks`), of 0.1 `ipss` "
        f"{on_designs(f'relieff ipss:bound={permuted}', wide)}.",
    ]
    for piece in pieces:
        assert piece in FLAT


def rare_rows() -> Iterator[str]:
    """The table of chains on rare values, as the page of `boruta` writes it."""
    of_setting: dict[tuple[str, str], dict[str, dict[str, str]]] = {}
    for row in rows("rare.csv", "ledger"):
        of_setting.setdefault((row["effect"], row["rows"]), {})[row["chain"]] = row
    for (effect, n), by_chain in of_setting.items():
        plain, strict, shadow = by_chain.values()
        gain = f"{shadow['gain']} ± {shadow['gain_se']}" if shadow["gain"] else ""
        false = (f"{row['any_false']} ± {row['any_false_se']}" for row in (plain, shadow))
        cells = (effect, n, plain["tables"], plain["f1"], strict["f1"], shadow["f1"], gain, *false)
        yield "|" + "|".join(cell.replace("-", "−") for cell in cells) + "|"


def test_figures_on_rare_values_are_those_measured() -> None:
    page = (ROOT / "docs" / "methods" / "sklearn.md").read_text(encoding="utf-8")
    lines = list(rare_rows())
    assert "\n".join(lines) in page
    shadow = [row["gain"] for row in rows("rare.csv", "ledger") if "boruta" in row["chain"]]
    gains = [float(gain) for gain in shadow if gain]
    higher, mean = sum(gain > 0 for gain in gains), sum(gains) / len(gains)
    assert (
        f"higher than that of `anova-f:alpha=0.05` in {higher} of {len(gains)} settings, by "
        f"{mean:.2f} on average" in " ".join(page.split())
    )
