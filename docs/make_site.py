"""What the site has besides the pages in docs/: made while `mkdocs build` runs.

* pages of the repository that stand elsewhere (benchmarks, examples, the changelog), under their
  own paths, with links between them and docs/ put right;
* the Python interface, from the docstrings of what `fsframe` exports and authors import;
* all methods and all plugins that are installed, from what they declare;
* a gallery, and for every method what it sees (make_gallery.py).

See mkdocs.yml for the command.
"""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
_OTHER_PAGES = ("CHANGELOG.md", "CONTRIBUTING.md", "CODE_OF_CONDUCT.md", "SECURITY.md")
_LINK = re.compile(r"(\[(?:[^\[\]]|\[[^\]]*\])*\])\(([^)\s#]+)(#[^)\s]*)?\)")
# Browsers start no worker from a page on the disk; the search's runs in a hidden frame there.
_WORKER = """<script>
if (location.protocol === "file:") window.Worker = class extends EventTarget {
  constructor(url) {
    super()
    const frame = document.createElement("iframe"), waiting = []
    frame.hidden = true
    document.body.appendChild(frame)
    const inside = frame.contentWindow
    const deliver = data => inside.dispatchEvent(new inside.MessageEvent("message", { data }))
    let ready = false
    inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
    this.postMessage = data => ready ? deliver(data) : waiting.push(data)
    this.terminate = () => frame.remove()
    const script = inside.document.createElement("script")
    script.src = url
    script.onload = () => { ready = true; waiting.splice(0).forEach(deliver) }
    inside.document.body.appendChild(script)
  }
}
</script>"""
_VALUES = ("classifiers", "regressors", "selectors", "stability_metrics")
# What authors import, besides the names of `fsframe` itself.
_API = {
    "For authors of methods": (
        "fsframe.registry.entries",
        "fsframe.registry.hookspecs",
        "fsframe.params",
        "fsframe.kernels.compiled",
        "fsframe.method.ranking",
        "fsframe.method.statistics",
    ),
    "Run files": (
        "fsframe.storage.records",
        "fsframe.storage.records",
        "fsframe.storage.read",
        "fsframe.chains.audit",
    ),
    "Tables": ("fsframe.table.read",),
    "Checks for plugins": ("fsframe.testing",),
}


def other_pages() -> Iterator[str]:
    """Pages outside docs/, by their path in the repository."""
    yield from _OTHER_PAGES
    for folder in ("benchmarks", "examples"):
        for path in sorted((ROOT / folder).rglob("*.md")):
            yield path.relative_to(ROOT).as_posix()


_SEEN: dict[str, str] = {}
"""From methods to what is put at the end of their page or section."""


def _pictures() -> Iterator[tuple[str, str | bytes]]:
    """The gallery and what methods see, by path; `_SEEN` is filled."""
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        import make_gallery
    finally:
        sys.path.pop(0)
    page, pictures = make_gallery.gallery()
    yield "gallery.md", page
    yield from pictures.items()
    seen = make_gallery.seen_by_selectors()
    yield "sees.md", make_gallery.sees_page()
    yield "sees/all.svg", make_gallery.overview(seen)
    for name, shares in seen.items():
        yield f"sees/{name}.svg", make_gallery.bars(shares)
        _SEEN[name] = _picture(
            f"Share of tables in which `{name}` keeps each kind of column",
            name,
            "Asked for six columns of twelve, in tables with a known answer "
            "([how, and beside all other methods](../sees.md)).",
        )
    for name, picture in make_gallery.seen_by_classifiers().items():
        yield f"sees/{name}.svg", picture
        _SEEN[name] = _picture(
            f"Two columns, and the class that `{name}` predicts at every place",
            name,
            "120 rows whose class is the sign of the product of two columns, behind `immigrate` or "
            "the stage that it needs.",
        )


def _picture(title: str, name: str, text: str) -> str:
    return f"\n![{title}](../sees/{name}.svg)\n\n{text}\n"


def place_of(name: str) -> str | None:
    """The page of a method, or the section of its family's page; None without either.

    A method's section is the one whose heading has its name as code.
    """
    folder = ROOT / "docs" / "methods"
    if (folder / f"{name}.md").exists():
        return f"{name}.md"
    for path in sorted(folder.glob("*.md")):
        heading = re.search(
            rf"^##+ (.*`{re.escape(name)}`.*)$", path.read_text(encoding="utf-8"), re.MULTILINE
        )
        if heading:
            words = re.sub(r"[^\w\s-]", "", heading[1]).lower().split()
            return f"{path.name}#{'-'.join(words)}"
    return None


