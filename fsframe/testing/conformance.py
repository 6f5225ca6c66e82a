"""Base of the conformance classes: checks, exceptions, a tally; and side effects of a call."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import locale
import logging
import os
import pickle
import random
import sys
import tempfile
import tracemalloc
import unittest
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, cast
from unittest import mock

import attrs
import numpy as np

from fsframe.errors import DataError, FsframeError, one_line
from fsframe.params import Parameterised, format_value
from fsframe.registry.manager import time_limit
from fsframe.text import counted


@attrs.frozen(kw_only=True)
class Outcome:
    """The outcome of one check: `status` is passed, failed, excepted or not applicable."""

    check: str
    status: str
    detail: str = ""


TALLY: dict[str, list[Outcome]] = {}
"""Outcomes by class name, for the line that says how many checks were run."""


def not_applicable(reason: str) -> unittest.SkipTest:
    """The error of a check that does not apply to the method; pytest shows it as skipped."""
    return unittest.SkipTest(reason)


def only_if(condition: object, otherwise: str) -> None:
    """End a check as not applicable, `otherwise` being the reason, unless `condition` holds."""
    if not condition:
        raise not_applicable(otherwise)


def _check(function: Callable[[Any], None]) -> Callable[[Any], None]:
    """Make a method ``test_…`` a check, which honours exceptions and counts its outcome.

    Raises
    ------
    AssertionError
        If the check fails without a declared exception, or passes despite one.
    """
    name = function.__name__.removeprefix("test_")

    @functools.wraps(function)
    def run(self: Conformance) -> None:
        reason = self.exceptions.get(name)

        def count(status: str, detail: str = "") -> None:
            outcome = Outcome(check=name, status=status, detail=detail)
            TALLY.setdefault(type(self).__qualname__, []).append(outcome)

        try:
            with time_limit(self.seconds):
                function(self)
        except unittest.SkipTest as skipped:
            count("not applicable", str(skipped))
            raise
        except KeyboardInterrupt:
            raise
        # A wrong result and a crash both fail a check.
        except BaseException as error:
            if reason is not None:
                return count("excepted", reason)
            stated = isinstance(error, AssertionError) and str(error)
            count("failed", str(error) if stated else one_line(error))
            raise
        if reason is None:
            return count("passed")
        detail = f"the exception is not needed, remove it ({reason})"
        count("failed", detail)
        raise AssertionError(f"{name}: {detail}")

    run.is_law = True  # type: ignore[attr-defined]
    return run


class Conformance:
    """Base of the suites.

    Attributes
    ----------
    exceptions : mapping of str to str
        Checks that the method fails for a good reason, with the reason.
    rtol : float
        Relative tolerance of checks that hold up to rounding.
    seconds : float
        Time limit of one check: an endless loop fails it. Compiled code that does not return to
        Python cannot be stopped.
    name : str, optional
        The name that the method is registered under.
    advice : str
        What to do if checks fail, for the end of `fsframe check`.
    """

    name: ClassVar[str | None] = None
    advice: ClassVar[str] = ""
    exceptions: ClassVar[Mapping[str, str]] = {}
    rtol: ClassVar[float] = 1e-7
    seconds: ClassVar[float] = 300.0

    def __init_subclass__(cls) -> None:
        """Make every method ``test_…`` of a suite of fsframe a check; those of authors are not."""
        super().__init_subclass__()
        if cls.__module__.startswith("fsframe.testing."):
            for name, function in [*vars(cls).items()]:
                if name.startswith("test_"):
                    setattr(cls, name, _check(function))

    @staticmethod
    def make() -> Any:
        """A new object of the method under test, with the parameters to test it with."""
        raise NotImplementedError("write make() so that it returns the object to test")

    @classmethod
    def checks(cls) -> tuple[str, ...]:
        """Names of the checks, as used in `exceptions`."""
        tests = [name for name in dir(cls) if getattr(getattr(cls, name), "is_law", False)]
        return tuple(name.removeprefix("test_") for name in tests)

    @_check
    def test_exceptions_name_checks_and_reasons(self) -> None:
        known = set(self.checks())
        for name, reason in self.exceptions.items():
            assert name in known, (
                f"there is no check {name!r}; there are {', '.join(sorted(known))}"
            )
            assert reason.strip(), f"the exception {name!r} has no reason"

    @_check
    def test_parameters_read_back_from_text(self) -> None:
        method = self.make()
        only_if(isinstance(method, Parameterised), "it has no parameters")
        for values in (method.changed(), method.values()):
            texts = {name: format_value(value) for name, value in values.items()}
            assert type(method).from_texts(texts) == method


@functools.cache
def _names_of_estimators() -> frozenset[str]:
    """Names of members of estimators, which a parameter of that name would hide."""
    from fsframe.sklearn.estimators import (
        ClassifierEstimator,
        RegressorEstimator,
        WeightedSelectorEstimator,
    )

    bases = (ClassifierEstimator, RegressorEstimator, WeightedSelectorEstimator)
    return frozenset(n for base in bases for n in dir(base) if not n.startswith("_"))


class MethodChecks(Conformance):
    """Checks of anything with parameters: selectors, classifiers, regressors, measures, metrics.

    Attributes
    ----------
    kind : type
        The class that the method has to derive from.
    """

    kind: ClassVar[type[Parameterised]]

    def test_declarations_are_complete(self) -> None:
        method, cls = self.make(), type(self.make())
        assert isinstance(method, self.kind), f"make() returned {cls.__name__}"
        first = (cls.__doc__ or "").strip().partition("\n")[0]
        assert first and not first.startswith("Method generated by attrs"), (
            f"{cls.__name__} has no docstring"
        )
        assert attrs.has(cls) and cls.__setattr__ is not object.__setattr__, (
            f"{cls.__name__} is not frozen; put @attrs.frozen(kw_only=True) above it"
        )
        hidden = _names_of_estimators() & {p.name for p in method.parameters()}
        assert not hidden, (
            f"parameter {', '.join(sorted(hidden))}: its scikit-learn estimator has a member of "
            "that name, which the parameter would hide; rename it"
        )
        silent = [p.name for p in method.parameters() if not p.help.strip()]
        assert not silent, f"no help for {', '.join(silent)}"
        assert self.name is None or method.method_name() == self.name, (
            f"messages call it {method.method_name()!r}, it is registered as {self.name!r}; "
            "override method_name()"
        )
        self._check_declared(method)

    def _check_declared(self, method: Any) -> None:
        """Check the declarations of this kind of method."""

    def test_pickles(self) -> None:
        method = self.make()
        assert pickle.loads(pickle.dumps(method)) == method
        self._check_pickled()

    def _check_pickled(self) -> None:
        """Check that the results of the method can be pickled, too."""


class CallChecks(Conformance):
    """Checks that a usual call, which `_use` makes, has no side effects."""

    def _use(self) -> None:
        raise NotImplementedError

    def test_nothing_global_is_changed(self) -> None:
        changed = changed_globals(self._use)
        assert not changed, f"changed for the whole process: {'; '.join(changed)}"

    def test_no_file_is_written(self) -> None:
        written = written_files(self._use)
        assert not written, f"files are written by the core only: {', '.join(written[:3])}"


def run_checks(suite: type[Conformance]) -> Iterator[Outcome]:
    """Run every check of `suite` without pytest, and yield the outcomes."""
    for name in suite.checks():
        try:
            getattr(suite(), f"test_{name}")()
        except KeyboardInterrupt:
            raise
        except BaseException:  # Recorded as the outcome; the next check is run anyway.
            pass
        yield TALLY[suite.__qualname__][-1]


def by_cause(outcomes: Iterable[Outcome]) -> dict[str, list[str]]:
    """The failed checks, by message: one fault may fail several.

    >>> broken = [Outcome(check=name, status="failed", detail="IndexError") for name in ("a", "b")]
    >>> by_cause([*broken, Outcome(check="c", status="passed")])
    {'IndexError': ['a', 'b']}
    """
    causes: dict[str, list[str]] = {}
    for outcome in outcomes:
        if outcome.status == "failed":
            causes.setdefault(outcome.detail, []).append(outcome.check)
    return dict(sorted(causes.items(), key=lambda each: -len(each[1])))


def refusal_of(
    call: Callable[[], Any], otherwise: str, kind: type[Exception] = DataError
) -> Exception:
    """The error of that kind that `call` raises; AssertionError(`otherwise`) if there is none."""
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(otherwise)


def assert_refused(call: Callable[[], Any], what: str) -> None:
    """Assert that `call` raises DataError with a message; `what` names what it should refuse."""
    error = refusal_of(call, f"{what}: neither declared nor refused")
    assert str(error).strip(), f"{what}: refused without a message"


def unless_refused(call: Callable[[], Any]) -> Any:
    """What `call` returns, without a RuntimeWarning of numpy; None if it refuses with a message."""
    try:
        with numpy_warnings_raised():
            return call()
    except FsframeError as error:
        assert isinstance(error, DataError) or error.exit_code == 2, (
            f"{type(error).__name__} instead of a DataError: {error}"
        )
        assert str(error).strip(), "refused without a message"
        return None


@contextlib.contextmanager
def numpy_warnings_raised() -> Iterator[None]:
    """Context in which RuntimeWarnings of numpy are raised as errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Write the number of checks and methods, and the outcomes, at the end of a run with checks.

    A hook of pytest, for the ``conftest.py`` of a plugin's tests::

        from fsframe.testing import pytest_terminal_summary
    """
    if TALLY:
        outcomes = Counter(outcome.status for suite in TALLY.values() for outcome in suite)
        parts = ", ".join(f"{number} {status}" for status, number in sorted(outcomes.items()))
        methods = counted(len(TALLY), "method")
        terminalreporter.write_line(
            f"fsframe.testing: {outcomes.total()} checks of {methods}: {parts}"
        )


_observed: list[str] | None = None
_hook_added = False
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# Writing to caches and devices is no side effect.
_IGNORED = (f"{os.sep}__pycache__{os.sep}", f"{os.sep}dev{os.sep}")


def _observe(event: str, arguments: tuple[Any, ...]) -> None:
    if _observed is None:
        return
    if event == "open":
        path, mode, flags = arguments
        writes = set(mode or "") & set("wax+") or (flags or 0) & _WRITING
        if writes and isinstance(path, (str, bytes, os.PathLike)):
            _observed.append(os.path.abspath(os.fsdecode(path)))
    elif event in ("os.mkdir", "os.rename", "os.link", "os.symlink"):
        path = arguments[0 if event == "os.mkdir" else 1]
        _observed.append(os.path.abspath(os.fsdecode(path)))


def written_files(call: Callable[[], Any]) -> list[str]:
    """The files and folders that `call` creates or changes and leaves behind.

    It is called twice and observed the second time, since compiled kernels and caches of libraries
    are written at first use.
    """
    global _observed, _hook_added
    if not _hook_added:
        sys.addaudithook(_observe)
        _hook_added = True
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        call()
        _observed = []
        try:
            call()
        finally:
            observed, _observed = _observed, None
        written = {path for path in observed if os.path.lexists(path)}
    return sorted(path for path in written if not any(part in path for part in _IGNORED))


def peak_bytes(call: Callable[[], Any]) -> int:
    """Peak of the memory that Python and numpy allocate during `call`, in bytes.

    Memory that compiled code allocates directly from the system is not counted.
    """
    running = tracemalloc.is_tracing()
    if not running:
        tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        call()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        if not running:
            tracemalloc.stop()


def changed_globals(call: Callable[[], Any]) -> list[str]:
    """The parts of the process's global state that `call` changes, in words.

    The state is first set to unusual values, so that a change made by an earlier call is detected
    too; afterwards it is restored.
    """
    with _kept(), tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        _scramble()
        before = _state()
        call()
        after = _state()
        return [name for name in before if before[name] != after[name]]


_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")


@contextlib.contextmanager
def _kept() -> Iterator[None]:
    """Restore everything that `_scramble` and the call change."""
    numpy_state, python_state = np.random.get_state(), random.getstate()
    limit, level = sys.getrecursionlimit(), logging.getLogger().level
    settings = dict(dict.items(_settings()))
    try:
        with (
            warnings.catch_warnings(),
            np.errstate(),
            np.printoptions(),
            mock.patch.dict(os.environ),
            mock.patch.object(sys, "path", [*sys.path]),
        ):
            yield
    finally:
        np.random.set_state(numpy_state)
        random.setstate(python_state)
        sys.setrecursionlimit(limit)
        logging.getLogger().setLevel(level)
        dict.update(_settings(), settings)


def _scramble() -> None:
    np.random.seed(20011)
    np.random.random(3)
    random.seed(20011)
    random.random()
    np.seterr(divide="warn", over="warn", under="warn", invalid="warn")
    np.set_printoptions(precision=7)
    for name in _THREADS:
        os.environ.pop(name, None)
    warnings.resetwarnings()
    logging.getLogger().setLevel(logging.WARNING + 1)
    dict.update(_settings(), backend="pdf")


def _settings() -> dict[str, Any]:
    """matplotlib's settings; an empty dict if it is not installed.

    Read and write them as a plain dict (`dict.items`, `dict.update`): the methods of their class
    choose a backend.
    """
    if importlib.util.find_spec("matplotlib") is None:
        return {}
    from matplotlib import rcParams

    return cast(dict[str, Any], rcParams)


def _state() -> dict[str, Any]:
    return {
        "numpy's error handling (use `with np.errstate(...)`)": np.geterr(),
        "numpy's random state (use run.generator())": repr(np.random.get_state()),
        "Python's random state (use run.generator())": random.getstate(),
        "numpy's print options": repr(np.get_printoptions()),
        "the warning filters (use `with warnings.catch_warnings()`)": list(warnings.filters),
        "the working directory": os.getcwd(),
        "environment variables": dict(os.environ),
        "sys.path": list(sys.path),
        "the recursion limit": sys.getrecursionlimit(),
        "the locale": locale.setlocale(locale.LC_ALL),
        "the level of the root logger": logging.getLogger().level,
        "standard streams": (id(sys.stdout), id(sys.stderr)),
        "matplotlib's settings or backend": dict(dict.items(_settings())),
    }


# Functions whose reading of an attribute does not count as use.
_GENERIC = ("check_parameters",)


def read_attributes(thing: Any, call: Callable[[], Any]) -> set[str]:
    """Names of the attributes of `thing` that are read during `call`.

    Comparing, copying, displaying and validating it do not count. No other object of its class may
    be used meanwhile.
    """
    kind, names = type(thing), set()

    def spy(self: Any, name: str) -> Any:
        if self is thing:
            code = sys._getframe(1).f_code
            place = code.co_filename
            generic = place.endswith(("params.py",)) or place.startswith("<attrs")
            if not generic and code.co_name not in _GENERIC:
                names.add(name)
        return object.__getattribute__(self, name)

    kind.__getattribute__ = spy  # type: ignore[assignment]
    try:
        call()
    finally:
        del kind.__getattribute__
    return names
