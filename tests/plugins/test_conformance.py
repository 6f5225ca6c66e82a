"""Every selector, classifier and metric in the registry passes the conformance checks of its kind.

Exceptions stand in the `conformance` module of each plugin, by name and reason. Of methods that are
kin of another, every run takes a share of the checks; ``pytest -m slow`` takes the rest.
"""

from __future__ import annotations

import functools
import json
import re

import attrs
import pytest

import fsframe
from fsframe.errors import FsframeError
from fsframe.registry import measures, readers, regressors
from fsframe.registry.manager import declared
from fsframe.show.methods_text import bibtex_of, cited_keys, identifiers, publications
from fsframe.testing import (
    SelectorConformance,
    WrappingConformance,
    conformance,
    run_checks,
    suite_for,
    tables,
)
from tests.command_line import python

REGISTRIES = (fsframe.selectors, fsframe.classifiers, fsframe.stability_metrics)
BUNDLED = [
    (registry, offer)
    for registry in REGISTRIES
    for offer in registry.offers()
    if offer.plugin.source.distribution == "fsframe"
]

KIN = (
    *("betagamma", "cife", "condred", "disr", "icap", "jmim", "mifs", "mrmr", "njmim"),
    *("symmetric-uncertainty", "relief", "relieved-f", "surf", "surfstar", "multisurf", "swrfstar"),
    *("irelief", "lfe", "mbiw", "simba", "importance", "bim", "iterative-relief", "jmi3"),
    *("ensemble", "ipss", "interactions-split", "cross-validation", "stability-study"),
    *("davis", "dice", "dice-corrected", "hamming", "hamming-corrected", "jaccard", "krizek"),
    *("kappa", "novovicova", "ochiai", "ochiai-corrected", "phi", "somol-cw", "somol-cwrel"),
    *("spearman", "unadjusted", "yu", "zucknick"),
)
"""Methods that share all but a formula or a rule with one that passes every check in every run."""
TURNS = 4
"""Each kin passes one check of so many in every run, and the next one passes others."""
ALWAYS = (
    "counts_equal_copies", "declarations_are_complete", "equal_seeds_give_equal_bits",
    "result_is_sound", "what_the_entry_promises_is_given",
    # How a stage treats its base is code of its own.
    *(name.removeprefix("test_") for name in vars(WrappingConformance) if name.startswith("test_")),
)  # fmt: skip


LONG = {"bim-vote": "number_of_threads_changes_no_bit_on_many_rows"}
"""Of a method whose rounds take long, a check that it passes on a smaller table in every run, and
that methods with the same kernels pass on the larger one."""


def leave_to_slow_runs(suite, check):
    """Mark this check of this suite slow, and not that of all others."""
    test = getattr(suite, f"test_{check}")

    @functools.wraps(test)
    def alone(self):
        test(self)

    setattr(suite, f"test_{check}", pytest.mark.slow(alone))


UNUSABLE: dict[str, str] = {}
for _, _offer in BUNDLED:
    try:
        _suite = suite_for(_offer.name)
    except FsframeError as error:
        UNUSABLE[_offer.name] = str(error)
        continue
    if _offer.entry.name in declared(_offer.entry, "SLOW"):
        _suite = pytest.mark.slow(_suite)
    elif _offer.entry.name in KIN:
        for _place, _check in enumerate(_suite.checks(), KIN.index(_offer.entry.name)):
            if _place % TURNS and _check not in ALWAYS:
                leave_to_slow_runs(_suite, _check)
    if _offer.entry.name in LONG:
        leave_to_slow_runs(_suite, LONG[_offer.entry.name])
    # One test class for each method, so that pytest names the method and the check.
    globals()[_suite.__name__ + _offer.entry.kind.title().replace(" ", "")] = _suite
    del _suite


def test_every_class_can_be_imported_and_made():
    assert not UNUSABLE


@pytest.mark.parametrize("what", ["EXCEPTIONS", "TRIED_AS", "SLOW"])
def test_declarations_are_about_methods_that_exist(what):
    names = {"*", *(offer.entry.name for _, offer in BUNDLED)}
    for _, offer in BUNDLED:
        unknown = set(declared(offer.entry, what)) - names
        assert not unknown, f"{offer.entry.target}: {what} names {unknown}"


