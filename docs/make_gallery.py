"""Pictures of the site, made while it is built: what runs look like, and what methods see.

The gallery runs the commands that it shows, on tables that ship with fsframe. What methods see is
measured on tables with a known answer.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fsframe.errors import FsframeError
from fsframe.grammar import parse_stages
from fsframe.registry import Offer, classifiers, selectors
from fsframe.registry.manager import declared
from fsframe.show.plots.canvas import BLUE, axes_for, figure_bytes
from fsframe.table.dataset import Dataset

__all__ = ["bars", "gallery", "overview", "seen_by_classifiers", "seen_by_selectors", "sees_page"]

ROOT = Path(__file__).resolve().parents[1]
_VOICES = "examples/parkinsons_subjects.csv"
TABLE = """
import numpy as np
rng = np.random.default_rng(0)
X = rng.standard_normal((600, 8))
pairs = np.sign(X[:, 0] * X[:, 1]) + np.sign(X[:, 1] * X[:, 2]) + np.sign(X[:, 3] * X[:, 4])
y = (1.5 * pairs + X[:, 5] + rng.logistic(size=600) > 0) * 1
header = "a,b,c,d,e,f,g,h,class"
np.savetxt("pair.csv", np.column_stack([X, y]), "%.4f", ",", header=header, comments="")
"""

_GLASS, _WARTS = "examples/study/glass.csv", "examples/study/cryotherapy.csv"

RUNS = f"""
fsframe chain immigrate npfs:n=50 on {_VOICES} --groups subject -o voices.h5
fsframe chain im4e:top=5 on {_VOICES} --groups subject -o im4e.h5
fsframe chain relieff:top=5 on {_VOICES} --groups subject -o relieff.h5
fsframe chain jmi:top=5 on {_VOICES} --groups subject -o jmi.h5
fsframe chain interactions on pair.csv -o pair.h5
fsframe stability mim:top=5 on {_VOICES} --groups subject -o stability.h5
fsframe evaluate relieff:top=5 knn:k=5 on {_VOICES} --groups subject --curve 1,3,5,8,22 -o knn.h5
fsframe evaluate mim:top=5 margin on {_VOICES} --groups subject -o margin.h5
fsframe compare '{{mim,relieff,jmi}}:top=3' x '{{knn:k=5,margin}}' on {_WARTS} -o on-warts
fsframe compare '{{mim,relieff,jmi}}:top=3' x '{{knn:k=5,margin}}' on {_GLASS} -o on-glass
"""

PICTURES = {
    "What was kept, and what was not": "scores voices.h5",
    "How the best features are spread": f"classes relieff.h5 on {_VOICES}",
    "What a test over bootstraps decided by": "tests voices.h5",
    "Which bootstrap kept what": "bootstraps stability.h5",
    "Weights of pairs": "matrix voices.h5",
    "Pairs that interact by test": "network pair.h5",
    "One pair": "pair pair.h5 on pair.csv",
    "Stability by number of features": "stability stability.h5",
    "Accuracy by number of features": "sizes knn.h5",
    "True against false positives": "roc knn.h5 margin.h5",
    "Given probabilities against what came true": "calibration knn.h5",
    "Accuracy against stability": "pareto on-warts",
    "Chains over tables": "cd on-warts on-glass",
    "What several methods keep": "sets relieff.h5 jmi.h5 im4e.h5",
}


def gallery() -> tuple[str, dict[str, bytes]]:
    """The page, and its pictures by the path that it calls them by."""
    lines = [
        "# Gallery",
        "",
        "Every kind of picture that `fsframe plot` draws, made when this site was built, by the "
        "commands that stand here, in a fresh clone. [What each method sees](sees.md) is a page of "
        "its own. Any picture goes into a paper as `.pdf` or `.svg`, fonts and all; in Python, "
        "`.plot()` of a result gives the `Axes` ([how](results.md)).",
        "",
        "A table whose class hangs on the signs of a·b, b·c and d·e, and on f:",
        "",
        "```python",
        TABLE.strip(),
        "```",
        "",
        "The runs:",
        "",
        "```sh",
        RUNS.strip(),
        "```",
    ]
    pictures = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "examples").symlink_to(ROOT / "examples")
        subprocess.run([sys.executable, "-c", TABLE], cwd=folder, check=True)
        for command in RUNS.strip().splitlines():
            _call(command, folder)
        for title, words in PICTURES.items():
            kind = words.split()[0]
            command = f"fsframe plot {words} -o {kind}.svg"
            _call(command, folder)
            pictures[f"gallery/{kind}.svg"] = (folder / f"{kind}.svg").read_bytes()
            lines += [
                "",
                f"## {title}",
                "",
                "```sh",
                command,
                "```",
                "",
                f"![{title}: `fsframe plot {kind}`](gallery/{kind}.svg)",
            ]
    return "\n".join(lines) + "\n", pictures


def _call(command: str, folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *shlex.split(command)],
        cwd=folder,
        env={**os.environ, "COLUMNS": "100"},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"{command}: exit code {done.returncode}\n{done.stderr}")


COLUMNS = ("strong", "near copy", "weak", "curved", "pair", "pair", *6 * ("noise",))
_ASKED, _TABLES, _ROWS = 6, 12, 240
# What they keep says nothing of one table's columns, takes minutes, or is of times until an event.
_NOT_SHOWN = (
    "cox-score",
    "cross-validation",
    "impute",
    "interactions-split",
    "npfs",
    "stability-study",
)
_SEEN_WITH = {
    "cpss": {"base": "relieff:top=3"},
    "ipss": {"base": "relieff"},
    "knockoffs": {"base": "relieff", "copies": "2"},
    "ensemble": {"base": "relieff"},
    "turf": {"base": "relieff"},
}


def known_table(seed: int, task: str = "classification") -> Dataset:
    """A table of `COLUMNS` whose class hangs on the first six, the copy by what it copies.

    The odds are logistic in 1.2 strong + 0.6 weak + 1.5 (|curved| − 0.8) + 1.2 sign(a b).
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((_ROWS, len(COLUMNS)))
    X[:, 1] = X[:, 0] + 0.3 * X[:, 1]
    signal = 1.2 * X[:, 0] + 0.6 * X[:, 2] + 1.5 * (np.abs(X[:, 3]) - 0.8)
    signal += 1.2 * np.sign(X[:, 4] * X[:, 5]) + rng.logistic(size=_ROWS)
    y = signal if task == "regression" else (signal > 0) * 1
    return Dataset.from_arrays(X, y, task=task)


