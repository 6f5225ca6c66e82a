"""Where each method of the family, and of other programs, ranks features that interact.

    python benchmarks/relief/detection.py --data FOLDER [--peers PYTHON]

`--data` holds the GAMETES sets (``tests/plugins/relief/data`` does); `--peers` is an interpreter
that has skrebate and fast-select. Printed is the worst rank of the predictive features, per table;
best possible is 2 for a pair and 3 for a triple. For the tables made here it is the mean over
seeds.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

SEEDS = 10
OWN = {
    "relief": "relief",
    "relieved-f": "relieved-f",
    "relieff": "relieff",
    "surf": "surf",
    "surfstar": "surfstar",
    "multisurf": "multisurf",
    "multisurfstar": "multisurfstar",
    "swrfstar": "swrfstar",
    "iterative-relief": "iterative-relief",
    "vls": "vls:subset=50,rounds=40",
    "relieff turf": "turf:base=relieff,top=5",
    "multisurf turf": "turf:base=multisurf,top=5",
    "rrelieff": "rrelieff",
}
PEERS = [
    "skrebate ReliefF",
    "skrebate SURF",
    "skrebate SURFstar",
    "skrebate MultiSURF",
    "skrebate MultiSURFstar",
    "fast_select ReliefF",
    "fast_select SURF",
    "fast_select MultiSURF",
]


def read(path: Path) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Features, label and predictive columns of a GAMETES file."""
    with open(path, newline="") as file:
        header, *rows = list(csv.reader(file))
    table = np.array([[float(v) if v else np.nan for v in row] for row in rows])
    return table[:, :-1], table[:, -1], [k for k, n in enumerate(header[:-1]) if "P" in n]


def tables(folder: Path) -> dict[str, list[tuple[np.ndarray, np.ndarray, list[int]]]]:
    """All tables by name; several per name if they are simulated."""
    found = {}
    for name, file in (
        ("two-way", "gametes2way.csv"),
        ("missing", "gametes_missing.csv"),
        ("3 classes", "gametes_3class.csv"),
        ("numeric", "gametes_continuous.csv"),
    ):
        found[name] = [read(folder / file)]
    X, y, pair = found["two-way"][0]
    noisy, triple = [], []
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        rows = np.concatenate(
            [rng.choice(np.flatnonzero(y == c), 400, replace=False) for c in (0, 1)]
        )
        snps = rng.binomial(2, rng.uniform(0.05, 0.5, 500), (800, 500))
        noisy.append((np.column_stack([X[rows], snps]), y[rows], pair))
        bits = rng.integers(0, 2, (1600, 20)).astype(float)
        triple.append((bits, bits[:, :3].sum(axis=1) % 2, [0, 1, 2]))
    return found | {"500 noise": noisy, "3-way XOR": triple}


def worst_rank(scores: np.ndarray, columns: list[int]) -> int:
    """The largest rank of the given columns."""
    order = np.argsort(-np.nan_to_num(scores, nan=-np.inf), kind="stable").tolist()
    return max(order.index(column) + 1 for column in columns)


def own_scores(method: str, X: np.ndarray, y: np.ndarray, task: str) -> np.ndarray | None:
    """Scores of a method of fsframe; None if it does not support the task."""
    import fsframe
    from fsframe.grammar import parse_stages

    data = fsframe.Dataset.from_arrays(
        X, y if task == "regression" else y.astype(int), categorical=np.ones(X.shape[1], bool)
    )
    (stage,) = parse_stages(method)
    selector = fsframe.selectors[stage.name]
    if task not in selector.tasks or (task == "regression" and stage.name == "turf"):
        return None
    return selector.from_texts(stage.params).select(data, seed=0).scores


def peer(path: str, method: str) -> None:
    """In the other interpreter: scores of one program for the tables of an NPZ file, as JSON."""
    warnings.simplefilter("ignore")
    package, name = method.split()
    module = __import__(package)
    held = np.load(path)
    found = []
    for k in range(int(held["n"])):
        X, y = held[f"X{k}"], held[f"y{k}"]
        numeric = bool(np.any(y != np.round(y)))
        try:
            if package == "fast_select":
                if name.startswith("SURF"):
                    method_ = module.SURF(backend="cpu")
                else:
                    method_ = getattr(module, name)(
                        backend="cpu", **({"n_neighbors": 10} if name == "ReliefF" else {})
                    )
            elif name == "ReliefF":
                method_ = module.ReliefF(n_neighbors=10)
            else:
                method_ = getattr(module, name)()
            fitted = method_.fit(X, y if numeric else y.astype(int))
            found.append(np.asarray(fitted.feature_importances_, dtype=float).tolist())
        except Exception as error:  # a peer may refuse a kind of table: that is its answer
            found.append(str(error).splitlines()[0][:60])
    print(json.dumps(found))


def main() -> None:
    if sys.argv[1:2] == ["peer"]:
        peer(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--peers", default=None)
    parser.add_argument("--own", nargs="*", default=list(OWN), help="which of ours")
    parser.add_argument("--programs", nargs="*", default=PEERS, help="which of the others")
    arguments = parser.parse_args()
    found = tables(arguments.data)
    print("| method | " + " | ".join(found) + " |")
    print("|---" * (len(found) + 1) + "|")
    for label, method in OWN.items():
        if label not in arguments.own:
            continue
        cells = []
        for name, several in found.items():
            task = "regression" if name == "numeric" else "classification"
            ranks = []
            for X, y, columns in several:
                scores = own_scores(method, X, y, task)
                if scores is not None:
                    ranks.append(worst_rank(scores, columns))
            cells.append(f"{np.mean(ranks):g}" if ranks else "–")
        print(f"| `{label}` | " + " | ".join(cells) + " |", flush=True)
    if arguments.peers is None:
        print("other programs were left out: no --peers")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tables.npz"
        flat = [one for several in found.values() for one in several]
        held = {f"X{k}": one[0] for k, one in enumerate(flat)}
        held |= {f"y{k}": one[1] for k, one in enumerate(flat)}
        np.savez(path, n=len(flat), **held)
        for method in arguments.programs:
            command = [arguments.peers, __file__, "peer", str(path), method]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                print(f"{method} was left out: {done.stderr.strip().splitlines()[-1]}")
                continue
            answers = iter(json.loads(done.stdout.splitlines()[-1]))
            cells = []
            for several in found.values():
                ranks, refused = [], ""
                for _, _, columns in several:
                    scores = next(answers)
                    if isinstance(scores, str):
                        refused = "refused"
                    else:
                        ranks.append(worst_rank(np.array(scores), columns))
                cells.append(refused or f"{np.mean(ranks):g}")
            print(f"| {method} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
