"""Compile the numerical kernels before the first run."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from fsframe.cli.terminal import json_option, say, say_json
from fsframe.errors import StoreError

if TYPE_CHECKING:
    from fsframe.show.precompilation import CompilationResult


@click.command()
@click.argument("families", nargs=-1, metavar="[FAMILY]...")
@click.option(
    "--workers",
    type=click.IntRange(1),
    help="Processes that compile, one family each at a time; by default as many as processors.",
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
    from fsframe.execution import open_engine
    from fsframe.kernels.threads import available_threads
    from fsframe.show.precompilation import compiled_families, warm

    begun = time.perf_counter()
    count = min(workers or available_threads(), len(families) or len(compiled_families()))

    def tell(done: CompilationResult) -> None:
        if not as_json:
            say(f"{done.family}: {_compiled(sum(done.kernels.values()))}, {done.seconds:.1f} s")
            for reason in done.failed:
                say(f"  not run: {reason}")

    with open_engine(workers=count if count > 1 else None) as engine:
        done = warm(families, engine, tell)
    kept: dict[str, int] = {}
    for each in done:
        for folder, number in each.kernels.items():
            kept[folder] = kept.get(folder, 0) + number
    lost = kept.pop("", 0)
    seconds = time.perf_counter() - begun
    if as_json:
        found = [
            {"family": each.family, "seconds": each.seconds, "kernels": sum(each.kernels.values())}
            for each in done
        ]
        say_json({"families": found, "folders": kept, "not_kept": lost, "seconds": seconds})
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
