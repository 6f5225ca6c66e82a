"""Base of the conformance classes: laws as test methods, declared exceptions, a tally."""

from __future__ import annotations

import functools
import unittest
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar

import attrs

from fsframe.contracts.params import Parameterised, format_value
from fsframe.errors import DataError, one_line
from fsframe.registry.importing import time_limit

__all__ = [
    "TALLY",
    "Conformance",
    "Outcome",
    "assert_refused",
    "by_cause",
    "law",
    "not_applicable",
    "run_checks",
]


@attrs.frozen(kw_only=True)
class Outcome:
    """The outcome of one law: `status` is passed, failed, excepted or not applicable."""

    law: str
    status: str
    detail: str = ""


TALLY: dict[str, list[Outcome]] = {}
"""Outcomes by class name, for the line that says how many checks were run."""


def not_applicable(reason: str) -> unittest.SkipTest:
    """Raised by a law that does not apply to the method; pytest shows it as skipped."""
    return unittest.SkipTest(reason)


def law(function: Callable[[Any], None]) -> Callable[[Any], None]:
    """Make a method ``test_…`` a law: exceptions are honoured, the outcome is counted.

    Raises
    ------
    AssertionError
        If the law is broken without a declared exception, or holds despite one.
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
            outcomes.append(Outcome(law=name, status="not applicable", detail=str(skipped)))
            raise
        except KeyboardInterrupt:
            raise
        # A wrong result and a crash both break a law.
        except BaseException as error:
            if reason is not None:
                outcomes.append(Outcome(law=name, status="excepted", detail=reason))
                return
            stated = isinstance(error, AssertionError) and str(error)
            detail = str(error) if stated else one_line(error)
            outcomes.append(Outcome(law=name, status="failed", detail=detail))
            raise
        if reason is not None:
            detail = f"the exception is not needed, remove it ({reason})"
            outcomes.append(Outcome(law=name, status="failed", detail=detail))
            raise AssertionError(f"{name}: {detail}")
        outcomes.append(Outcome(law=name, status="passed"))

    run.is_law = True  # type: ignore[attr-defined]
    return run


class Conformance:
    """Base of the suites.

    Attributes
    ----------
    exceptions : mapping of str to str
        Laws that the method breaks for a good reason, with the reason.
    rtol : float
        Relative tolerance of laws that hold up to rounding.
    seconds : float
        Time limit of one law: an endless loop breaks it. Compiled code that does not return to
        Python cannot be stopped.
    name : str, optional
        The name that the method is registered under.
    """

    name: ClassVar[str | None] = None
    exceptions: ClassVar[Mapping[str, str]] = {}
    rtol: ClassVar[float] = 1e-7
    seconds: ClassVar[float] = 300.0

    @staticmethod
    def make() -> Any:
        """A new object of the method under test, with the parameters to test it with."""
        raise NotImplementedError("write make() so that it returns the object to test")

    @classmethod
    def laws(cls) -> tuple[str, ...]:
        """Names of the laws, as used in `exceptions`."""
        found = [name for name in dir(cls) if getattr(getattr(cls, name), "is_law", False)]
        return tuple(name.removeprefix("test_") for name in found)

    @law
    def test_exceptions_name_checks_and_reasons(self) -> None:
        known = set(self.laws())
        for name, reason in self.exceptions.items():
            assert name in known, (
                f"there is no check {name!r}; there are {', '.join(sorted(known))}"
            )
            assert reason.strip(), f"the exception {name!r} has no reason"

    @law
    def test_parameters_read_back_from_text(self) -> None:
        method = self.make()
        for values in (method.changed(), method.values()):
            texts = {name: format_value(value) for name, value in values.items()}
            assert type(method).from_texts(texts) == method


def run_checks(suite: type[Conformance]) -> Iterator[Outcome]:
    """Run every law of `suite` without pytest, and yield the outcomes."""
    for name in suite.laws():
        outcomes = TALLY.setdefault(suite.__qualname__, [])
        before = len(outcomes)
        try:
            getattr(suite(), f"test_{name}")()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # Recorded as the outcome; the next law is run anyway.
            if len(outcomes) == before:
                outcomes.append(Outcome(law=name, status="failed", detail=one_line(error)))
        yield outcomes[-1]


def by_cause(outcomes: Iterable[Outcome]) -> dict[str, list[str]]:
    """The failed laws, by message: one fault may break several.

    >>> broken = [Outcome(law=name, status="failed", detail="IndexError") for name in ("a", "b")]
    >>> by_cause([*broken, Outcome(law="c", status="passed")])
    {'IndexError': ['a', 'b']}
    """
    found: dict[str, list[str]] = {}
    for outcome in outcomes:
        if outcome.status == "failed":
            found.setdefault(outcome.detail, []).append(outcome.law)
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
