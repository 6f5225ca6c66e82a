"""Suggestions for misspelled names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A sentence that offers the nearest known name, or nothing.

    >>> did_you_mean("imigrate", ["immigrate", "npfs"])
    '. Did you mean `immigrate`?'
    >>> did_you_mean("xyz", ["immigrate", "npfs"])
    ''
    """
    lowered = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word.lower(), list(lowered), n=1, cutoff=0.6)
    return f". Did you mean `{lowered[near[0]]}`?" if near else ""


_MEANT = {
    "label": ["target", "y", "outcome", "response", "labels", "target_column", "label_column"],
    "groups": ["group", "subject", "subjects", "group_column"],
    "drop": ["exclude", "ignore", "drop_columns", "columns_to_drop"],
    "categorical": ["nominal", "categories", "cat_features", "categorical_features"],
    "seed": ["random_state", "random_seed", "rng"],
    "workers": ["n_jobs", "jobs", "processes"],
    "folds": ["cv", "n_splits"],
    "repeats": ["n_repeats"],
    "metric": ["scoring", "measure", "measures"],
    "measures": ["scoring", "metric", "metrics", "measure"],
    "na": ["na_values", "missing_values"],
    "delimiter": ["sep"],
    "weight": ["weights", "sample_weight"],
    "out": ["output", "path", "file"],
    "time": ["times"],
}


def meant_by(word: str, known: Iterable[str]) -> list[str]:
    """The arguments that other packages call `word`.

    >>> meant_by("target", ["label", "groups"])
    ['label']
    """
    return [name for name in known if word.lower() in _MEANT.get(name, ())]


def unexpected(function: str, given: Iterable[str], known: Iterable[str]) -> str:
    """What is wrong with keyword arguments that a function does not have, and what was meant.

    >>> unexpected("select", ["target"], ["label", "groups"])
    "select() got an unexpected keyword argument 'target'; did you mean `label=`?"
    >>> unexpected("select", ["colour"], ["label", "groups"])
    "select() got an unexpected keyword argument 'colour'; it takes label, groups"
    """
    known = list(known)
    wrong = list(given)
    told = f"{function}() got {'an ' if len(wrong) == 1 else ''}unexpected keyword argument"
    told += "s" * (len(wrong) > 1) + " " + ", ".join(map(repr, wrong))
    near = []
    for word in wrong:
        meant = meant_by(word, known)
        close = difflib.get_close_matches(word.lower(), known, n=1, cutoff=0.7)
        near += [f"`{name}=`" for name in (meant or close)[:1]]
    if len(near) == len(wrong):
        return f"{told}; did you mean {', '.join(dict.fromkeys(near))}?"
    return f"{told}; it takes {', '.join(known)}"
