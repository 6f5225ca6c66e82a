"""What all tests share: no clock in hypothesis, the line that counts checks, skips by system."""

from __future__ import annotations

import gc
import json
import os
import signal
import tomllib
from collections.abc import Callable, Generator
from importlib.metadata import distribution
from pathlib import Path

import pytest

# Before NumPy is loaded: several workers have the processors, and threads that wait for them spin.
# What is about threads of these libraries sets their number itself.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from hypothesis import settings

from fsframe.registry import default_manager
from fsframe.testing.conformance import pytest_terminal_summary
from tests.grids import FEW_EXAMPLES, MOST_EXAMPLES

__all__ = ["pytest_terminal_summary"]

# Equal examples in every run, and no deadline: the first call may import or compile.
for _name, _many in {"fsframe": FEW_EXAMPLES, "fsframe-slow": MOST_EXAMPLES}.items():
    settings.register_profile(_name, deadline=None, derandomize=True, max_examples=_many)
settings.load_profile("fsframe")


def is_long(config: pytest.Config) -> bool:
    """Whether the longer checks are asked for."""
    return bool(config.option.markexpr == "slow")


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
    if is_long(config):
        settings.load_profile("fsframe-slow")
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    named = set(tomllib.loads(text)["project"]["entry-points"]["fsframe"].items())
    entries = distribution("fsframe").entry_points.select(group="fsframe")
    installed = {(entry.name, entry.value) for entry in entries}
    if named != installed:
        pytest.exit(
            f"fsframe is installed without the bundled plugins {sorted(named - installed)} (or "
            f"with {sorted(installed - named)}, which are gone): run pip install -e . again",
            returncode=4,
        )


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector from walking through ten thousand tests again and again.

    They live to the end: looking at them took a third of the collection, and a twentieth of all.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


# What tests use that only some systems have.
OF_SOME_SYSTEMS = {
    **dict.fromkeys(("chown", "fork", "geteuid", "getuid", "killpg", "mkfifo"), os),
    **dict.fromkeys(("SIGALRM", "SIGHUP", "SIGKILL", "SIGSTOP", "setitimer"), signal),
}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip tests that use by name what this system has not, and say what that is.

    Properties, of which every run tries some examples, are among the longer checks too.
    """
    if is_long(config):
        for item in items:
            if getattr(getattr(item, "function", None), "is_hypothesis_test", False):
                item.add_marker(pytest.mark.slow)
    missing = {name for name, home in OF_SOME_SYSTEMS.items() if not hasattr(home, name)}
    for item in items if missing else ():
        # Of the test itself, and of functions that are its parameters.
        given = getattr(getattr(item, "callspec", None), "params", {}).values()
        codes = [getattr(f, "__code__", None) for f in (getattr(item, "function", None), *given)]
        used = sorted(missing & {name for code in codes if code for name in code.co_names})
        if used:
            item.add_marker(pytest.mark.skip(reason=f"this system has no {', '.join(used)}"))


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures that take no time, for what is not about pictures."""
    import fsframe.show.page as page
    import fsframe.show.section as sections

    monkeypatch.setattr(page, "figure_bytes", lambda _, form: f"a picture as {form}".encode())
    monkeypatch.setattr(sections, "figure_bytes", lambda _: b"<svg></svg>")


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
