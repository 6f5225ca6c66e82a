"""Writes docs/numbers.md from the committed results of all benchmarks and fault runs.

``python docs/make_numbers.py`` writes the page; with ``--check`` it says whether it is current.
"""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import attrs

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "numbers.md"

_HEAD = """\
# Numbers

Written by `python docs/make_numbers.py` from the result files of benchmarks and fault runs in
`benchmarks/*/results`; do not edit it. Every result is shown, good or bad, with its main columns;
the named file has the others (standard errors, versions, loads). The pages of the methods explain
them. `python benchmarks/provenance.py` lists the files whose code has changed since they were made,
and what has changed.
"""

Rows = list[dict[str, str]]


@attrs.frozen
class Figure:
    """A measurement: title, command, result files, and how they are shown."""

    what: str
    command: str
    files: tuple[str, ...]
    show: Callable[[Path], Iterable[str]]


def rows_of(path: Path) -> Rows:
    """The lines of a CSV file, without comments."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def lines_of(path: Path) -> list[dict[str, Any]]:
    """The objects of a file with one JSON object per line."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def table(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Rows as Markdown; the columns are the keys of all."""
    listed = [{k: str(v).replace("|", "\\|") for k, v in row.items()} for row in rows]
    names = list(dict.fromkeys(name for row in listed for name in row))
    if listed:
        yield f"|{'|'.join(names)}|"
        yield "|-" * len(names) + "|"
    for row in listed:
        yield f"|{'|'.join(row.get(name, '') for name in names)}|"


def whole(path: Path) -> Iterator[str]:
    """A CSV file as it is."""
    yield from table(rows_of(path))


def columns(*names: str) -> Callable[[Path], Iterator[str]]:
    """These columns of a CSV file or of a file of JSON objects."""

    def show(path: Path) -> Iterator[str]:
        rows = rows_of(path) if path.suffix == ".csv" else lines_of(path)
        yield from table({n.replace("_", " "): row[n] for n in names if n in row} for row in rows)

    return show


def shared_by_seeds(path: Path) -> Iterator[str]:
    """The text of the comparison with BorutaPy as a table, a line for each program and table."""
    lines = path.read_text(encoding="utf-8").splitlines()
    yield f"{lines[0]}; {lines[1]}."
    yield ""
    rows, about = [], ""
    for line in lines[2:]:
        match = re.fullmatch(
            r"  (fsframe|BorutaPy, \S+) +(.*\d)  +two seeds share (\S+), "
            r"with fsframe (\S+), processor time × (\S+)",
            line,
        )
        if match:
            names = ("program", "by seed", "two seeds", "with fsframe", "processor time ×")
            rows.append({"table": about, **dict(zip(names, match.groups(), strict=True))})
            about = ""
        elif line and not line.startswith(" "):
            about = line
    yield from table(rows)
    said = [line.strip() for line in lines if "say nothing" in line]
    yield ""
    yield from said


def objects(path: Path) -> Iterator[str]:
    """The counts of each line, after its title, without those of exit codes."""
    for line in lines_of(path):
        counts = {k: v for k, v in line.items() if k != "what" and not k.startswith("exit_")}
        facts = ", ".join(f"{k.replace('_', ' ')} {v}" for k, v in counts.items())
        yield f"* {line['what']}: {facts}"


def strange(path: Path) -> Iterator[str]:
    """Tables to exhaust memory as a table, the rest as lines."""
    lines = lines_of(path)
    bombs = [line for line in lines if "exit" in line]
    yield from (f"* {line['what']}: {line['times']} times" for line in lines if line not in bombs)
    if bombs:
        yield ""
    shown = [{**line, "what": line["what"].partition(", ")[2]} for line in bombs]
    yield from table({k.replace("_", " "): v for k, v in line.items()} for line in shown)


def trials(path: Path) -> Iterator[str]:
    """One line for each trial; ends are shown without exit codes, which only count the trials."""
    codes = r"(?:\w+ )?exits? (?:\[[\d, ]*\]|\d+) \d+(?:, )?"
    before, rows = "", []
    for row in rows_of(path):
        tried = row["what was tried"]
        same = re.sub(r"version \d", "version …", tried)
        version = re.search(r"version \d", tried)
        rows.append(
            {
                "trial": row["trial"],
                "made": row["made"],
                "as promised": row["as promised"],
                "what was tried": f"the same of {version[0]}"
                if version and same == before
                else tried,
                "ends": re.sub(codes, "", row["ends"]).removesuffix(", "),
            }
        )
        before = same
    yield from table(rows)


