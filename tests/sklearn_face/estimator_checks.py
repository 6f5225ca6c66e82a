"""Scikit-learn's own checks of every estimator and of chains: what is tried, and what fails.

    python -m tests.sklearn_face.estimator_checks

runs them all and writes ``estimator_checks.json`` after each object: how many checks passed, failed
and were skipped, and of those that fail what they said. With the beginnings of names it runs only
these, and keeps what is there of the others. The reasons in that file are written by hand and kept.
Then it writes the list in docs/scikit-learn.md; ``--page`` writes this list only.
"""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import fsframe.sklearn
from fsframe.sklearn import ChainClassifier, ChainRegressor, ChainSelector, offered_names

FILE = Path(__file__).with_suffix(".json")
PAGE = Path(__file__).parents[2] / "docs" / "scikit-learn.md"
STATES = ("passed", "failed", "skipped")
_LIST = re.compile(
    r"(<!-- list: python -m tests.sklearn_face.estimator_checks -->\n).*?(<!-- end -->)", re.DOTALL
)

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


def stored() -> dict[str, dict[str, Any]]:
    """What the last run of each object found: numbers of checks, and ``failures``: for each check
    that fails the ``reason`` and what it ``said``."""
    found: dict[str, dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def expected() -> dict[str, dict[str, str]]:
    """The reasons of the checks that fail, by object."""
    return {
        name: {check: each["reason"] for check, each in found["failures"].items()}
        for name, found in stored().items()
        if found["failures"]
    }


def listed() -> Iterator[str]:
    """The lines of docs/scikit-learn.md: totals, and a row for each reason."""
    total = {state: sum(found[state] for found in stored().values()) for state in STATES}
    yield (
        f"Of {sum(total.values()):,} checks of {len(stored())} objects {total['passed']:,} passed, "
        f"{total['failed']} failed, and scikit-learn skipped {total['skipped']}."
    )
    yield from ("", "| failed checks of | why |", "|---|---|")
    by_reason: dict[str, list[str]] = {}
    for name, checks in expected().items():
        for reason, number in Counter(checks.values()).items():
            by_reason.setdefault(reason, []).append(f"`{name}` ({number})")
    for reason, objects in by_reason.items():
        yield f"| {', '.join(objects)} | {reason} |"


def page() -> str:
    """The text of docs/scikit-learn.md with what is stored."""
    lines = "".join(f"{line}\n" for line in listed())
    text = PAGE.read_text(encoding="utf-8")
    # Blank lines, since the table would go on, and text after a comment be part of it.
    return _LIST.sub(lambda found: f"{found[1]}\n{lines}\n{found[2]}", text)


def checked(name: str) -> dict[str, Any]:
    """What the checks of an object say, as in the file, without reasons."""
    from sklearn.utils.estimator_checks import check_estimator

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(tried(name), on_fail=None, on_skip=None)
    states = Counter(result["status"] for result in results)
    failures = {}
    # Some checks are made several times, with other parameters.
    for result in results:
        if result["status"] == "failed":
            said = " ".join(str(result["exception"]).split())
            said = f"{type(result['exception']).__name__}: {said}"[:200]
            failures[result["check_name"]] = {"reason": "", "said": said}
    return {**{state: states[state] for state in STATES}, "failures": failures}


def main(wanted: list[str]) -> None:
    """Run the checks of the objects whose names begin with one of `wanted`, or of all."""
    if wanted == ["--page"]:
        PAGE.write_text(page(), encoding="utf-8")
        return
    known = stored() if FILE.exists() else {}
    for name in names():
        if wanted and not name.startswith(tuple(wanted)):
            continue
        result = checked(name)
        earlier = known.get(name, {"failures": {}})["failures"]
        for check, each in result["failures"].items():
            each["reason"] = earlier.get(check, each)["reason"]
        known[name] = result
        print(name, {state: result[state] for state in STATES}, *result["failures"], flush=True)
        ordered = {each: known[each] for each in names() if each in known}
        FILE.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
