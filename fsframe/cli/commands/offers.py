"""Commands about this installation: what plugins offer (plugins, methods, check, new-plugin), and
the machine (info, warm).
"""

from __future__ import annotations

import inspect
import keyword
import os
import shutil
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import as_completed
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click

from fsframe import execution
from fsframe.atomic import as_store_errors
from fsframe.cli.options import COUNT, METHODS, by_family, complete_method, listed, stage_help
from fsframe.cli.terminal import json_option, option, say, say_block, say_json, say_lines
from fsframe.errors import FsframeError, PluginError, RequestError, StoreError
from fsframe.kinds import limits
from fsframe.registry import Offer, Registry, classifiers, default_manager, find_offer, selectors
from fsframe.registry.entries import Entry
from fsframe.text import facts, table_lines

if TYPE_CHECKING:
    from fsframe.table.dataset import Dataset


def _number_of(entries: tuple[Entry, ...]) -> str:
    """The number of entries of each kind, such as ``3 methods, 1 command``."""
    plain_words = ("reader", "command", "proposal")
    kinds = Counter(entry.kind if entry.kind in plain_words else "method" for entry in entries)
    return ", ".join(f"{n} {kind}" + ("s" if n != 1 else "") for kind, n in kinds.items())


@click.command()
@json_option
@option("--traceback", "Print the traceback of plugins that failed.")
def plugins(as_json: bool, traceback: bool) -> None:
    """List the plugins, and whether each was loaded.

    FSFRAME_PLUGINS=a,b loads only these, FSFRAME_BLOCK=a,b all but these; FSFRAME_STRICT=1 stops at
    the first that fails; FSFRAME_TRACE=1 reports each step; FSFRAME_IMPORT_TIMEOUT=60 allows 60 s
    per import instead of 30. Use DISTRIBUTION/NAME for a method whose name a bundled method or
    another plugin also has; FSFRAME_PREFER=DISTRIBUTION/NAME,… chooses between plugins.

    \b
    Example:
      fsframe plugins
    """
    known = default_manager().plugins()
    for remark in default_manager().remarks():
        say(f"note: {remark}", err=True)
    if as_json:
        rows = [
            {
                **facts(plugin, "name", "provider"),
                **facts(plugin.source, "distribution", "version", "target"),
                **facts(plugin, "status", "reason", "notes"),
                "entries": [entry.name for entry in plugin.entries],
            }
            for plugin in known
        ]
        say_json({"plugins": rows})
        return
    table = [
        [
            plugin.name,
            f"{plugin.source.distribution} {plugin.source.version}",
            plugin.status,
            "; ".join([plugin.reason or _number_of(plugin.entries), *plugin.notes]),
        ]
        for plugin in known
    ]
    say_lines(table_lines(["plugin", "distribution", "status", ""], table))
    for plugin in known:
        if traceback and plugin.detail:
            say()
            say(f"{plugin.name}:")
            say_block(f"  {plugin.detail.rstrip()}", indent="  ")


@click.command()
@click.argument("name", required=False, shell_complete=complete_method)
@json_option
def methods(name: str | None, as_json: bool) -> None:
    """List the available methods, or explain one with its parameters.

    \b
    Example:
      fsframe methods
      fsframe methods immigrate
    """
    if name is not None:
        in_chains = (selectors, classifiers)
        staged = any(registry.matching(name) for registry in in_chains)
        registry, offer = find_offer(name, *(in_chains if staged else METHODS.values()))
        method = registry[offer.name]
        if as_json:
            say_json(_json_explanation(offer, method))
        else:
            say_lines(_explanation_lines(offer, method))
    elif as_json:
        say_json({"methods": [_json_object(offer) for offer in listed()]})
    else:
        say_lines(_listing())