def equal_digests(path: Path) -> Iterator[str]:
    """How many chains gave equal digests in all settings, and those that did not."""
    rows = rows_of(path)
    shown = []
    for way, of in dict.fromkeys((row["way"], row["table"]) for row in rows):
        group = [row for row in rows if (row["way"], row["table"]) == (way, of)]
        shown.append(
            {
                "way": way,
                "table": of,
                "chains": len(group),
                "drawing at random": sum(row["draws"] != "0" for row in group),
                "equal": sum(len(set(row["equal"].split(" of "))) == 1 for row in group),
            }
        )
    yield from table(shown)
    yield ""
    for row in rows:
        if len(set(row["equal"].split(" of "))) > 1:
            yield f"* {row['chain']}: {row['equal']} equal"


def memory_of_commands(path: Path) -> Iterator[str]:
    """What whole commands held of their bound, for each table and number of workers."""
    groups: dict[tuple[str, ...], Rows] = {}
    for row in rows_of(path):
        workers = re.search(r"--workers (\d+)", row["command"])
        key = (row["shape"], row["values"], workers[1] if workers else "0")
        groups.setdefault(key, []).append(row)
    shown = []
    for key, group in groups.items():
        shares = sorted(100 * float(row["held_mb"]) / float(row["allowed_mb"]) for row in group)
        largest = max(group, key=lambda row: float(row["allowed_mb"]))
        shown.append(
            {
                **dict(zip(("shape", "values", "workers"), key, strict=True)),
                "commands": len(group),
                "stopped or refused": sum(row["ended"] != "exit 0" for row in group),
                "held of the bound, %": f"{shares[0]:.0f}–{shares[-1]:.0f}",
                "largest bound, MB": largest["allowed_mb"],
                "of": f"`{largest['command']}`",
            }
        )
    yield from table(shown)


def without_codes(path: Path) -> Iterator[str]:
    """What commands on run files held; an end with exit code 0 is left out."""
    names = ("shape", "values", "command", "file_mb", "held_mb", "seconds", "ended")
    yield from table(
        {name.replace("_", " "): row[name].replace("exit 0", "") for name in names}
        for row in rows_of(path)
    )


def tally(by: str, of: str) -> Callable[[Path], Iterator[str]]:
    """Counts of the values in column `of` of a CSV file, for each value of `by`."""

    def show(path: Path) -> Iterator[str]:
        rows = rows_of(path)
        said = sorted({row[of] for row in rows})
        counts = Counter((row[by], row[of]) for row in rows)
        groups = list(dict.fromkeys(row[by] for row in rows))
        yield from table({by: g, **{s: counts[g, s] for s in said}} for g in groups)

    return show


BAD = ("lost", "unequal", "failed", "left", "hangs", "untrue", "tracebacks")


def signals(path: Path) -> Iterator[str]:
    """Trials since the last finding, then those before each change that mended one."""
    lines = lines_of(path)
    now = [line for line in lines if "mended" not in line]
    versions = dict.fromkeys(line["version"] for line in now if "version" in line)
    names = ("trials", "stopped", "kept", *BAD)
    spans = {f"since the last finding was fixed ({', '.join(versions)})": now}
    for mended in reversed(dict.fromkeys(line["mended"] for line in lines if "mended" in line)):
        before = [line for line in lines if line.get("mended") == mended]
        spans[f"before “{mended}”, which fixed what was found"] = before
    rows = []
    for span, span_lines in spans.items():
        rows.append({"when": span, **{n: sum(line[n] for line in span_lines) for n in names}})
    yield from table(rows)
    yield ""
    by: Counter[str] = sum((Counter(line["by"]) for line in now), Counter())
    kinds = ", ".join(f"{kind} {number}" for kind, number in by.most_common())
    yield f"Signals that arrived before the end, since the last finding: {kinds}."
    yield from (f"* {' '.join(example.split())}" for line in now for example in line["examples"])


