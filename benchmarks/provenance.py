"""Which stored figures are older than the code that makes them?

    python benchmarks/provenance.py                   lists results whose code has changed since
    python benchmarks/provenance.py --changes FILE    names the definitions that changed
    python benchmarks/provenance.py record FILE ...   notes the code of today beside new results

``provenance.json`` has, for each file in ``*/results``, its SHA-256, the digest of the code that
made it, and the commit. The digest is one of definitions (functions, methods, constants), without
docstrings, comments, imports and the place where they stand: a move between modules changes
nothing, a changed line does. It covers the scripts of the benchmark's folder and the packages that
compute its figures (`PACKAGES`), not reading, storage or screens.
"""

from __future__ import annotations

import argparse
import ast
import functools
import hashlib
import io
import json
import subprocess
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
INDEX = HERE / "provenance.json"

METHODS = (
    "filters",
    "infotheory",
    "interactions",
    "margin",
    "npfs",
    "relief",
    "sklearn",
    "stability",
)
RESAMPLES = ("fsframe/resampling", "fsframe/evaluation")
PACKAGES: dict[str, tuple[str, ...]] = {
    "boruta": ("plugins/fsframe_sklearn",),
    "first_run": ("fsframe/kernels", "fsframe/cli"),
    "forecasts": ("fsframe/analysis", "fsframe/show", *(f"plugins/fsframe_{m}" for m in METHODS)),
    "infotheory": ("plugins/fsframe_infotheory",),
    "interactions": ("plugins/fsframe_interactions",),
    "ledger": (*RESAMPLES, *(f"plugins/fsframe_{m}" for m in (*METHODS, "survival"))),
    "margin": ("plugins/fsframe_margin", "plugins/fsframe_npfs"),
    "memory": ("fsframe/execution", "fsframe/run"),
    "parts": ("fsframe/tables", "fsframe/table", "plugins/fsframe_infotheory"),
    "published": (*RESAMPLES, *(f"plugins/fsframe_{m}" for m in METHODS)),
    "relief": ("plugins/fsframe_relief",),
    "report": ("fsframe/report", "fsframe/plots", "fsframe/show"),
    "sklearn_stages": ("plugins/fsframe_sklearn",),
    "survival": ("plugins/fsframe_survival",),
    "resampling": ("fsframe/resampling", "plugins/fsframe_npfs"),
    "tables": ("fsframe/tables", "fsframe/table", "plugins/fsframe_tables"),
    "wide": (*RESAMPLES, *(f"plugins/fsframe_{m}" for m in METHODS)),
    "trust": ("fsframe/storage", "fsframe/store", "fsframe/execution", "fsframe/run"),
}
"""The folders, of today and of before, whose code computes the figures of a benchmark."""


def definitions(source: str) -> set[str]:
    """Digests of a module's functions, methods and constants, without docstrings and imports."""
    return {hashlib.sha256(text.encode()).hexdigest() for text in _named(source).values()}