def _json_object(offer: Offer) -> dict[str, Any]:
    entry = offer.entry
    return {
        "name": offer.name,
        "kind": entry.kind,
        "family": entry.family or None,
        "summary": entry.summary,
        "gives": sorted(getattr(entry, "gives", ())),
        **facts(entry, "reference", "requires", "aliases"),
        "deprecated": entry.deprecated and entry.deprecated.words(offer.name),
        **facts(offer, "provider", "version"),
    }


def _listing() -> Iterator[str]:
    for title, registry in METHODS.items():
        of_kind = (offer for offer in listed() if offer.entry.kind == registry.kind)
        for family, offers in by_family(of_kind, "").items():
            yield f"{title}: {family}" if family else title
            rows = [[o.name, o.entry.summary, f"{o.provider} {o.version}"] for o in offers]
            yield from (f"  {line}" for line in list(table_lines(["", "", ""], rows))[1:])
            yield ""
    yield "`fsframe methods NAME` explains one; `fsframe plugins` says where they come from."


def _json_explanation(offer: Offer, method: type[Any]) -> dict[str, Any]:
    parameters = [
        {
            **facts(p, "name", "help"),
            "values": p.kind.describe(),
            **limits(p.kind),
            "default": None if p.required else p.default,
            **facts(p, "symbol", "source"),
        }
        for p in method.parameters()
    ]
    return {**_json_object(offer), "parameters": parameters, "doc": inspect.getdoc(method) or ""}


def _explanation_lines(offer: Offer, method: type[Any]) -> Iterator[str]:
    yield f"{offer.name}: {offer.entry.summary}"
    yield ""
    for title, *texts in _facts(offer, method):
        yield from (f"{'' if place else title:<10} {text}" for place, text in enumerate(texts))
    parameters = method.parameters()
    yield from ("", "Parameters:" if parameters else "No parameters.")
    for parameter in parameters:
        yield f"  {parameter.name}"
        yield f"      {stage_help(parameter)}"
    yield ""
    # Indented, so that a plugin's text cannot imitate our lines.
    for line in (inspect.getdoc(method) or "").split("\n"):
        yield f"  {line}".rstrip(" ")


def _facts(offer: Offer, method: type[Any]) -> Iterator[tuple[str, ...]]:
    """The facts about a method: titles, each with its lines."""
    entry = offer.entry
    yield "kind", entry.kind
    if entry.reference:
        yield "source", *entry.reference.split("; ")
    yield "plugin", f"{offer.provider} {offer.version} ({entry.target})"
    if entry.aliases:
        yield "also", ", ".join(entry.aliases)
    if entry.known_as:
        yield "known as", ", ".join(entry.known_as)
    if entry.deprecated is not None:
        yield "note", entry.deprecated.words(offer.name)
    if gives := sorted(getattr(entry, "gives", ())):
        yield "gives", ", ".join(gives)
    if hasattr(method, "takes_missing"):
        asked = {p.name: p.default for p in method.parameters()}.get("missing") == "refuse"
        how = "refused, unless `missing` says otherwise" if asked else "accepted"
        yield "missing", f"missing values are {how if method.takes_missing else 'refused'}"
    if hasattr(method, "takes_counts"):
        how = "counts" if method.takes_counts else "copies"
        yield "counts", f"bootstraps as {how} of rows"
    if hasattr(method, "tasks"):
        yield "tasks", ", ".join(sorted(method.tasks))


_MARKS = {"passed": "ok", "excepted": "excepted", "not applicable": "—"}


