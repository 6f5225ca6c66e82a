"""Write a plugin of any kind, to start from.

Its files are those of the folder ``fsframe/cli/plugin_template``, with the words between
``@`` filled in; for another kind than a selector, those of its folder in ``kinds`` in their place.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path

import click

from fsframe.cli.terminal import say
from fsframe.errors import RequestError, StoreError

KINDS = {
    "selector": "selectors",
    "wrapping": "selectors",
    "classifier": "classifiers",
    "regressor": "regressors",
    "stability-metric": "stability_metrics",
    "measure": "measures",
    "reader": "readers",
    "writer": "writers",
    "engine": "engines",
    "command": "commands",
    "observer": "observers",
    "report-section": "report_sections",
    "null": "nulls",
    "plot": "plots",
}
"""The kinds of object a plugin can offer, and the registry of each; a wrapping stage resamples
others."""

_FOR_ALL = ("pyproject.toml.txt", "tests/conftest.py.txt", "@package@/__init__.py.txt")


@click.command()
@click.argument("name")
@click.option(
    "--kind",
    type=click.Choice(list(KINDS)),
    default="selector",
    show_default=True,
    help="What the plugin offers.",
)
@click.option(
    "-o",
    "--out",
    metavar="FOLDER",
    help="Folder to create. [default: fsframe-NAME in the current folder]",
)
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
    folder = Path(out) if out is not None else Path(f"fsframe-{name}")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise StoreError(f"{folder} already exists; choose another folder with --out")
    # Selectors and classifiers stand in the same chain.
    in_chains = KINDS[kind] in ("selectors", "classifiers", "regressors")
    looked_up = ("selectors", "classifiers") if in_chains else (KINDS[kind],)
    registries = [getattr(fsframe.registry, each) for each in looked_up]
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
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        for path, text in texts.items():
            # Without parents: a folder that was removed meanwhile is not created again.
            for above in reversed(Path(path).parents):
                (made / above).mkdir(exist_ok=True)
            (made / path).write_text(text, encoding="utf-8")
        if target.is_dir():
            # Not replaced: it may be the current folder of a shell.
            for entry in made.iterdir():
                entry.rename(target / entry.name)
        else:
            made.rename(target)
    except OSError as error:
        raise StoreError(
            f"cannot write {folder}: {error.strerror or error}; free space or choose another folder"
        ) from error
    finally:
        shutil.rmtree(made, ignore_errors=True)


def plugin_files(name: str, kind: str = "selector") -> dict[str, str]:
    """The text of every file of a plugin with one thing of a kind, by path.

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
    found = {}
    for path, place in _templates(folder, kind):
        target = place.with_suffix("").as_posix()
        text = path.read_text(encoding="utf-8")
        for word, meant in words.items():
            target, text = target.replace(word, meant), text.replace(word, meant)
        found[target] = text
    return found


def _templates(folder: Path, kind: str) -> Iterator[tuple[Path, Path]]:
    """Each template, and its path in the plugin."""
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