def _named(source: str) -> dict[str, str]:
    """What a module defines by name; texts do not depend on layout, comments or local names."""
    named: dict[str, str] = {}

    def visit(body: Iterable[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.Import | ast.ImportFrom) or _is_docstring(node):
                continue
            if isinstance(node, ast.ClassDef):
                visit(node.body, f"{prefix}{node.name}.")
                node.body = [ast.Pass()]
            name = getattr(node, "name", None) or ast.unparse(node).split("=")[0].strip()
            if name == "__all__":
                continue
            named[prefix + name] = prefix + ast.unparse(_numbered(_without_docstrings(node)))

    visit(ast.parse(source).body, "")
    return named


def _is_docstring(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _without_docstrings(node: ast.stmt) -> ast.stmt:
    for inner in ast.walk(node):
        body = getattr(inner, "body", None)
        if isinstance(body, list):
            # A body of a docstring alone would leave none, which no syntax has.
            inner.body = [n for n in body if not _is_docstring(n)] or [ast.Pass()]  # type: ignore
    return node


def _numbered(node: ast.stmt) -> ast.stmt:
    """A function whose parameters and variables are numbered in order of occurrence."""
    if not isinstance(node, ast.FunctionDef):
        return node
    nodes = list(ast.walk(node))
    stored = [n.arg for n in nodes if isinstance(n, ast.arg)]
    stored += [n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    numbers = {name: f"_{number}" for number, name in enumerate(dict.fromkeys(stored))}
    for inner in nodes:
        if isinstance(inner, ast.arg):
            inner.arg = numbers[inner.arg]
        elif isinstance(inner, ast.Name):
            inner.id = numbers.get(inner.id, inner.id)
        elif isinstance(inner, ast.Nonlocal):
            inner.names = [numbers.get(name, name) for name in inner.names]
    return node


def files_of(folder: str, commit: str | None) -> dict[str, str]:
    """The sources that compute the figures of a folder of benchmarks: path to text."""
    places = (f"benchmarks/{folder}", *PACKAGES[folder])
    if commit is None:
        paths = [p for place in places for p in sorted((ROOT / place).rglob("*.py"))]
        return {str(p.relative_to(ROOT)): p.read_text(encoding="utf-8") for p in paths}
    listed = git("ls-tree", "-r", "--name-only", commit, "--", *places).split()
    packed = git_bytes("archive", commit, "--", *(p for p in listed if p.endswith(".py")))
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        members = [member for member in archive if member.isfile()]
        return {m.name: archive.extractfile(m).read().decode() for m in members}


@functools.cache
def code(folder: str, commit: str | None = None) -> frozenset[str]:
    """The digests of all definitions behind a folder's figures, today or at a commit."""
    return frozenset().union(*map(definitions, files_of(folder, commit).values()))


def digest(digests: Iterable[str]) -> str:
    """One digest of many, in whatever order they come."""
    return hashlib.sha256("\n".join(sorted(digests)).encode()).hexdigest()


def git(*words: str) -> str:
    """What git prints; empty where it fails, as for a commit that a shallow clone lacks."""
    return git_bytes(*words).decode()


def git_bytes(*words: str) -> bytes:
    """The same before it is decoded."""
    done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True)
    return done.stdout if done.returncode == 0 else b""


def results() -> list[str]:
    """The result files of all benchmarks, below this folder."""
    return sorted(str(p.relative_to(HERE)) for p in HERE.glob("*/results/*") if p.suffix != ".md")


def index() -> dict[str, dict[str, str]]:
    """What is noted of each result file."""
    return json.loads(INDEX.read_text(encoding="utf-8")) if INDEX.exists() else {}


def sha256(name: str) -> str:
    """The digest of a result file."""
    return hashlib.sha256((HERE / name).read_bytes()).hexdigest()


def record(names: Iterable[str]) -> None:
    """Note the code of today, or for files that git has unchanged that of their last commit."""
    notes, known = index(), results()
    for name in names:
        path = str(Path(name).resolve().relative_to(HERE)) if Path(name).exists() else name
        if path not in known:
            raise SystemExit(f"{name} is no result file below {HERE.name}/*/results")
        folder = path.split("/")[0]
        made = git("log", "-1", "--format=%H", "--", f"benchmarks/{path}").strip()
        changed = bool(git("status", "--porcelain", "--", f"benchmarks/{path}").strip())
        at = None if changed or not made else made
        commit = at or git("rev-parse", "HEAD").strip()
        notes[path] = {
            "sha256": sha256(path),
            "code": digest(code(folder, at)),
            "commit": commit[:12],
        }
    kept: Mapping[str, dict[str, str]] = {
        name: notes[name] for name in sorted(notes) if name in known
    }
    INDEX.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def report() -> int:
    """Print the files whose code has changed since, and how much of it; the number of them."""
    notes, today = index(), {folder: code(folder) for folder in PACKAGES}
    old = 0
    for name in results():
        folder = name.split("/")[0]
        if name not in notes:
            print(f"{name}: nothing is noted (python benchmarks/provenance.py record)")
            continue
        note = notes[name]
        if note["sha256"] != sha256(name):
            print(f"{name}: changed since its code was noted")
        if note["code"] != digest(today[folder]):
            old += 1
            print(f"{name}: {_how_old(folder, note['commit'], today[folder])}")
    print(f"{old} of {len(results())} result files are older than the code behind them.")
    return old


def _how_old(folder: str, commit: str, today: frozenset[str]) -> str:
    if not git("cat-file", "-t", commit):
        return f"made by other code, at {commit}, which this clone does not have"
    before = code(folder, commit)
    day = git("log", "-1", "--format=%cs", commit).strip()
    return f"of {len(before)} definitions of {day} ({commit}) {len(before - today)} have changed"


def changes(name: str) -> None:
    """Print the definitions that changed since a result file was made."""
    note, folder = index()[name], name.split("/")[0]
    today = code(folder)
    for path, source in files_of(folder, note["commit"]).items():
        for what, text in _named(source).items():
            if hashlib.sha256(text.encode()).hexdigest() not in today:
                print(f"{path}: {what}")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("verb", nargs="?", choices=["record"])
    parser.add_argument("files", nargs="*", help="result files, or none for all")
    parser.add_argument("--changes", metavar="FILE", help="as margin/results/npfs.csv")
    asked = parser.parse_args()
    if asked.changes:
        changes(asked.changes)
    elif asked.verb:
        record(asked.files or results())
    else:
        report()


if __name__ == "__main__":
    main()