@click.command()
@click.argument("name", shell_complete=complete_method)
@json_option
@option("-q --quiet", "Print only failures and the totals.")
def check(name: str, as_json: bool, quiet: bool) -> None:
    """Run every conformance test that applies to a method, measure, reader, engine or command.

    NAME may carry parameters as in a chain, such as relieff:k=5. A stage that resamples others is
    tested with a base that keeps few columns unless it names one. Exceptions that the plugin
    declares are shown with their reasons; failures are grouped by cause at the end. Exit code 3 if
    a test fails.

    \b
    Example:
      fsframe check kuncheva
    """
    from fsframe.testing import by_cause, run_checks, suite_for

    suite = suite_for(name)
    outcomes = []
    for outcome in run_checks(suite):
        outcomes.append(outcome)
        # Failures are printed at the end, once for each cause.
        if as_json or quiet or outcome.status == "failed":
            continue
        detail = f": {outcome.detail}" if outcome.detail else ""
        line = f"{_MARKS[outcome.status]:>8}  {outcome.check.replace('_', ' ')}{detail}"
        say_block(line, indent=" " * 10)
    sums = Counter(outcome.status for outcome in outcomes)
    if as_json:
        report: dict[str, Any] = {
            "method": name,
            "checks": len(outcomes),
            "sums": dict(sums),
            "outcomes": [facts(each, "check", "status", "detail") for each in outcomes],
            "causes": by_cause(outcomes),
        }
        say_json(report)
    else:
        for cause, checks in by_cause(outcomes).items():
            words = ", ".join(check.replace("_", " ") for check in checks)
            number = f" ({len(checks)} checks)" if len(checks) > 1 else ""
            say_block(f"  FAILED  {words}{number}: {cause}", indent=" " * 10)
        parts = ", ".join(f"{number} {status}" for status, number in sorted(sums.items()))
        say(f"{name}: {len(outcomes)} checks: {parts}")
    if sums["failed"]:
        if suite.advice and not as_json:
            say_block(f"  {suite.advice}", indent="  ")
        raise PluginError(f"{name} fails {sums['failed']} of {len(outcomes)} checks")


KINDS = (
    "selector", "wrapping", "classifier", "regressor", "stability-metric", "measure", "reader",
    "writer", "engine", "command", "observer", "report-section", "null", "plot", "proposal",
)  # fmt: skip
"""The kinds of object a plugin can offer; a wrapping stage is a selector that resamples others."""

_FOR_ALL = ("pyproject.toml.txt", "tests/conftest.py.txt")


@click.command()
@click.argument("name")
@option("--kind", "What the plugin offers.", type=click.Choice(KINDS), default="selector")
@option("-o --out FOLDER", "Folder to create. [default: fsframe-NAME in the current folder]")
def new_plugin(name: str, kind: str, out: str | None) -> None:
    """Write a plugin, ready to be installed, tested and changed.

    NAME is what users will type: lower-case words joined by hyphens.

    \b
    Examples:
      fsframe new-plugin my-selector
      fsframe new-plugin my-format --kind reader
    """
    import fsframe.registry
    from fsframe.registry.entries import SelectorEntry

    try:
        SelectorEntry(name=name, target="a:A")
    except ValueError as error:
        raise RequestError(str(error)) from None
    # The module has this name, and the class has it with a capital: `None` is no class either.
    if keyword.iskeyword(name) or keyword.iskeyword(name.capitalize()):
        raise RequestError(
            f"{name!r} is a reserved word of Python, so that the plugin could not be imported; "
            f"choose another name, such as my-{name}"
        )
    folder = Path(out) if out is not None else Path(f"fsframe-{name}")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise StoreError(f"{folder} already exists; choose another folder with --out")
    # Selectors and classifiers share one set of names, since both are stages of chains.
    registries: list[Registry] = [selectors, classifiers]
    if kind not in ("selector", "wrapping", "classifier", "regressor"):
        registries = [getattr(fsframe.registry, f"{kind.replace('-', '_')}s")]
    taken = [offer for registry in registries for offer in registry.matching(name)]
    if taken:
        say(
            f"note: {taken[0].provider} offers {name!r} already; with both installed, yours is "
            f"`fsframe-{name}/{name}`",
            err=True,
        )
    texts = plugin_files(name, kind)
    _write(folder, texts)
    for path in texts:
        say(str(folder / path))
    say()
    say(f"Install and try it:  pip install -e '{folder}[test]' && pytest {folder}")
    say(f"plugin: {folder}")


