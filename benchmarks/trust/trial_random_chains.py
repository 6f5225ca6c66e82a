"""Random chains on sixteen small tables: an answer, or a refusal of the right kind."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
from trials import ROOT, Trial

import fsframe
from fsframe.params import Parameter
from fsframe.registry import classifiers, selectors

sys.path.insert(0, str(ROOT / "benchmarks" / "digests"))
from families import FAMILIES
from ways import OPTIONS

SMALL = {
    "n": 3, "permutations": 3, "permuted_n": 2, "max_runs": 3, "trees": 5, "copies": 2, "draws": 20,
    "calibrate": 3, "repeats": 1, "max_iter": 4, "rounds": 3, "folds": 2, "inner_folds": 2,
    "fits": 40, "shards": 2, "epochs": 3, "starts": 2, "passes": 2, "T": 3,
}  # fmt: skip
"""Numbers that only take time are at most these."""
SLOW = {"boruta", "importance", "rfe", "rfecv", "sequential", "elastic-net", "lasso", "knockoffs"}


def tables(folder: Path) -> dict[str, fsframe.Dataset]:
    """The twelve families, and four that are degenerate."""
    found = {name: make(folder) for name, make in FAMILIES.items()}
    draw = np.random.default_rng(5)
    y = np.arange(20) % 2
    constant = draw.standard_normal((20, 6))
    constant[:, ::2] = 7.0
    found["constant"] = fsframe.Dataset.from_arrays(constant, y, name="constant")
    found["five-rows"] = fsframe.Dataset.from_arrays(constant[:5, :3], y[:5], name="five-rows")
    found["wide"] = fsframe.Dataset.from_arrays(draw.standard_normal((12, 40)), y[:12], name="wide")
    extreme = draw.standard_normal((20, 6)) * 10.0 ** np.array([149, -149, 100, 15, 0, -15])
    found["extreme"] = fsframe.Dataset.from_arrays(extreme, y, name="extreme")
    return found


def value(kind: Any, name: str, draw: random.Random) -> str:
    """Text of a value that a kind of parameters takes, most often."""
    inner = getattr(kind, "kind", None)
    form = type(kind).__name__
    if form == "_Optional":
        return "none" if draw.random() < 0.2 else value(inner, name, draw)
    if form == "_Either":
        return value(draw.choice(kind.kinds), name, draw)
    if form == "_Listing":
        return "[" + ",".join(value(inner, name, draw) for _ in range(draw.choice((1, 2, 2)))) + "]"
    if form == "_Stages":
        return f"({stage(draw, draw.choice(sorted(selectors)))})"
    if form == "_CountOrFraction":
        return draw.choice(("1", "2", "3", "0.5", "1.0", "99"))
    if form == "_Integer":
        least = kind.least if kind.least is not None else 0
        return str(
            min(draw.choice((least, least + 1, least + 2, least + 5)), SMALL.get(name, 10**6))
        )
    if form == "_Real":
        low = next((x for x in (kind.least, kind.above) if x is not None), -2.0)
        high = next((x for x in (kind.most, kind.below) if x is not None), low + 3.0)
        inside = draw.uniform(low, high)
        return f"{draw.choice((low, high, inside, inside, inside, inside)):.4g}"
    words = kind.choices()
    if words:
        return draw.choice(words)
    return draw.choice(("{}", "f1", "f2", "GaussianNB"))


def stage(draw: random.Random, name: str) -> str:
    """A stage with up to three parameters besides those that keep it quick."""
    methods = selectors if name in selectors else classifiers
    declared: dict[str, Parameter] = {p.name: p for p in methods[name].parameters()}
    if name in OPTIONS and draw.random() < 0.5:
        return f"{name}:{draw.choice(OPTIONS[name])}".removesuffix(":")
    chosen = {
        p: str(SMALL[p]) for p in declared
        if p in SMALL and p != "fits" and declared[p].default not in (0, False)
        and (p != "permutations" or name == "npfs")
    }  # fmt: skip
    for other in draw.sample(
        sorted(declared), min(len(declared), draw.choice((0, 0, 0, 0, 1, 2, 3)))
    ):
        chosen[other] = value(declared[other].kind, other, draw)
    if name in ("sklearn", "importance", "sequential", "sklearn-selector") and draw.random() < 0.9:
        return f"{name}:{OPTIONS[name][0]}"
    return f"{name}:{','.join(f'{k}={v}' for k, v in chosen.items())}".removesuffix(":")


def chain(draw: random.Random) -> str:
    """One to three stages; what takes long is rare."""
    every = sorted(selectors)
    parts = []
    for _ in range(draw.choice((1, 1, 2, 2, 3))):
        name = draw.choice(every)
        if name in SLOW and draw.random() < 0.8:
            name = draw.choice(("mim", "jmi", "relieff", "anova-f", "variance", "impute"))
        if not parts and getattr(selectors[name], "wrapping", False) and draw.random() < 0.9:
            parts.append(draw.choice(("mim:top=4", "relieff:top=3", "anova-f:top=2")))
        parts.append(stage(draw, name))
    if draw.random() < 0.15:
        parts.append(stage(draw, draw.choice(sorted(classifiers))))
    return " ".join(parts)


def random_chains(trial: Trial) -> None:
    draw = random.Random(36)
    data = tables(trial.folder)
    names = sorted(data)
    for number in range(trial.times):
        text, name = chain(draw), names[number % len(names)]

        def work(text: str = text, name: str = name, number: int = number) -> Any:
            parsed = fsframe.Chain.parse(text)
            assert str(fsframe.Chain.parse(str(parsed))) == str(parsed), "its text is another chain"
            found = parsed.run(data[name], seed=1)
            kept = list(found.selected)
            assert len(set(kept)) == len(kept), "a feature is kept twice"
            if number % 20 == 0:
                assert parsed.run(data[name], seed=1).digests() == found.digests(), "not the same"
            return found

        trial.answered(f"`{text}` on {name}", work, 2, 4)


TRIALS = {
    "chains": (random_chains, 10_000, "random chains of all methods with random parameters on "
               "sixteen tables of 5 to 36 rows; one in twenty twice, to equal digests"),
}  # fmt: skip
