"""The interacting pair among 500 noise SNPs, draw by draw, against other programs.

    python benchmarks/relief/noise.py --data FOLDER --out RANKS [--peers PYTHON] [--draws 40]

`--data` holds ``gametes2way.csv`` (``tests/plugins/relief/data`` does). A draw is 800 balanced rows
of it with 500 independent SNPs; the result is the rank of the worse-ranked of the two features of
the pair (best: 2). Programs get the same draws, and differences are taken draw by draw: printed are
the mean difference of ranks (below 0: fsframe is better) with a 95 % interval from 10,000
bootstraps of the draws, and how often each is better. Ranks found are kept in `--out`, line by
line, and not computed again, so the script may be stopped and started.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
from detection import read, worst_rank

PAIRS = [
    ("relieff", "fast_select ReliefF"),
    ("relieff", "skrebate ReliefF"),
    ("relieff", "relieff:ties=index"),
    ("relieff:ties=index", "fast_select ReliefF"),
    ("surf", "fast_select SURF"),
    ("surf", "skrebate SURF"),
    ("multisurf", "fast_select MultiSURF"),
    ("multisurf", "skrebate MultiSURF"),
]


def draw(table: tuple[np.ndarray, np.ndarray, list[int]], seed: int) -> tuple:
    """Features and label of one draw; the pair keeps its columns."""
    X, y, _ = table
    rng = np.random.default_rng(seed)
    rows = np.concatenate([rng.choice(np.flatnonzero(y == c), 400, replace=False) for c in (0, 1)])
    snps = rng.binomial(2, rng.uniform(0.05, 0.5, 500), (800, 500))
    return np.column_stack([X[rows], snps]), y[rows].astype(int)


def scores(program: str, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Scores of one program."""
    if " " not in program:
        import fsframe
        from fsframe.grammar import parse_stages

        (stage,) = parse_stages(program)
        data = fsframe.Dataset.from_arrays(X, y, categorical=np.ones(X.shape[1], bool))
        method = fsframe.selectors[stage.name].from_texts(stage.params)
        return np.asarray(method.select(data, seed=0).scores)
    package, name = program.split()
    options = {"backend": "cpu"} if package == "fast_select" else {}
    if name == "ReliefF":
        options["n_neighbors"] = 10
    fitted = getattr(__import__(package), name)(**options).fit(X, y)
    return np.asarray(fitted.feature_importances_, dtype=float)


def work(folder: str, program: str, first: str, stop: str) -> None:
    """In a separate process: the ranks of some draws, a line of JSON each."""
    warnings.simplefilter("ignore")
    table = read(Path(folder) / "gametes2way.csv")
    for seed in range(int(first), int(stop)):
        rank = worst_rank(scores(program, *draw(table, seed)), table[2])
        print(json.dumps([program, seed, rank]), flush=True)


def known(out: Path) -> dict[str, dict[int, int]]:
    """Ranks found by earlier runs, by program and draw."""
    found: dict[str, dict[int, int]] = {}
    for line in out.read_text().splitlines() if out.exists() else []:
        program, seed, rank = json.loads(line)
        found.setdefault(program, {})[seed] = rank
    return found


def main() -> None:
    if sys.argv[1:2] == ["work"]:
        work(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--peers", default=None)
    parser.add_argument("--draws", type=int, default=40)
    parser.add_argument("--programs", nargs="*", default=None, help="which to compute")
    arguments = parser.parse_args()
    programs = list(dict.fromkeys(name for pair in PAIRS for name in pair))
    for program in programs if arguments.programs is None else arguments.programs:
        peer = " " in program
        if peer and arguments.peers is None:
            continue
        have = known(arguments.out).get(program, {})
        first = next((s for s in range(arguments.draws) if s not in have), arguments.draws)
        if first == arguments.draws:
            continue
        command = [arguments.peers if peer else sys.executable, __file__, "work"]
        command += [str(arguments.data), program, str(first), str(arguments.draws)]
        with open(arguments.out, "a") as file:
            subprocess.run(command, stdout=file, check=False)
    found = known(arguments.out)
    print("| ours | other | draws | rank | theirs | difference | 95 % interval | better | worse |")
    print("|---|---|---|---|---|---|---|---|---|")
    for ours, other in PAIRS:
        seeds = sorted(set(found.get(ours, {})) & set(found.get(other, {})))
        if not seeds:
            continue
        a = np.array([found[ours][s] for s in seeds], dtype=float)
        b = np.array([found[other][s] for s in seeds], dtype=float)
        rng = np.random.default_rng(0)
        means = (a - b)[rng.integers(0, len(seeds), (10_000, len(seeds)))].mean(axis=1)
        low, high = np.quantile(means, [0.025, 0.975])
        print(
            f"| {ours} | {other} | {len(seeds)} | {a.mean():.2f} | {b.mean():.2f} | "
            f"{(a - b).mean():+.2f} | {low:+.2f} to {high:+.2f} | {(a < b).sum()} | "
            f"{(a > b).sum()} |"
        )


if __name__ == "__main__":
    main()