def commands_on_disks(path: Path) -> Iterator[str]:
    """One line for each command, and the total; columns of zeros are named, not shown."""
    lines = lines_of(path)
    known = ("points", "fired", "ended_0", "ended_5", "killed", "acknowledged", "lost", "codes",
             "tracebacks", "hurt", "half", "litter", "untrue", "failed", "unequal",
             "hangs")  # fmt: skip
    names = [n for n in known if all(n in line for line in lines)]
    seen = [n for n in names if any(line[n] for line in lines)]
    commands = dict.fromkeys(line["command"] for line in lines)
    rows = []
    for command in (*commands, "all"):
        counted = [line for line in lines if command in (line["command"], "all")]
        calls = sum({line["command"]: line["calls"] for line in counted}.values())
        rows.append(
            {"command": command, "calls": calls, **{n: sum(o[n] for o in counted) for n in seen}}
        )
    yield from table(rows)
    yield ""
    yield f"None in any command: {', '.join(n for n in names if n not in seen)}."
    for line in lines:
        yield from (f"* {' '.join(example.split())}" for example in line["examples"])


def places(path: Path) -> Iterator[str]:
    """Ranks of the interacting pairs, for each number of bins."""
    runs = json.loads(path.read_text(encoding="utf-8"))
    yield from table(
        {"run": run, "table": name, **{k: f"{v:.3g}" for k, v in facts.items()}}
        for run, parts in runs.items()
        for name, facts in parts.get("places", {}).items()
    )


def mutants(path: Path) -> Iterator[str]:
    """Killed mutants by area and in total, some by tests written for survivors; the file says why
    the others survived."""
    rows = rows_of(path)
    areas = list(dict.fromkeys(row["area"] for row in rows))
    shown = []
    for area in (*areas, "all"):
        of_area = [row for row in rows if area in (row["area"], "all")]
        killed = sum(row["ended"] != "survived" for row in of_area)
        since = sum(row["ended"].endswith("written since") for row in of_area)
        equal = sum(row["why"].startswith("equivalent") for row in of_area)
        shown.append(
            {
                "area": area, "mutants": len(of_area), "killed when drawn": killed - since,
                "killed since": since, "survived": len(of_area) - killed,
                "of these equivalent": equal,
                "when drawn %": f"{100 * (killed - since) / len(of_area):.1f}",
                "now %": f"{100 * killed / len(of_area):.1f}",
                "now, without equivalents %": f"{100 * killed / max(1, len(of_area) - equal):.1f}",
            }
        )  # fmt: skip
    yield from table(shown)