def test_kin_are_methods_that_exist():
    assert {*KIN} <= {offer.entry.name for _, offer in BUNDLED}
    assert len({*KIN}) == len(KIN)


def test_every_plugin_says_where_its_methods_were_published():
    silent = [offer.name for _, offer in BUNDLED if not offer.entry.reference]
    assert not silent


# Works that have neither DOI nor arXiv number nor ISBN, or whose DOI could not be checked.
UNNUMBERED = {
    "fisher1925": "a book older than ISBNs",
    "sokal1958": "a bulletin without DOIs",
    "jakulin2005": "a thesis",
    "dunne2002": "a technical report",
    "brown2012": "JMLR gives no DOIs",
    "fleuret2004": "JMLR",
    "yu2004": "JMLR",
    "nogueira2018": "JMLR",
    "lustgarten2009": "AMIA proceedings have none",
    "kuncheva2007": "IASTED proceedings have none",
    "prat2016": "ESANN proceedings have none",
    "yang1999": "NIPS proceedings have none",
    "robnik1997": "ICML 1997 has none",
    "bei2015": "DOI not checked",
    "draper2003": "DOI not checked",
    "eppstein2008": "DOI not checked",
}


def test_references_are_complete():
    used = set()
    offers = [offer for _, offer in BUNDLED]
    for registry in (regressors, measures, readers):
        offers += registry.offers()
    for offer in offers:
        for text in publications(offer.entry.reference):
            fields = dict(re.findall(r"  (\w+) = \{(.+)\}", bibtex_of([text])))
            assert {"author", "year"} <= set(fields), text
            # Of a book, thesis or report, title and publisher are one field.
            title, _, publisher = fields.get("howpublished", "").partition(", ")
            assert "title" in fields or (" " in title and publisher), text
            result = identifiers(text)
            (key,) = cited_keys(text)
            used.add(key)
            assert bool(result) != (key in UNNUMBERED), (key, text)
            if "isbn" in result:
                digits = [10 if c == "X" else int(c) for c in result["isbn"].replace("-", "")]
                if len(digits) == 10:
                    assert sum(d * (10 - i) for i, d in enumerate(digits)) % 11 == 0, text
                else:
                    assert sum(d * (1 + 2 * (i % 2)) for i, d in enumerate(digits)) % 10 == 0, text
    assert set(UNNUMBERED) <= used


_DIGESTS = """
import json, sys
import fsframe
from fsframe.errors import FsframeError
from fsframe.testing import SelectorConformance, conformance, run_checks, suite_for, tables
found = {}
for name in json.loads(sys.argv[1]):
    method = suite_for(name)().make()
    data = tables.suited(method.tasks)
    selection = method.select(data, seed=3)
    found[name] = selection.selected.tobytes().hex() + selection.scores.tobytes().hex()
print(json.dumps(found))
"""


def test_another_process_with_another_hash_seed_gives_the_same_bits():
    # What repeats a base many times has the order of its base, and kin that of what they share.
    names = [n for n in fsframe.selectors if n not in KIN]
    done = python("-c", _DIGESTS, json.dumps(names), env={"PYTHONHASHSEED": "4711"})
    said = json.loads(done.out)
    for name in names:
        method = suite_for(name)().make()
        data = tables.suited(method.tasks)
        here = method.select(data, seed=3)
        assert said[name] == here.selected.tobytes().hex() + here.scores.tobytes().hex(), name


@attrs.frozen(kw_only=True)
class TwoClasses(fsframe.selectors["anova-f"]):
    """A method that refuses a third class before any work."""

    def task_problems(self, data):
        yield from super().task_problems(data)
        if data.task == "classification" and data.n_classes != 2:
            yield "it is for two classes"


def test_checks_of_three_classes_do_not_apply_to_a_method_that_declares_two(monkeypatch):
    monkeypatch.setattr(conformance, "TALLY", {})
    body = {"make": staticmethod(TwoClasses), "exceptions": {}}
    outcomes = {o.check: o for o in run_checks(type("TestTwo", (SelectorConformance,), body))}
    for check in ("three_classes_are_accepted", "every_class_counts"):
        assert outcomes[check].status == "not applicable"
        assert outcomes[check].detail == "it is for two classes"
    assert outcomes["order_of_classes_does_not_matter"].status == "passed"
    assert not [o for o in outcomes.values() if o.status == "failed" and "class" in o.check]