def with_part(text: str, name: str, part: str = "") -> tuple[str, str]:
    """A page with `part` at the end of the section on a method, and that section."""
    lines, fenced, depth, start = text.splitlines(), False, 0, 0
    end = len(lines)
    for number, line in enumerate(lines):
        fenced ^= line.startswith("```")
        heading = None if fenced else re.match(r"(##+) ", line)
        if heading and not depth and f"`{name}`" in line:
            depth, start = len(heading[1]), number
        elif heading and depth and len(heading[1]) <= depth:
            end = number
            break
    section = "\n".join(lines[start:end])
    return "\n".join([*lines[:end], part, *lines[end:]]) + "\n", section


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are made here, and the files that pages link to; MkDocs calls it."""
    from mkdocs.structure.files import File

    made: dict[str, str | bytes] = {path: _text(path) for path in other_pages()}
    made |= {"api.md": api_page(), "plugins.md": plugins_page(), "methods/index.md": methods_page()}
    written = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")}
    made |= dict(_pictures())
    for path, content in made.items():
        files.append(File.generated(config, path, content=content))
    for path in sorted({*written, *other_pages()}):
        for target in _targets(path):
            file = ROOT / target
            if target.startswith("docs/") or files.get_file_from_path(target) is not None:
                continue
            if file.is_file() and file.suffix != ".md":
                files.append(File.generated(config, target, abs_src_path=str(file)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Put right the links that leave or enter docs/; MkDocs calls it."""
    here: str = page.file.src_uri
    if "/results/" in here:
        # Columns of figures would crowd pages out of what the search finds.
        page.meta["search"] = {"exclude": True}
    source = here if here in set(other_pages()) else f"docs/{here}"

    def put_right(match: re.Match[str]) -> str:
        meant = _meant(source, match[2])
        if meant is None:
            return match[0]
        place = _on_site(meant)
        if files.get_file_from_path(place) is None:
            # A folder of the repository, which a site cannot show.
            return match[1].strip("[]") if (ROOT / meant).is_dir() else match[0]
        way = posixpath.relpath(place, posixpath.dirname(here) or ".")
        return f"{match[1]}({way}{match[3] or ''})"

    shown = _LINK.sub(put_right, markdown)
    for name, part in _SEEN.items():
        if f"methods/{place_of(name) or ''}".partition("#")[0] == here:
            shown = with_part(shown, name, part)[0]
    return shown


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Have the search work from the disk without fetching anything; MkDocs calls it."""
    return re.sub(r'<script src="https://[^"]*iframe-worker[^"]*"></script>', _WORKER, output)


def _text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def _targets(path: str) -> Iterator[str]:
    """What a page of the repository links to, as paths in the repository."""
    for match in _LINK.finditer(_text(path)):
        meant = _meant(path, match[2])
        if meant is not None:
            yield meant


def _meant(source: str, target: str) -> str | None:
    """Where a link leads in the repository; None if elsewhere."""
    if re.match(r"[a-z]+:", target):
        return None
    meant = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
    return None if meant.startswith("..") else meant


def _on_site(meant: str) -> str:
    """Where a file of the repository stands on the site."""
    if meant in ("docs/methods", "docs/methods/"):
        return "methods/index.md"
    if meant == "README.md":
        return "index.md"
    if (ROOT / meant).is_dir():
        return f"{meant}/README.md"
    return meant.removeprefix("docs/")


def api_page() -> str:
    """The Python interface."""
    import fsframe

    parts = [
        "# Python",
        "What `import fsframe` offers, loaded when it is used.",
    ]
    parts += [f"::: fsframe.{name}" for name in fsframe.__all__ if name not in _VALUES]
    # Half of it is that of its base, which nobody looks for.
    whole = "::: fsframe.Dataset"
    parts[parts.index(whole)] = f"{whole}\n    options:\n      inherited_members: true"
    parts.append(
        "## The registries\n\n`fsframe.selectors`, `fsframe.classifiers` (what ends a chain), "
        "`fsframe.regressors` (those of them for numbers only) and `fsframe.stability_metrics` are "
        "mappings from names to classes; "
        '`fsframe.selectors["relieff"](k=5).select(data)` is one selector at work.'
    )
    for title, modules in _API.items():
        parts.append(f"## {title}")
        parts += [f"::: {name}\n    options:\n      heading_level: 3" for name in modules]
    return "\n\n".join(parts) + "\n"


def _registries() -> tuple[Any, ...]:
    from fsframe.registry import classifiers, selectors, stability_metrics

    return selectors, classifiers, stability_metrics


def methods_page() -> str:
    """Every method that is installed, by kind and family, with its page."""
    lines = [
        "# Methods",
        "",
        "With the mathematics, departures from the paper, and the cost.",
    ]
    families: dict[str, list[str]] = {}
    for registry in _registries():
        for offer in sorted(registry.offers(), key=lambda offer: offer.entry.name):
            entry = offer.entry
            place = place_of(entry.name)
            shown = f"[`{entry.name}`]({place})" if place else f"`{entry.name}`"
            row = f"| {shown} | {entry.summary} | {getattr(entry, 'reference', '') or ''} |"
            families.setdefault(f"{entry.kind}: {_family(entry)}", []).append(row)
    for family, rows in families.items():
        lines += ["", f"## {family}", "", "| name | what | source |", "|---|---|---|", *rows]
    return "\n".join(lines) + "\n"


def _family(entry: Any) -> str:
    return getattr(entry, "family", "") or "others"


def plugins_page() -> str:
    """Every plugin that is installed, with what it offers."""
    from fsframe.registry import default_manager

    lines = [
        "# Plugins",
        "",
        "Those that were installed when this site was built; `fsframe plugins` lists yours. "
        "[Write one](write-a-selector.md).",
    ]
    for plugin in default_manager().plugins():
        lines += ["", f"## {plugin.provider} {plugin.source.version}", ""]
        for registry in _registries():
            offers = [offer for offer in registry.offers() if offer.provider == plugin.provider]
            for kind in dict.fromkeys(offer.entry.kind for offer in offers):
                names = sorted(f"`{o.entry.name}`" for o in offers if o.entry.kind == kind)
                lines.append(f"* {kind}s: {', '.join(names)}")
    return "\n".join(lines) + "\n"
