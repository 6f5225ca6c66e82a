"""Write a plugin with one selector, to start from.

Its files are those of the folder ``fsframe/cli/plugin_template``, with the words between
``@`` filled in.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import click

from fsframe.cli.saying import say
from fsframe.errors import RequestError, StoreError

__all__ = ["new_plugin", "plugin_files"]


@click.command()
@click.argument("name")
@click.option(
    "-o",
    "--out",
    metavar="FOLDER",
    help="Folder to create. [default: fsframe-NAME in the current folder]",
)
def new_plugin(name: str, out: str | None) -> None:
    """Write a plugin with one selector, ready to be installed, tested and changed.

    NAME is what people will type: lower-case words joined by hyphens.

    \b
    Example:
      fsframe new-plugin my-selector
    """
    from fsframe.registry import classifiers, selectors
    from fsframe.registry.entries import SelectorEntry

    try:
        SelectorEntry(name=name, target="a:A")
    except ValueError as error:
        raise RequestError(str(error)) from None
    folder = Path(out) if out is not None else Path(f"fsframe-{name}")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise StoreError(f"{folder} already exists; choose another folder with --out")
    taken = [*selectors.matching(name), *classifiers.matching(name)]
    if taken:
        say(
            f"note: {taken[0].provider} offers {name!r} already; with both installed, yours is "
            f"`fsframe-{name}/{name}`",
            err=True,
        )
    for path, text in plugin_files(name).items():
        place = folder / path
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
        except OSError as error:
            raise StoreError(f"cannot write {place}: {error.strerror}") from None
        say(str(place))
    say()
    say(f"Install and try it:  pip install -e '{folder}[test]' && pytest {folder}")
    say(f"plugin: {folder}")


def plugin_files(name: str) -> dict[str, str]:
    """The text of every file of a plugin with one selector `name`, by path.

    >>> sorted(plugin_files("my-gap"))[:3]
    ['README.md', 'fsframe_my_gap/__init__.py', 'fsframe_my_gap/conformance.py']
    """
    module = name.replace("-", "_")
    words = {
        "@name@": name,
        "@module@": module,
        "@package@": f"fsframe_{module}",
        "@Class@": "".join(part.capitalize() for part in name.split("-")),
    }
    folder = Path(str(files("fsframe.cli") / "plugin_template"))
    found = {}
    for path in sorted(folder.rglob("*.txt")):
        target = path.relative_to(folder).with_suffix("").as_posix()
        text = path.read_text(encoding="utf-8")
        for word, meant in words.items():
            target, text = target.replace(word, meant), text.replace(word, meant)
        found[target] = text
    return found
