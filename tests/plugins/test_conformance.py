"""Every selector, classifier and metric in the registry passes the conformance checks of its kind.

Exceptions stand in the `conformance` module of each plugin, by name and reason.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import fsframe
from fsframe.errors import FsframeError
from fsframe.testing import suite_for, tables
from fsframe.testing.declarations import declared

REGISTRIES = (fsframe.selectors, fsframe.classifiers, fsframe.stability_metrics)
BUNDLED = [
    (registry, offer)
    for registry in REGISTRIES
    for offer in registry.offers()
    if offer.plugin.source.distribution == "fsframe"
]

UNUSABLE: dict[str, str] = {}
for _, _offer in BUNDLED:
    try:
        _suite = suite_for(_offer.name)
    except FsframeError as error:
        UNUSABLE[_offer.name] = str(error)
        continue
    if _offer.entry.name in declared(_offer, "SLOW"):
        _suite = pytest.mark.slow(_suite)
    # One test class for each method, so that pytest names the method and the check.
    globals()[_suite.__name__ + _offer.entry.kind.title().replace(" ", "")] = _suite
    del _suite


def test_every_class_can_be_imported_and_made() -> None:
    assert not UNUSABLE


def test_the_registry_is_full() -> None:
    kinds = [offer.entry.kind for _, offer in BUNDLED]
    assert kinds.count("selector") >= 20
    assert kinds.count("classifier") >= 3
    assert kinds.count("regressor") >= 1
    assert kinds.count("stability metric") >= 20


@pytest.mark.parametrize("what", ["EXCEPTIONS", "TRIED_AS", "SLOW"])
def test_declarations_are_about_methods_that_exist(what: str) -> None:
    names = {"*", *(offer.entry.name for _, offer in BUNDLED)}
    for _, offer in BUNDLED:
        unknown = set(declared(offer, what)) - names
        assert not unknown, f"{offer.entry.target}: {what} names {unknown}"


def test_every_plugin_says_where_its_methods_were_published() -> None:
    silent = [offer.name for _, offer in BUNDLED if not offer.entry.reference]
    # Protocols and the bridge to another library are no published methods.
    assert set(silent) <= {"cross-validation", "stability-study", "sklearn", "knn"}


_DIGESTS = """
import json, sys
import fsframe
from fsframe.errors import FsframeError
from fsframe.testing import suite_for, tables
found = {}
for name in json.loads(sys.argv[1]):
    method = suite_for(name)().make()
    data = tables.suited(method.tasks)
    selection = method.select(data, seed=3)
    found[name] = selection.selected.tobytes().hex() + selection.scores.tobytes().hex()
print(json.dumps(found))
"""


def test_another_process_with_another_hash_seed_gives_the_same_bits() -> None:
    names = [offer.name for offer in fsframe.selectors.offers()]
    done = subprocess.run(
        [sys.executable, "-c", _DIGESTS, json.dumps(names)],
        env={**os.environ, "PYTHONHASHSEED": "4711"},
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    for name in names:
        method = suite_for(name)().make()
        data = tables.suited(method.tasks)
        here = method.select(data, seed=3)
        assert found[name] == here.selected.tobytes().hex() + here.scores.tobytes().hex(), name
