"""A stage and a classifier that do what no plugin should; ``UNRULY_IMPORT`` does so at import."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

from fsframe.registry.entries import ClassifierEntry, SelectorEntry
from fsframe.registry.hookspecs import hookimpl

if os.environ.get("UNRULY_IMPORT") == "loop":
    while True:
        try:
            pass
        except Exception:
            continue
if os.environ.get("UNRULY_IMPORT") == "interrupt":
    try:
        raise KeyboardInterrupt
    except BaseException:
        raise ImportError("the kernels could not be compiled") from None
if os.environ.get("UNRULY_IMPORT") == "slow":
    time.sleep(0.6)
if os.environ.get("UNRULY_IMPORT") == "chdir":
    os.chdir("/")


@hookimpl
def fsframe_selectors() -> Iterator[SelectorEntry]:
    yield SelectorEntry(name="unruly", target="unruly_stages:Unruly", summary="For tests")


@hookimpl
def fsframe_classifiers() -> Iterator[ClassifierEntry]:
    yield ClassifierEntry(name="unruly-knn", target="unruly_stages:UnrulyKnn", summary="For tests")
