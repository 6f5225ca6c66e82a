"""What commands print and write: texts, JSON, tables, pages; and old run files as they are read."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import re
import shlex
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import polars
from ways import masked

import fsframe

__all__ = ["archive_digests", "text_digests"]

ARCHIVES = Path(__file__).resolve().parents[2] / "tests" / "data" / "archives"

# In this order, in one folder: later commands use what earlier ones wrote.
COMMANDS = """
--help
--version
methods
methods --json
plugins
inspect small.csv
inspect small.csv --json
inspect people.csv --label ill
inspect gaps.csv --label ill --json
chain mim:top=2 on small.csv
chain mim:top=2 on small.csv --json --overwrite
chain mim:top=2 on small.csv --dry-run
chain immigrate npfs:n=5,permutations=9,alpha=0.3 on small.csv --out wrapped.h5
chain immigrate npfs:n=5,permutations=9,alpha=0.3 on small.csv --json --no-out
chain impute mim:top=2 knn on gaps.csv --label ill --out gaps.h5
chain mim:top=2 on people.csv --label ill --drop kind --groups person --json --no-out
chain mim:top=2 on people.csv --label ill --drop kind,person --weight often --no-out
chain mim:top=2 on people.csv --label ill --drop person --adjust kind --no-out
chain mim:top=2 relieff on people.csv --label ill --drop person --categorical kind --keep a --no-out
chain relieff:top=2 on people.csv --label ill --drop kind,person --time often --no-out
chain mim:top=2 on people.csv --label ill
chain cox-score:top=2 cox on lasting.csv --label days --event ended --out lasting.h5
chain rrelieff:top=2 on amounts.csv --label amount --task regression --json --out amounts.h5
chain mim:top=2 on parts --label ill --no-out
chain mim:tpo=2 nothing on small.csv
chain mim on nowhere.csv
chain knn mim on small.csv
chain cox-score on small.csv
chain mim on small.csv --label nobody
chain mim on gaps.csv --label ill
show wrapped.h5
show wrapped.h5 --json
show gaps.h5
show lasting.h5 --json
show amounts.h5
table wrapped.h5
table wrapped.h5 --pairs
table wrapped.h5 --pairs -o pairs.csv
table wrapped.h5 -o wrapped.tex
apply gaps.h5 on gaps.csv -o reduced.csv
predict gaps.h5 on gaps.csv -o predicted.csv
verify wrapped.h5 gaps.h5
audit wrapped.h5
audit gaps.h5
evaluate mim:top=2 on small.csv --folds 2 --repeats 2 --classifier knn --out evaluated.h5
evaluate mim:top={1,2} knn on small.csv --folds 2 --repeats 1 --inner-folds 2 --json --no-out
evaluate rrelieff:top=2 ridge on amounts.csv --label amount --folds 2 --repeats 1 --no-out
evaluate cox on lasting.csv --label days --event ended --folds 2 --repeats 1 --no-out
show evaluated.h5
show evaluated.h5 --json
table evaluated.h5
stability mim:top=2 on small.csv --n 4 --metric kuncheva --metric nogueira --out stable.h5
stability mim:top=2 on small.csv --n 4 --json --no-out
show stable.h5
compare "mim:top=2 knn" "relieff:top=2 knn" on small.csv --folds 2 --repeats 2 -o compared
compare "mim:top=2 knn" "relieff:top=2 knn" on small.csv gaps.csv --label ill --folds 2 --json
study study.toml
study study.zip --json
report small-study -o study.html
report wrapped.h5 -o wrapped.html
report gaps.h5 -o gaps.html
report evaluated.h5 -o evaluated.html
report stable.h5 -o stable.html
report compared -o compared.html
plot
new-plugin my-selector
new-plugin my-format --kind reader
resume nothing.h5
check kuncheva
show archives/run-v1.h5
show archives/run-v2.h5 --json
show archives/run-v3.h5
show archives/run-v3.h5 --json
verify archives/run-v1.h5 archives/run-v2.h5 archives/run-v3.h5
table archives/run-v3.h5
"""

STUDY = """
name = "small-study"
seeds = [1]
chains = ["mim:top=2 knn", "relieff:top=2 knn"]
folds = 2
repeats = 2