FIGURES: dict[str, list[Figure]] = {
    "Faults": [
        Figure(
            "Signals to whole commands, which are then repeated",
            "python tests/faults/signals.py --trials 500 --workers 2 --add FILE",
            ("trust/results/signals.jsonl",),
            signals,
        ),
        Figure(
            "Kills before every call by which a run changes the disk",
            "python tests/faults/disk.py --command 'chain of units' --command resume --form killed "
            "--add FILE",
            ("trust/results/disk_kills.jsonl",),
            commands_on_disks,
        ),
        Figure(
            "Twelve forms of disk error at the calls by which whole commands change the disk",
            "python tests/faults/disk.py --add FILE",
            ("trust/results/disk_commands.jsonl",),
            commands_on_disks,
        ),
        Figure(
            "Hostile files and requests",
            "FSFRAME_FIGURES=FILE pytest -m slow tests/cli/test_senseless_files.py "
            "tests/storage/test_costs.py tests/cli/test_random_requests.py",
            ("trust/results/hostile.jsonl",),
            objects,
        ),
        Figure(
            "Tables to exhaust memory, and mutated files beside a table in parts (own seal: "
            "senseless content that the user's own key has sealed)",
            "python benchmarks/trust/strange_tables.py bombs; … forged 1500",
            ("trust/results/strange_tables.jsonl",),
            strange,
        ),
        Figure(
            "Trials of users, disks, folders and strangers, as they ended last",
            "python benchmarks/trust/trials.py --only NAME",
            ("trust/results/trials.csv",),
            trials,
        ),
        Figure(
            "Digests of every method with 1, 2 and 4 threads (alone) and with these and 0, 2 and 3 "
            "workers (resampled, or where the method resamples)",
            "python benchmarks/trust/trials.py --only seed-equality",
            ("trust/results/seed_equality.csv",),
            equal_digests,
        ),
        Figure(
            "Mutation testing: small faults that tests detect",
            "python benchmarks/trust/mutants.py grammar storage runs interfaces --each 45 "
            "--seed 11 --test 2.5 --out FILE; … kernels --each 60 --seed 11 --out FILE",
            ("trust/results/mutants.csv",),
            mutants,
        ),
        # The same file: `python benchmarks/trust/fuzz.py chain -max_total_time=300 --add FILE`.
    ],
    "Report": [
        Figure(
            "The report on a large run",
            "python benchmarks/report/page.py",
            ("report/results/page.csv",),
            whole,
        ),
    ],
    "Memory": [
        Figure(
            "Memory of whole commands and their smallest accepted `--memory`",
            "python benchmarks/memory/peaks.py runs --shape 100x60000 --memory least --add FILE",
            ("memory/results/runs.csv",),
            memory_of_commands,
        ),
        Figure(
            "Memory of commands on a run file, beyond the imported program, MB",
            "python benchmarks/memory/peaks.py files --shape 100x60000 --add FILE",
            ("memory/results/files.csv",),
            without_codes,
        ),
        Figure(
            "Copies of the table that fits of the Relief family hold, and the number they declare",
            "python benchmarks/memory/peaks.py fits --kind gaps --shape 100000x200 --memory 480MB "
            "--add FILE relieff:m=20,missing=probability",
            ("memory/results/relief.csv",),
            whole,
        ),
        Figure(
            "Reading tables: seconds, and memory over the size of the file or table",
            "python benchmarks/tables/limits.py --out FILE",
            ("tables/results/limits.csv",),
            whole,
        ),
        Figure(
            "How commands on run files grow with the size of the file",
            "python benchmarks/trust/growth.py --out FILE",
            ("trust/results/growth.csv",),
            whole,
        ),
        Figure(
            "Compilation time in the README's first command (elapsed, idle machine)",
            "python benchmarks/first_run/compiling.py",
            ("first_run/results/first_run.jsonl",),
            objects,
        ),
        Figure(
            "How NPFS grows with bootstraps, features and rows",
            "python benchmarks/resampling/growth.py",
            ("resampling/results/growth.csv",),
            columns("doubled", "base", "n", "K", "N", "seconds", "mb_more"),
        ),
        Figure(
            "Short fits under npfs with two threads, in seconds",
            "python benchmarks/resampling/short_fits.py",
            ("resampling/results/short_fits.csv",),
            whole,
        ),
    ],
    "Many rows": [
        Figure(
            "Chains on tables in parts, in new processes; held_gb without the interpreter",
            "python benchmarks/parts/measured.py FOLDER LABEL CHAIN --memory 1 --workers 0 2",
            ("parts/results/measured.jsonl",),
            columns(
                "what",
                "rows",
                "columns",
                "memory_gb",
                "workers",
                "processor_s",
                "seconds",
                "held_gb",
                "worker_gb",
                "load",
            ),
        ),
        Figure(
            "Prototypes drawn over parts: error by number of prototypes; scale_s of the two passes",
            "python benchmarks/parts/prototypes.py FOLDER --rows 6400000",
            ("parts/results/prototypes.jsonl",),
            columns(
                "what",
                "rows",
                "mean_error",
                "worst_error",
                "same_kept",
                "processor_s",
                "scale_s",
                "peak_gb",
            ),
        ),
        Figure(
            "mRMR of sparse tables: the first feature, including preparation, and each further one",
            "python benchmarks/infotheory/sparse.py 1000000 3000000 --values ones",
            ("infotheory/results/sparse.jsonl",),
            columns(
                "what",
                "rows",
                "columns",
                "first_processor_s",
                "a_further_feature_processor_s",
                "held_gb",
            ),
        ),
        Figure(
            "ReliefF: processor time per target, and with all rows as targets",
            "python benchmarks/relief/million.py --targets 1000",
            ("relief/results/million.jsonl",),
            columns(
                "what",
                "targets",
                "threads",
                "seconds",
                "processor_ms_a_target",
                "all_rows_processor_minutes",
                "calculated",
                "peak_gb",
            ),
        ),
        Figure(
            "MultiSURF of genotypes: processor time per target, and with all rows as targets",
            "python benchmarks/relief/genotypes.py",
            ("relief/results/genotypes.jsonl",),
            columns(
                "what",
                "targets",
                "threads",
                "seconds",
                "processor_ms_a_target",
                "all_rows_processor_minutes",
                "calculated",
                "peak_gb",
            ),
        ),
    ],
    "Statistics": [
        Figure(
            "NPFS: selections if no feature is relevant, and power if some are",
            "python benchmarks/resampling/npfs_levels.py",
            ("resampling/results/npfs_levels.csv",),
            columns(
                "table",
                "chain",
                "N",
                "K",
                "k_star",
                "repeats",
                "named",
                "se",
                "true",
                "false",
                "nominal",
                "any",
                "any_se",
            ),
        ),
        Figure(
            "Logistic ℓ₁ paths of lasso beside those of liblinear",
            "python benchmarks/sklearn_stages/paths.py --out FILE",
            ("sklearn_stages/results/paths.csv",),
            whole,
        ),
        Figure(
            "NPFS: agreement between seeds",
            "python benchmarks/resampling/npfs_agreement.py TABLE CHAIN",
            ("resampling/results/npfs_agreement.csv",),
            columns("table", "chain", "N", "K", "seeds", "phi", "by_all"),
        ),
        Figure(
            "cpss and ipss: features kept if none is relevant, and the number promised",
            "python benchmarks/resampling/halves_on_noise.py --add FILE",
            ("resampling/results/halves_on_noise.csv",),
            whole,
        ),
        Figure(
            "cpss and ipss on designs of the ledger: features kept, by bound",
            "python benchmarks/resampling/halves_on_designs.py --out FILE",
            ("resampling/results/halves_on_designs.csv",),
            whole,
        ),
        Figure(
            "Chains on binary columns with few ones: F1, and tables in which a false one is kept",
            "python benchmarks/ledger/rare.py",
            ("ledger/results/rare.csv",),
            whole,
        ),
        Figure(
            "knockoffs: share of false features among the kept, and of true ones that are kept",
            "python benchmarks/resampling/knockoffs_fdr.py --out FILE",
            ("resampling/results/knockoffs_fdr.csv",),
            whole,
        ),
        Figure(
            "NPFS with a time, where columns and label drift: p-values if nothing is relevant",
            "python benchmarks/resampling/drift.py --out FILE",
            ("resampling/results/drift.csv",),
            whole,
        ),
        Figure(
            "NPFS with covariates: p-values of features that only follow them",
            "python benchmarks/resampling/strata.py --out FILE",
            ("resampling/results/strata.csv",),
            whole,
        ),
        Figure(
            "Tests of pairs after a selection, without any interaction",
            "python benchmarks/interactions/after_selection.py",
            ("interactions/results/after_selection.csv",),
            columns(
                "table",
                "chain",
                "tested on",
                "p05",
                "p05_se",
                "any_q05_of_kept",
                "any_q05_reported",
                "any_q05_reported_se",
            ),
        ),
        Figure(
            "Ranks of known interacting pairs by `interactions`",
            "python benchmarks/interactions/controls.py --out FILE",
            ("interactions/results/controls.json",),
            places,
        ),
        Figure(
            "A three-way form of IMMIGRATE: what it finds, and how it predicts",
            "python benchmarks/margin/three_way.py",
            ("margin/results/three_way.csv",),
            columns(
                "columns",
                "case",
                "tables",
                "true triple",
                "median share",
                "largest share",
                "called",
                "screen",
                "screen called",
                "tables predicted",
                "three-way",
                "two-way",
                "relieff",
            ),
        ),
        Figure(
            "Interactions of a numeric target: errors, and what is warned of",
            "python benchmarks/interactions/numeric_target.py --out FILE",
            ("interactions/results/numeric_target.csv",),
            whole,
        ),
        Figure(
            "Every selector on pure noise",
            "python benchmarks/published/leaks.py",
            ("published/results/leaks.csv",),
            tally("selection", "verdict"),
        ),
        Figure(
            "Boruta compared with BorutaPy",
            "python benchmarks/boruta/overlap.py",
            ("boruta/results/overlap.txt",),
            shared_by_seeds,
        ),
    ],
    "Published tables": [
        Figure(
            "IMMIGRATE Tables 1–3, IM4E Tables 3–5: figures above, equal, below, by table",
            "python benchmarks/published/margin_tables.py --data DATA --published CSV",
            ("published/results/margin.csv",),
            tally("table", "verdict"),
        ),
        # The others are tables in Markdown already, listed below.
    ],
}


