"""What all tests share: hypothesis without a clock, and the line that counts the checks checked."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable, Generator
from importlib.metadata import distribution
from pathlib import Path

import pytest
from hypothesis import settings

from fsframe.registry import default_manager
from fsframe.testing.conformance import pytest_terminal_summary

__all__ = ["pytest_terminal_summary"]

# Equal examples in every run, and no deadline: the first call may import or compile.
settings.register_profile("fsframe", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("fsframe")


class RegisteredClassesLeave:
    """What a test or an example registers is gone after it; others list all plugins."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        kept = dict(default_manager()._here)
        done = yield
        default_manager()._here.clear()
        default_manager()._here.update(kept)
        return done


def pytest_configure(config: pytest.Config) -> None:
    """Refuse to test with the entry points of another state, without some of the plugins."""
    # A fixture of this file would reach tests/ alone, not the examples in docstrings of fsframe/.
    config.pluginmanager.register(RegisteredClassesLeave())
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    named = set(tomllib.loads(text)["project"]["entry-points"]["fsframe"])
    installed = {
        entry.name for entry in distribution("fsframe").entry_points if entry.group == "fsframe"
    }
    if named != installed:
        pytest.exit(
            f"fsframe is installed without the bundled plugins {sorted(named - installed)} (or "
            f"with {sorted(installed - named)}, which are gone): run pip install -e . again",
            returncode=4,
        )


@pytest.fixture
def count() -> Callable[..., None]:
    """Says what a long test counted; adds a line to the file FSFRAME_FIGURES, if that is set."""

    def say(what: str, **counts: object) -> None:
        line = json.dumps({"what": what, **counts})
        print(line)
        if path := os.environ.get("FSFRAME_FIGURES"):
            with open(path, "a", encoding="utf-8") as file:
                file.write(line + "\n")

    return say