[[tables]]
path = "small.csv"
"""

# Times, dates, versions and sizes of files differ between equal runs.
_MASKS = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?([.,]\d+)?(\+\d\d:\d\d|Z| UTC)?"), "TIME"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "SHA256"),
    (re.compile(r"(\"?seconds[\w ]*\"?:? +)[0-9.e+-]+"), r"\1SECONDS"),
    (re.compile(r"(<td class=n>)\d+\.\d\d(</td><td>)"), r"\1SECONDS\2"),
    (re.compile(r"^fsframe: compiling .*\n", re.MULTILINE), ""),
    (re.compile(r"\b\d+(\.\d+)?(e-?\d+)? ?(ms|s|min|seconds|second)\b"), "SECONDS"),
    (re.compile(r"\b\d+(\.\d+)? ?(B|kB|MB|GB|KiB|MiB|GiB)\b"), "SIZE"),
    (re.compile(r"\bfsframe[\w.]*\.[a-z_]+(\.[a-z_]+)*:[A-Z]\w*"), "TARGET"),
    (re.compile(r"\b0x[0-9a-f]+\b"), "ADDRESS"),
)


_TEXTS = (".bib", ".csv", ".html", ".json", ".md", ".py", ".svg", ".tex", ".toml", ".txt")


def text_digests(folder: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
    """Exit code and texts of every command, and the files that it wrote.

    All commands run, since later ones use files of earlier ones; `wanted` says which are given.
    """
    _write_tables(folder)
    shutil.copytree(ARCHIVES, folder / "archives")
    os.environ["COLUMNS"] = "100"
    # Left again, since later methods of this process start workers there.
    with contextlib.chdir(folder):
        for line in filter(None, COMMANDS.splitlines()):
            before = _files(folder)
            code, out, err = _called(shlex.split(line))
            if wanted(line):
                yield f"{line} | exit code", str(code)
                yield f"{line} | stdout", _plain(out, folder)
                yield f"{line} | stderr", _plain(err, folder)
                for path, content in sorted(_files(folder).items() - before.items()):
                    yield f"{line} | {path}", content


def archive_digests() -> Iterator[tuple[str, str]]:
    """What `fsframe.load_run` reads from a run file of each version of the format."""
    for path in sorted(ARCHIVES.glob("run-v*.h5")):
        run = fsframe.load_run(path)
        found = {
            "selected": run.selected,
            "scores": run.scores,
            "pairs": [(pair.a, pair.b, pair.weight) if hasattr(pair, "a") else tuple(pair)
                      for pair in run.pairs],
            "warnings": run.all_warnings(),
            "digests": run.digests(),
            "table": run.to_frame().write_csv(),
        }  # fmt: skip
        for name, value in found.items():
            text = (
                value if isinstance(value, str) else repr(np.asarray(value, dtype=object).tolist())
            )
            yield f"{path.name} | {name}", text


def _write_tables(folder: Path) -> None:
    generator = np.random.Generator(np.random.PCG64(31))
    rows = 40
    ill = generator.permutation(np.arange(rows) % 2)
    values = np.round(generator.standard_normal((rows, 5)), 3)
    values[:, 1] += 2.0 * ill
    values[:, 3] += ill
    frame = polars.DataFrame(dict(zip("abcde", values.T, strict=True))).with_columns(
        polars.Series("ill", np.array(["no", "yes"])[ill])
    )
    frame.write_csv(folder / "small.csv")
    (folder / "parts").mkdir()
    frame[:15].write_parquet(folder / "parts" / "1.parquet")
    frame[15:].write_parquet(folder / "parts" / "2.parquet")
    frame.with_columns(
        polars.Series("person", [f"p{row // 2:02}" for row in range(rows)]),
        polars.Series("often", np.arange(rows) % 3 + 1),
        polars.Series("kind", np.array(["x", "y", "z"])[generator.integers(0, 3, rows)]),
    ).write_csv(folder / "people.csv")
    gaps = values.copy()
    gaps[generator.random(gaps.shape) < 0.1] = np.nan
    frame.with_columns(
        **{name: polars.Series(gaps[:, k]).fill_nan(None) for k, name in enumerate("abcde")}
    ).write_csv(folder / "gaps.csv")
    lasting = generator.standard_exponential((2, rows)) * np.exp(-values[:, 1])
    frame.drop("ill").with_columns(
        polars.Series("days", np.ceil(20 * lasting.min(axis=0)) / 20),
        polars.Series("ended", (lasting[0] <= lasting[1]).astype(int)),
    ).write_csv(folder / "lasting.csv")
    frame.drop("ill").with_columns(
        polars.Series("amount", np.round(values[:, 1] + 0.1 * values[:, 0], 4))
    ).write_csv(folder / "amounts.csv")
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")


def _called(words: list[str]) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command, run in this process."""
    from fsframe.cli import main

    out, err = io.StringIO(), io.StringIO()
    code = 0
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        warnings.catch_warnings(),
    ):
        try:
            main(words)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
    return code, out.getvalue(), err.getvalue()


def _files(folder: Path) -> dict[str, str]:
    """The text files in a folder; run files and pictures are covered by other digests."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix in _TEXTS:
            text = path.read_text(encoding="utf-8")
            if path.suffix in (".html", ".svg"):
                text = _without_inner_parts(text)
            if path.name == "results.csv":
                text = _without_columns(text, "seconds")
            found[str(path.relative_to(folder))] = _plain(text, folder)
    return found


def _without_inner_parts(page: str) -> str:
    """A page with the digests of its scripts, styles and pictures in place of these."""

    def digest(found: re.Match[str]) -> str:
        return f"<{found[1]} {hashlib.sha256(found[0].encode()).hexdigest()[:16]}>"

    return re.sub(r"<(script|style|svg)\b.*?</\1>", digest, page, flags=re.DOTALL)


def _without_columns(text: str, word: str) -> str:
    """A table of comma-separated values without the columns that have a word in their name."""
    frame = polars.read_csv(text.encode(), infer_schema=False)
    return frame.drop([name for name in frame.columns if word in name]).write_csv()


def _plain(text: str, folder: Path) -> str:
    """`text` without times, digests, sizes of files, addresses and paths."""
    for pattern, word in _MASKS:
        text = pattern.sub(word, text)
    return masked(text, folder, Path(sys.prefix))