def numbers() -> str:
    """The whole page."""
    parts = [_HEAD]
    for title, figures in FIGURES.items():
        parts.append(f"## {title}\n")
        for figure in figures:
            links = ", ".join(f"[{name}](../benchmarks/{name})" for name in figure.files)
            parts += [f"### {figure.what}\n", f"`{figure.command}`: {links}\n"]
            for name in figure.files:
                parts += [*figure.show(ROOT / "benchmarks" / name), ""]
    parts += [*_other_results(), *_elsewhere()]
    return "\n".join(parts).rstrip() + "\n"


def results() -> list[str]:
    """The committed result files, relative to `benchmarks/`."""
    files = (ROOT / "benchmarks").glob("*/results/*")
    return sorted(p.relative_to(ROOT / "benchmarks").as_posix() for p in files)


def _other_results() -> Iterator[str]:
    """Files that this page does not show, by folder: of a CSV file its Markdown table, if any."""
    shown = {name for figures in FIGURES.values() for f in figures for name in f.files}
    rest = [name for name in results() if name not in shown]
    yield "## Other result files\n"
    yield "Long ones, and tables. The README of each folder says which command writes them.\n"
    folders: dict[str, list[str]] = {}
    for name in rest:
        if not (name.endswith(".csv") and name[:-4] + ".md" in rest):
            folder, _, file = name.partition("/results/")
            folders.setdefault(folder, []).append(f"[{file}](../benchmarks/{name})")
    yield from (f"* {folder}: {', '.join(links)}" for folder, links in folders.items())
    yield ""


