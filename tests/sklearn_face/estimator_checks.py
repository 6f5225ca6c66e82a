"""Scikit-learn's own checks of every estimator and of chains: what is tried, and what fails.

    python -m tests.sklearn_face.estimator_checks

runs them all and writes ``estimator_checks.csv``: one row for each check that fails, with what it
said. With the beginnings of names it runs only these, and keeps the other rows. The reasons in that
file are written by hand and kept; docs/scikit-learn.md lists the rows.
"""

from __future__ import annotations

import csv
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import fsframe.sklearn
from fsframe.sklearn import ChainClassifier, ChainRegressor, ChainSelector
from fsframe.sklearn.naming import offered_names

FILE = Path(__file__).with_suffix(".csv")
FIELDS = ("object", "check", "reason", "said")

# What the defaults leave open, or less to compute.
_TREE = {"of": "DecisionTreeClassifier"}
TRIED_AS: Mapping[str, dict[str, Any]] = {
    "BIM": {"rounds": 5},
    "BIMVote": {"rounds": 5},
    "Boruta": {"max_runs": 3, "trees": 5},
    "Cpss": {"base": "mim:top=1", "pairs": 5},
    "Ensemble": {"base": "mim:top=2", "n": 5},
    "Ipss": {"base": "mim", "pairs": 5},
    "Importance": _TREE,
    "InteractionsSplit": {"base": "mim:top=2"},
    "Knockoffs": {"base": "mim", "level": 0.9},
    "NPFS": {"base": "mim:top=1", "n": 5, "null": "published", "alpha": 0.3},
    "RFE": _TREE,
    "RFECV": _TREE,
    "Sequential": _TREE,
    "Sklearn": {"estimator": "sklearn.linear_model.LogisticRegression"},
    "SklearnSelector": {"estimator": "SelectKBest", "options": '{"k": 1}'},
    "TuRF": {"base": "relieff"},
}
CHAINS: tuple[tuple[type[Any], str], ...] = (
    (ChainSelector, "mim:top=1,missing=level relieff"),
    (ChainSelector, "mim:top=3 jmi:top=1"),
    (ChainSelector, "mim:top=1 npfs:n=5,null=published,alpha=0.3"),
    (ChainClassifier, "mim:top=2 knn"),
    (ChainClassifier, "immigrate margin"),
    (ChainRegressor, "rrelieff knn:k=5"),
    (ChainRegressor, "rrelieff ridge"),
    (ChainRegressor, "lasso ridge"),
)


def names() -> list[str]:
    """The objects that are tried: estimators by their class, chains as they are constructed."""
    return [*offered_names(), *(f'{kind.__name__}("{text}")' for kind, text in CHAINS)]


def tried(name: str) -> Any:
    """The estimator of one of `names`, with parameters that are enough and quick."""
    for kind, text in CHAINS:
        if name == f'{kind.__name__}("{text}")':
            return kind(text)
    return getattr(fsframe.sklearn, name)(**TRIED_AS.get(name, {}))


def expected() -> dict[str, dict[str, str]]:
    """The reasons of the checks that fail, by object."""
    found: dict[str, dict[str, str]] = {}
    with FILE.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            found.setdefault(row["object"], {})[row["check"]] = row["reason"]
    return found


def listed() -> Iterator[str]:
    """The rows of the table in docs/scikit-learn.md: object, number of checks and reason."""
    for name, checks in expected().items():
        for reason, number in Counter(checks.values()).items():
            yield f"| `{name}` | {number} | {reason} |"


def failures(name: str) -> Iterator[tuple[str, str]]:
    """The checks that fail for an object, with the first line of what each said."""
    from sklearn.utils.estimator_checks import check_estimator

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(tried(name), on_fail=None, on_skip=None)
    print(
        name, {s: sum(r["status"] == s for r in results) for s in ("passed", "failed", "skipped")}
    )
    for result in results:
        if result["status"] == "failed":
            said = " ".join(str(result["exception"]).split())
            yield result["check_name"], f"{type(result['exception']).__name__}: {said}"[:200]


def main(wanted: list[str]) -> None:
    """Run the checks of the objects whose names begin with one of `wanted`, or of all."""
    rows = []
    if FILE.exists():
        with FILE.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    reasons = {(row["object"], row["check"]): row["reason"] for row in rows}
    for name in names():
        if wanted and not name.startswith(tuple(wanted)):
            continue
        rows = [row for row in rows if row["object"] != name]
        # Some checks are made several times, with other parameters.
        for check, said in dict(failures(name)).items():
            reason = reasons.get((name, check), "")
            rows.append({"object": name, "check": check, "reason": reason, "said": said})
            print("   ", check, said, flush=True)
    with FILE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main(sys.argv[1:])
