"""Commands about this machine: info, warm."""

from __future__ import annotations

import os
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import as_completed
from typing import TYPE_CHECKING

import attrs
import click

from fsframe import execution
from fsframe.cli.options import COUNT, by_family
from fsframe.cli.terminal import json_option, option, say, say_json
from fsframe.errors import FsframeError, RequestError, StoreError
from fsframe.registry import Offer, selectors
from fsframe.text import did_you_mean

if TYPE_CHECKING:
    from fsframe.table.dataset import Dataset


@click.command()
@json_option
def info(as_json: bool) -> None:
    """Show the versions and limits in use.

    \b
    Example:
      fsframe info
    """
    from fsframe.chains.request import environment
    from fsframe.method.run import DEFAULT_MEMORY
    from fsframe.system import available_processors, missing_protections
    from fsframe.table.text_file import memory_bound

    facts: dict[str, object] = dict(environment())
    facts["threads"] = available_processors()
    facts["memory bound"] = f"{DEFAULT_MEMORY / 1024**3:g} GiB"
    facts.update({name: os.environ[name] for name in os.environ if name.startswith("FSFRAME_")})
    if missing := missing_protections():
        facts["not guarded"] = missing if as_json else "; ".join(missing)
    try:
        memory_bound()
    except RequestError as error:
        say(f"note: {error}", err=True)
    if as_json:
        say_json(facts)
        return
    width = max(map(len, facts))
    for name, value in facts.items():
        say(f"{name:<{width}}  {value}")


@click.command()
@click.argument("families", nargs=-1, metavar="[FAMILY]...")
@option(
    "--workers",
    "Processes that compile, one family each at a time; by default as many as processors.",
    type=COUNT,
)
@json_option
def warm(families: tuple[str, ...], workers: int | None, as_json: bool) -> None:
    """Compile the numerical kernels of all families, or of those named, and cache them.

    Runs every method with its defaults on small tables of each kind: numeric, nominal, with missing
    values, more columns than rows, numeric target. Kernels that only other settings or large tables
    need are compiled when first used. Kernels already compiled are reused. Exit code 5 if kernels
    cannot be stored.

    \b
    Example:
      fsframe warm
      fsframe warm margin interactions
    """
    from fsframe.system import available_processors

    begun = time.perf_counter()
    count = min(workers or available_processors(), len(families) or len(compiled_families()))

    def tell(done: CompilationResult) -> None:
        if not as_json:
            say(f"{done.family}: {_compiled(sum(done.kernels.values()))}, {done.seconds:.1f} s")
            for reason in done.failed:
                say(f"  not run: {reason}")

    with execution.open_engine(workers=count if count > 1 else None) as engine:
        done = compile_families(families, engine, tell)
    kept = Counter[str]()
    for each in done:
        kept.update(each.kernels)
    lost = kept.pop("", 0)
    seconds = time.perf_counter() - begun
    if as_json:
        compiled = [
            {"family": each.family, "seconds": each.seconds, "kernels": sum(each.kernels.values())}
            for each in done
        ]
        say_json({"families": compiled, "folders": kept, "not_kept": lost, "seconds": seconds})
    else:
        for folder, number in sorted(kept.items()):
            say(f"{number:>4} in {folder}")
        say(f"{_compiled(sum(kept.values()) + lost)}, {seconds:.1f} s")
    if lost:
        raise StoreError(
            f"{lost} compiled kernels could not be cached: no cache folder is writable; set "
            "NUMBA_CACHE_DIR to one that is"
        )


def _compiled(number: int) -> str:
    return f"{number} kernels compiled" if number else "nothing to compile"


@attrs.frozen(kw_only=True)
class CompilationResult:
    """Result of compiling one family ahead of time.

    `seconds` include the runs on small tables. `kernels` gives the number of kernels by cache
    folder, with ``""`` for those that could not be cached. `failed` holds the messages of methods
    that could not run.
    """

    family: str
    seconds: float
    kernels: dict[str, int]
    failed: tuple[str, ...] = ()


def compiled_families() -> dict[str, list[Offer]]:
    """Family → its selectors that declare compiled kernels, both in alphabetical order."""
    return by_family(o for o in selectors.offers() if getattr(o.entry, "compiles", False))


def compile_families(
    families: Sequence[str] = (),
    engine: execution.Engine | None = None,
    tell: Callable[[CompilationResult], None] = lambda _: None,
) -> list[CompilationResult]:
    """Compile and cache the kernels of some families, by default of all.

    Parameters
    ----------
    families : sequence of str
        Names as listed by ``fsframe methods``, or prefixes of them.
    engine : Engine, optional
        Engine whose workers compile one family each; by default this process compiles all.
    tell : callable
        Called with the result of each family.

    Returns
    -------
    list of CompilationResult
        In alphabetical order.

    Raises
    ------
    RequestError
        If there is no such family.
    """
    names = _families_named(families)
    results: Iterable[CompilationResult]
    if engine is None:
        results = map(warm_family, names)
    else:
        # The largest family first, so that it does not run alone at the end.
        offers = compiled_families()
        names.sort(key=lambda name: -len(offers[name]))
        futures = [engine.submit(warm_family, name) for name in names]
        results = (future.result() for future in as_completed(futures))
    done = []
    for each in results:
        tell(each)
        done.append(each)
    return sorted(done, key=lambda each: each.family)


def warm_family(family: str) -> CompilationResult:
    """Run every method of a family on every kind of table that it accepts."""
    from fsframe.kernels.compiled import KEPT
    from fsframe.method.stage_view import wraps_left

    begun, before, failed = time.perf_counter(), KEPT.copy(), []
    for offer in compiled_families()[family]:
        ran, refusal = False, ""
        try:
            method = selectors[offer.name]()
        except FsframeError as error:
            failed.append(f"{offer.name}: {error}")
            continue
        if wraps_left(method):
            continue
        for table in _tables():
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    method.select(table, seed=0)
                ran = True
            except FsframeError as error:
                # For example, a method that does not accept missing values.
                refusal = str(error)
        if not ran:
            failed.append(f"{offer.name}: {refusal}")
    return CompilationResult(
        family=family,
        seconds=time.perf_counter() - begun,
        kernels=dict(KEPT - before),
        failed=tuple(failed),
    )


def _tables() -> Iterator[Dataset]:
    """Small tables: numbers, levels, missing values, more columns than rows, a numeric target."""
    import numpy as np

    from fsframe.table.dataset import Dataset

    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(60, 8))
    two, three = np.arange(60) % 2, np.arange(60) % 3
    yield Dataset.from_arrays(numbers, two)
    yield Dataset.from_arrays(rng.integers(0, 3, (60, 8)).astype(float), three)
    yield Dataset.from_arrays(np.where(rng.random((60, 8)) < 0.1, np.nan, numbers), two)
    yield Dataset.from_arrays(rng.normal(size=(40, 300)), np.arange(40) % 2)
    yield Dataset.from_arrays(numbers, numbers[:, 0] + rng.normal(size=60))


def _families_named(families: Sequence[str]) -> list[str]:
    there = list(compiled_families())
    asked = []
    for name in families or there:
        of_name = [each for each in there if each == name] or [
            each for each in there if each.startswith(name)
        ]
        if len(of_name) != 1:
            raise RequestError(
                f"no family {name!r} has kernels to compile; families with kernels: "
                f"{', '.join(there)}" + did_you_mean(name, there)
            )
        asked.append(of_name[0])
    return list(dict.fromkeys(asked))