def _elsewhere() -> Iterator[str]:
    """Benchmarks without result files, by the pages with their figures."""
    yield "## Figures on other pages\n"
    yield "Pages with figures of benchmarks without result files, and these benchmarks.\n"
    pages = [*sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "benchmarks").rglob("*.md"))]
    scripts: dict[str, list[str]] = {}
    texts = {p: p.read_text(encoding="utf-8") for p in (*pages, ROOT / "README.md") if p != PAGE}
    for script in sorted((ROOT / "benchmarks").glob("*/*.py")):
        text = script.read_text(encoding="utf-8")
        name = script.relative_to(ROOT).as_posix()
        stem = f"{script.parent.name}/results"
        if "__main__" not in text or ((ROOT / "benchmarks" / stem).is_dir() and "results" in text):
            continue
        if any(name in f.command for figures in FIGURES.values() for f in figures):
            continue
        said = [p for p, words in texts.items() if name in words]
        links = [f"[{p.stem}]({'../' if not p.is_relative_to(PAGE.parent) else ''}"
                 f"{p.relative_to(ROOT if not p.is_relative_to(PAGE.parent) else PAGE.parent)})"
                 for p in said]  # fmt: skip
        where = ", ".join(links) or "On no page"
        scripts.setdefault(where, []).append(f"[{name.removeprefix('benchmarks/')}](../{name})")
    yield from (f"* {where}: {', '.join(linked)}" for where, linked in scripts.items())


def main() -> int:
    """Write the page, or compare."""
    text = numbers()
    # The article cites some of these figures.
    article = [sys.executable, str(ROOT / "paper" / "figures.py")]
    if "--check" in sys.argv[1:]:
        if subprocess.run([*article, "--check"]).returncode:
            print("paper/paper.md is not current: run python paper/figures.py")
            return 1
        if PAGE.read_text(encoding="utf-8") != text:
            print("docs/numbers.md is not current: run python docs/make_numbers.py")
            return 1
        return 0
    PAGE.write_text(text, encoding="utf-8")
    return subprocess.run(article).returncode


if __name__ == "__main__":
    raise SystemExit(main())