def seen_by_selectors() -> dict[str, NDArray[np.float64]]:
    """In what share of the tables each selector keeps each column, asked for six of twelve."""
    offers = [o for o in selectors.offers() if o.plugin.source.bundled and o.name not in _NOT_SHOWN]
    return {offer.name: _shares(offer) for offer in offers}


def _shares(offer: Offer) -> NDArray[np.float64]:
    method = selectors[offer.name]
    tried = declared(offer.entry, "TRIED_AS").get(offer.entry.name, offer.name)
    params = {**parse_stages(tried)[0].params, **_SEEN_WITH.get(offer.name, {})}
    made = method.from_texts({**params, "top": str(_ASKED)})
    task = "classification" if "classification" in method.tasks else "regression"
    kept = np.zeros(len(COLUMNS))
    for seed in range(_TABLES):
        # In any order: ties must not tell the columns that come first.
        order = np.random.default_rng(seed).permutation(len(COLUMNS))
        selection = made.select(known_table(seed, task).take_columns(order), seed=seed)
        kept[order[selection.selected[:_ASKED]]] += 1
    return kept / _TABLES


def _by_kind(shares: NDArray[np.float64]) -> tuple[list[str], NDArray[np.float64]]:
    """Kinds of columns, and the mean share of each."""
    names = list(dict.fromkeys(COLUMNS))
    kinds = np.array(COLUMNS)
    return names, np.array([shares[kinds == name].mean() for name in names])


def bars(shares: NDArray[np.float64]) -> bytes:
    """What one method sees, as SVG."""
    names, heights = _by_kind(shares)
    with axes_for(None, 6.0, 2.2) as (ax,):
        ax.barh(names, heights, color=[*(len(names) - 1) * [BLUE], "#999999"])
        ax.invert_yaxis()
        ax.set_xlim(0, 1)
        ax.set_xlabel(f"share of {_TABLES} tables in which it is among the {_ASKED} kept")
        return figure_bytes(ax.figure)