def _write(folder: Path, texts: Mapping[str, str]) -> None:
    """Write the files of a plugin to an empty or new `folder`: all, or none if one fails.

    Raises
    ------
    StoreError
        Naming what cannot be written.
    """
    target = Path(os.path.abspath(folder))
    made = target.with_name(f".{target.name}.{os.getpid()}.partial")
    advice = "; free space or choose another folder"
    try:
        with as_store_errors(f"cannot write {folder}", advice):
            target.parent.mkdir(parents=True, exist_ok=True)
            for path, text in texts.items():
                # Not by `parents=True`, which would create a folder again that was removed.
                for above in reversed(Path(path).parents):
                    (made / above).mkdir(exist_ok=True)
                (made / path).write_text(text, encoding="utf-8")
            if target.is_dir():
                # Filled, not replaced: it may be the current folder of a shell.
                for entry in made.iterdir():
                    entry.rename(target / entry.name)
            else:
                made.rename(target)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def plugin_files(name: str, kind: str = "selector") -> dict[str, str]:
    """The text of every file of a new plugin that offers one object of `kind`, by path.

    >>> sorted(plugin_files("my-gap"))[:3]
    ['README.md', 'fsframe_my_gap/__init__.py', 'fsframe_my_gap/conformance.py']
    """
    module = name.replace("-", "_")
    words = {
        "@name@": name,
        "@module@": module,
        "@package@": f"fsframe_{module}",
        "@ending@": module.replace("_", ""),
        "@kind@": "wrapping stage" if kind == "wrapping" else kind.replace("-", " "),
        "@Class@": "".join(part.capitalize() for part in name.split("-")),
    }
    folder = Path(str(files("fsframe.cli") / "plugin_template"))
    texts = {}
    for path, place in _templates(folder, kind):
        target = place.with_suffix("").as_posix()
        text = path.read_text(encoding="utf-8")
        for word, meant in words.items():
            target, text = target.replace(word, meant), text.replace(word, meant)
        texts[target] = text
    return texts


def _templates(folder: Path, kind: str) -> Iterator[tuple[Path, Path]]:
    """Each template for a plugin of this kind, and its path in the plugin."""
    kinds = folder / "kinds"
    for path in sorted(folder.rglob("*.txt")):
        place = path.relative_to(folder)
        if kinds in path.parents:
            if path.parent != kinds and kinds / kind in path.parents:
                yield path, path.relative_to(kinds / kind)
        elif kind == "selector" or place.as_posix() in _FOR_ALL:
            yield path, place
    if kind != "selector":
        yield kinds / "README.md.txt", Path("README.md.txt")


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
    from fsframe.table.spelling.text_file import memory_bound

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
@option(
    "--workers",
    "Processes that compile, one family each at a time; by default as many as processors.",
    type=COUNT,
)
@json_option
def warm(workers: int | None, as_json: bool) -> None:
    """Compile the numerical kernels of all families, and cache them.

    Runs every method with its defaults on small tables of each kind: numeric, nominal, with missing
    values, more columns than rows, numeric target. Kernels that only other settings or large tables
    need are compiled when first used. Kernels already compiled are reused. Exit code 5 if kernels
    cannot be stored.

    \b
    Example:
      fsframe warm
    """
    from fsframe.system import available_processors

    begun, done = time.perf_counter(), []
    families = compiled_families()
    count = min(workers or available_processors(), len(families))
    with execution.open_engine(workers=count if count > 1 else None) as engine:
        # The largest family first, so that it does not run alone at the end.
        names = sorted(families, key=lambda name: -len(families[name]))
        results: Iterable[CompilationResult] = map(warm_family, names)
        if engine is not None:
            futures = [engine.submit(warm_family, name) for name in names]
            results = (future.result() for future in as_completed(futures))
        for each in results:
            done.append(each)
            if not as_json:
                what = _compiled(sum(each.kernels.values()))
                say(f"{each.family}: {what}, {each.seconds:.1f} s")
                for reason in each.failed:
                    say(f"  not run: {reason}")
    done.sort(key=lambda each: each.family)
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
