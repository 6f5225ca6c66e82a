"""Base of the conformance classes: checks as test methods, declared exceptions, a tally."""

from __future__ import annotations

import functools
import unittest
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar

import attrs

from fsframe.errors import DataError, one_line
from fsframe.params import Parameterised, format_value
from fsframe.registry.importing import time_limit


@attrs.frozen(kw_only=True)
class Outcome:
    """The outcome of one check: `status` is passed, failed, excepted or not applicable."""

    check: str
    status: str
    detail: str = ""


TALLY: dict[str, list[Outcome]] = {}
"""Outcomes by class name, for the line that says how many checks were run."""


def not_applicable(reason: str) -> unittest.SkipTest:
    """Raised by a check that does not apply to the method; pytest shows it as skipped."""
    return unittest.SkipTest(reason)


def check(function: Callable[[Any], None]) -> Callable[[Any], None]:
    """Make a method ``test_…`` a check: exceptions are honoured, the outcome is counted.

    Raises
    ------
    AssertionError
        If the check fails without a declared exception, or passes despite one.
    """
    name = function.__name__.removeprefix("test_")

    @functools.wraps(function)
    def run(self: Conformance) -> None:
        outcomes = TALLY.setdefault(type(self).__qualname__, [])
        reason = self.exceptions.get(name)
        try:
            with time_limit(self.seconds):
                function(self)
        except unittest.SkipTest as skipped:
            outcomes.append(Outcome(check=name, status="not applicable", detail=str(skipped)))
            raise
        except KeyboardInterrupt:
            raise
        # A wrong result and a crash both fail a check.
        except BaseException as error:
            if reason is not None:
                outcomes.append(Outcome(check=name, status="excepted", detail=reason))
                return
            stated = isinstance(error, AssertionError) and str(error)
            detail = str(error) if stated else one_line(error)
            outcomes.append(Outcome(check=name, status="failed", detail=detail))
            raise
        if reason is not None:
            detail = f"the exception is not needed, remove it ({reason})"
            outcomes.append(Outcome(check=name, status="failed", detail=detail))
            raise AssertionError(f"{name}: {detail}")
        outcomes.append(Outcome(check=name, status="passed"))

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

    @staticmethod
    def make() -> Any:
        """A new object of the method under test, with the parameters to test it with."""
        raise NotImplementedError("write make() so that it returns the object to test")

    @classmethod
    def checks(cls) -> tuple[str, ...]:
        """Names of the checks, as used in `exceptions`."""
        found = [name for name in dir(cls) if getattr(getattr(cls, name), "is_law", False)]
        return tuple(name.removeprefix("test_") for name in found)

    @check
    def test_exceptions_name_checks_and_reasons(self) -> None:
        known = set(self.checks())
        for name, reason in self.exceptions.items():
            assert name in known, (
                f"there is no check {name!r}; there are {', '.join(sorted(known))}"
            )
            assert reason.strip(), f"the exception {name!r} has no reason"

    @check
    def test_parameters_read_back_from_text(self) -> None:
        method = self.make()
        if not isinstance(method, Parameterised):
            raise not_applicable("it has no parameters")
        for values in (method.changed(), method.values()):
            texts = {name: format_value(value) for name, value in values.items()}
            assert type(method).from_texts(texts) == method


def run_checks(suite: type[Conformance]) -> Iterator[Outcome]:
    """Run every check of `suite` without pytest, and yield the outcomes."""
    for name in suite.checks():
        outcomes = TALLY.setdefault(suite.__qualname__, [])
        before = len(outcomes)
        try:
            getattr(suite(), f"test_{name}")()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # Recorded as the outcome; the next check is run anyway.
            if len(outcomes) == before:
                outcomes.append(Outcome(check=name, status="failed", detail=one_line(error)))
        yield outcomes[-1]


def by_cause(outcomes: Iterable[Outcome]) -> dict[str, list[str]]:
    """The failed checks, by message: one fault may fail several.

    >>> broken = [Outcome(check=name, status="failed", detail="IndexError") for name in ("a", "b")]
    >>> by_cause([*broken, Outcome(check="c", status="passed")])
    {'IndexError': ['a', 'b']}
    """
    found: dict[str, list[str]] = {}
    for outcome in outcomes:
        if outcome.status == "failed":
            found.setdefault(outcome.detail, []).append(outcome.check)
    return dict(sorted(found.items(), key=lambda each: -len(each[1])))


def assert_refused(call: Callable[[], Any], what: str) -> None:
    """Assert that `call` raises DataError with a message; `what` names what it should refuse."""
    try:
        call()
    except DataError as error:
        assert str(error).strip(), f"{what}: refused without a message"
        return
    raise AssertionError(f"{what}: neither declared nor refused")


def check_declarations(method: Parameterised, name: str | None) -> None:
    """Assert that docstring, help of every parameter and registered name are there."""
    cls = type(method)
    first = (cls.__doc__ or "").strip().partition("\n")[0]
    assert first and not first.startswith("Method generated by attrs"), (
        f"{cls.__name__} has no docstring"
    )
    assert attrs.has(cls) and cls.__setattr__ is not object.__setattr__, (
        f"{cls.__name__} is not frozen; put @attrs.frozen(kw_only=True) above it"
    )
    silent = [p.name for p in method.parameters() if not p.help.strip()]
    assert not silent, f"no help for {', '.join(silent)}"
    if name is not None:
        assert method.method_name() == name, (
            f"messages call it {method.method_name()!r}, it is registered as {name!r}; "
            "override method_name()"
        )