def overview(seen: Mapping[str, NDArray[np.float64]]) -> bytes:
    """All methods against all kinds of columns, as SVG, methods that see alike side by side."""
    from scipy.cluster.hierarchy import leaves_list, linkage

    methods = list(seen)
    names = _by_kind(seen[methods[0]])[0]
    cells = np.array([_by_kind(seen[method])[1] for method in methods])
    order = leaves_list(linkage(cells, "average", optimal_ordering=True))
    with axes_for(None, 6.0, 0.24 * len(methods) + 1.2) as (ax,):
        ax.imshow(cells[order], cmap="Blues", vmin=0, vmax=1, aspect="auto")
        for row, k in enumerate(order):
            for column, value in enumerate(cells[k]):
                shade = "white" if value > 0.6 else "black"
                ax.text(column, row, f"{value:.2f}", ha="center", va="center", color=shade, size=7)
        ax.set_xticks(range(len(names)), names)
        ax.set_yticks(range(len(methods)), [methods[k] for k in order])
        ax.xaxis.tick_top()
        ax.tick_params(length=0)
        return figure_bytes(ax.figure)


_GRID = np.linspace(-2.6, 2.6, 81)


def seen_by_classifiers() -> dict[str, bytes]:
    """What every classifier makes of two columns whose class is the sign of their product, as SVG.

    One that needs a stage on its left stands behind it.
    """
    rng = np.random.default_rng(1)
    X = rng.standard_normal((120, 2))
    data = Dataset.from_arrays(X, X[:, 0] * X[:, 1] > 0)
    places = np.stack(np.meshgrid(_GRID, _GRID), axis=-1).reshape(-1, 2)
    pictures = {}
    for offer in classifiers.offers():
        if offer.entry.kind != "classifier" or not offer.plugin.source.bundled:
            continue
        tried = declared(offer.entry, "TRIED_AS").get(offer.entry.name, offer.name)
        after = declared(offer.entry, "TRIED_AFTER").get(offer.entry.name, "immigrate")
        upstream = selectors[after](top=2).select(data)
        made = classifiers[offer.name].from_texts(parse_stages(tried)[0].params)
        try:
            codes = made.fit(data, upstream, seed=0).predict(places)
        except FsframeError as error:
            raise RuntimeError(f"{offer.name}: {error}") from error
        with axes_for(None, 3.4, 3.2) as (ax,):
            shape = (len(_GRID), len(_GRID))
            ax.contourf(_GRID, _GRID, codes.reshape(shape), levels=1, cmap="Blues", alpha=0.6)
            for code, marker in enumerate("os"):
                ax.plot(
                    *X[data.y == code].T, marker, color="black", mfc=("none", "black")[code], ms=3
                )
            ax.set(aspect="equal", xlim=_GRID[[0, -1]], ylim=_GRID[[0, -1]])
            pictures[offer.name] = figure_bytes(ax.figure)
    return pictures


def sees_page() -> str:
    """The page that compares what methods see."""
    said = (
        f"Twelve columns, {_ROWS} rows, two classes, {_TABLES} tables drawn anew: a column with a "
        "*strong* effect and its *near copy* (correlation 0.96), a *weak* one, one that matters by "
        "its size and not by its sign (*curved*), a *pair* of which neither column says anything "
        "alone (class by the sign of a·b), and six columns of *noise*. The log-odds are 1.2 strong "
        "+ 0.6 weak + 1.5 (|curved| − 0.8) + 1.2 sign(a·b). Every method is asked for six columns, "
        "its other parameters as they are, or as the conformance suite tries it where it wraps or "
        "is slow. The figure is the share of tables in which a column is among the six; of pair "
        "and noise, the mean. Six of twelve at random would give 0.5 everywhere. The order of "
        "columns changes from table to table. `rrelieff` has the log-odds as its numeric target.",
        "![Share of tables in which each method keeps each kind of column](sees/all.svg)",
        "A method that keeps the near copy is not wrong, nor is one that drops it: those that rank "
        "columns one by one keep both, those that mind redundancy try to keep one. Your table is "
        "another: `fsframe stability` and `fsframe compare` tell of it.",
    )
    return "\n\n".join(("# What each method sees", *said)) + "\n"
