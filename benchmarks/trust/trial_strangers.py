"""Study files, tables, pickles, bombs, names in pages and folders beside tables, from anybody."""

from __future__ import annotations

import contextlib
import copy
import io
import json
import os
import pickle
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from trials import Trial, command, small_table

CHAINS = ("mim:top=2 knn", "relieff:top=3 weighted-knn", "anova-f:top=2 ridge")


def studies(trial: Trial) -> None:
    """Study files with paths elsewhere, huge grids and values that no study has."""
    os.chdir(trial.folder)
    inside = trial.folder / "inside"
    inside.mkdir()
    small_table(inside / "small.csv")
    os.chdir(inside)
    usual = {"name": '"s"', "chains": '["mim:top=2 knn"]', "tables": '["small.csv"]',
             "folds": "2", "repeats": "1", "seeds": "[0]"}  # fmt: skip
    odd: dict[str, tuple[str, ...]] = {
        "name": ('"../out"', '"/tmp/out"', '""', '"a/b"', '"\\u0000"', '"."', '".."', '"CON"', "5",
                 '"' + "n" * 5000 + '"', '"<script>"', '"\\u001b[2J"', "[]"),
        "tables": ('["/etc/passwd"]', '["../../../etc/shadow"]', '["/dev/zero"]', '["/dev/stdin"]',
                   '["."]', '["none.csv"]', "[]", "[[]]", '["small.csv", "small.csv"]', '[""]',
                   '["http://x/y.csv"]', '["~/x.csv"]', '["\\u0000"]', "5"),
        "chains": ('["mim:top={1,2,3,4} knn:k={1,2,3,4,5,6,7,8,9}"]',
                   '["mim:top={' + ",".join(map(str, range(1, 3000))) + '} knn"]',
                   '["mim:top={1,2} knn:k={1,2} "]', '["immigrate:sigma={' + ",".join(["1"] * 200)
                   + "},max_iter={" + ",".join(map(str, range(200))) + '} margin"]', "[]",
                   '["mim"]',
                   '["sklearn:estimator=os.system"]', '["' + "(" * 5000 + '"]', "[1]", '"knn"',
                   '["' + "mim " * 5000 + 'knn"]'),
        "folds": ("0", "1", "-3", "1000000000", "2.5", '"2"', "nan", "99999999999999999999", "[2]"),
        "repeats": ("0", "-1", "1000000000", "1e9", "true"),
        "seeds": ("[]", "[-1]", "[1.5]", "[" + ",".join(map(str, range(200_000))) + "]", "[0, 0]",
                  "5", "[99999999999999999999999999]"),
        "measures": ('["none"]', "[]", "5", '["accuracy", "accuracy"]'),
        "unknown": ("1", "{}", '"' + "x" * 100_000 + '"'),
    }  # fmt: skip
    texts = ["", "\0", "[" * 100_000, "a=" * 9, "a = " + "[" * 3000 + "]" * 3000, "\ufeffname=1",
             "name = 'a'\nname = 'b'", "[a]\n" * 9000, "x" * 10**6]  # fmt: skip
    texts += ["\n".join(f"{key} = {value}" for key, value in {**usual, name: each}.items())
              for name, values in odd.items() for each in values]  # fmt: skip
    before = sorted(str(p) for p in trial.folder.iterdir())
    for text in texts:
        (inside / "study.toml").write_text(text)
        for more in (["--dry-run"], []) if len(text) < 400 else (["--dry-run"],):
            code, said = command("study", "study.toml", "-q", *more, seconds=20)
            elsewhere = sorted(str(p) for p in trial.folder.iterdir())
            trial.expect(
                code in (0, 2, 4, 5) and elsewhere == before,
                f"{text[:150]!r} {more}: {code} {said[-500:]} {elsewhere}", f"exit {code}",
            )  # fmt: skip
            for path in inside.iterdir():
                if path.name not in ("small.csv", "study.toml"):
                    shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink()


def variants() -> dict[str, tuple[Any, bool]]:
    """Changes of a table of text, and whether predictions must be those of the table as it was."""

    def columns(lines: list[str], change: Any) -> list[str]:
        return [",".join(change(line.split(","), k)) for k, line in enumerate(lines)]

    def thousandfold(cells: list[str], k: int) -> list[str]:
        return [cells[0], str(1000 * float(cells[1])), *cells[2:]] if k else cells

    def cell(value: str) -> Any:
        return lambda x: columns(x, lambda c, k: c if k == 0 else [c[0], value, *c[2:]])

    return {
        "as it was": (lambda x: x, True),
        "rows only": (lambda x: x[:1], False),
        "one row": (lambda x: x[:2], False),
        "without a used column": (lambda x: columns(x, lambda c, k: [c[0], *c[2:]]), False),
        "without an unused column": (lambda x: columns(x, lambda c, k: [*c[:4], c[5]]), False),
        "without the label": (lambda x: columns(x, lambda c, k: c[:5]), True),
        "an extra column": (lambda x: columns(x, lambda c, k: ["7" if k else "new", *c]), True),
        "columns in another order": (
            lambda x: columns(x, lambda c, k: [c[4], c[2], c[0], c[1], c[3], c[5]]), True),
        "a renamed column": (lambda x: [x[0].replace("b", "B", 1), *x[1:]], False),
        "a name twice": (lambda x: [x[0].replace("c", "b", 1), *x[1:]], False),
        "without names": (lambda x: x[1:], False),
        "blanks around names": (lambda x: [x[0].replace("b", " b ", 1), *x[1:]], False),
        "semicolons": (lambda x: [line.replace(",", ";") for line in x], True),
        "text in a number": (cell("high"), False), "nothing in a number": (cell(""), False),
        "NaN": (cell("nan"), False), "infinity": (cell("inf"), False),
        "1e300": (cell("1e300"), False),
        "a date": (cell("2020-01-01"), False), "a decimal comma": (cell('"1,5"'), False),
        "true": (cell("true"), False), "a constant": (cell("0"), False),
        "units of a thousandth": (
            lambda x: columns(x, thousandfold), False),
        "another class": (
            lambda x: columns(x, lambda c, k: [*c[:5], "dead"] if k == 3 else c), True),
        "a ragged row": (lambda x: [*x[:5], x[5] + ",9", *x[6:]], False),
        "a row of nothing": (lambda x: [*x[:5], ",,,,,", *x[6:]], False),
    }  # fmt: skip


def other_tables(trial: Trial) -> None:
    """`predict` and `apply` on tables that differ from that of the run."""
    os.chdir(trial.folder)
    lines = small_table(Path("small.csv")).read_text().splitlines()
    for chain in CHAINS[:2]:
        words = ["chain", *chain.split(), "on", "small.csv", "-q", "-o", "run.h5", "--overwrite"]
        assert command(*words, seconds=120)[0] == 0
        command(
            *["predict", "run.h5", "on", "small.csv", "-o", "plain.csv", "--overwrite"], seconds=60
        )
        plain = Path("plain.csv").read_text()
        for what, (change, same) in variants().items():
            Path("other.csv").write_text("\n".join(change(lines)) + "\n")
            for words in (
                "predict run.h5 on other.csv -o out.csv",
                "apply run.h5 on other.csv -o out.csv",
            ):
                Path("out.csv").unlink(missing_ok=True)
                code, said = command(*words.split())
                right = code in (0, 2, 4)
                if same and words.startswith("predict"):
                    right = code == 0 and Path("out.csv").read_text() == plain
                if what.startswith("units") and words.startswith("predict"):
                    right &= "in other units?" in " ".join(said.split())
                whole = (code == 0) == Path("out.csv").exists()
                trial.expect(right and whole, f"{chain}: {what}: {words}: {code} {said[-400:]}",
                             f"{words.split()[0]} exit {code}")  # fmt: skip


def pickles(trial: Trial) -> None:
    """Estimators of scikit-learn pickled, by joblib too, copied, cloned; and damaged pickles."""
    import joblib
    from sklearn.base import clone

    from fsframe.registry import selectors
    from fsframe.sklearn import ChainSelector

    draw = np.random.default_rng(0)
    X, y = draw.standard_normal((40, 5)), np.arange(40) % 2
    X[:, 1] += 2 * y
    small = {"trees": 5, "max_runs": 3, "rounds": 2, "max_iter": 3, "folds": 2, "copies": 2}
    texts = [name for name in sorted(selectors) if not getattr(selectors[name], "wrapping", False)]
    for text in texts:
        known = {p.name for p in selectors[text].parameters()}
        options = ",".join(f"{k}={v}" for k, v in small.items() if k in known)
        try:
            one = ChainSelector(f"{text}:{options}".removesuffix(":")).fit(X, y)
        except Exception:
            # What takes neither these classes nor its defaults.
            continue
        expected = one.transform(X)
        held = io.BytesIO()
        joblib.dump(one, held)
        for how, again in (
            ("pickle", lambda e: pickle.loads(pickle.dumps(e))), ("deepcopy", copy.deepcopy),
            ("joblib", lambda e, held=held: joblib.load(io.BytesIO(held.getvalue()))),
            ("clone", lambda e: clone(e).fit(X, y)),
        ):  # fmt: skip
            value = trial_value(again, one)
            right = not isinstance(value, str) and np.array_equal(value.transform(X), expected)
            trial.expect(right, f"{how} of {text}: {value}", how)


def trial_value(work: Any, given: Any) -> Any:
    """What `work` makes of something, or its error as text."""
    try:
        return work(given)
    except Exception as error:
        return repr(error)


def bombs(trial: Trial) -> None:
    """The files of `strange_tables.py bombs`: little memory and time, and a refusal."""
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("strange_tables.py"), "bombs"],
        capture_output=True, text=True,
    )  # fmt: skip
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            found, _ = json.JSONDecoder().raw_decode(line)
            right = found["exit"] in (0, 2, 4) and not found["traceback"] and found["MB"] < 1000
            trial.expect(right and found["processor_s"] < 30, line, f"exit {found['exit']}")


MARK = "document.documentElement.setAttribute('data-struck','1')"
NAMES = (
    f"<script>{MARK}</script>", f"<img src=x onerror={MARK}>", f"</script><script>{MARK}</script>",
    f"'\"><svg onload={MARK}>", f"javascript:{MARK}", f"\" onmouseover=\"{MARK}", "<!--", "]]>",
    f"</style><script>{MARK}</script>", f"</title><script>{MARK}</script>", "&lt;script&gt;",
    f"<iframe srcdoc='<script>parent.{MARK}</script>'>", "<base href='http://evil.example/'>",
    "<meta http-equiv=refresh content='0;url=http://evil.example'>", "\u202egpj.exe", "\x1b[2J",
    f"<a href=\"javascript:{MARK}\">x</a>", "<link rel=stylesheet href=http://evil.example/x>",
    f"<svg><animate onbegin={MARK} attributeName=x dur=1s>", "${alert(1)}", "{{7*7}}",
    "$\\frac{1}{",
    f"</textarea><script>{MARK}</script>", f"<details open ontoggle={MARK}>", "=cmd()|' /C'!A0",
)  # fmt: skip


def browser(trial: Trial) -> None:
    """Hostile names of columns, classes and tables in reports, opened by Chromium."""
    import html5lib
    from playwright.sync_api import sync_playwright

    from fsframe.chains.chain import Chain
    from fsframe.show.page import report_page
    from fsframe.table.dataset import Dataset

    draw = np.random.default_rng(1)
    pages: dict[str, str] = {}
    for number, name in enumerate(NAMES):
        y = np.arange(40) % 2
        X = draw.standard_normal((40, 5))
        X[:, 0] += 2 * y
        names = [name, *(f"{name} {k}" for k in range(2, 6))]
        labels = [(name, f"{name}2")[k] for k in y]
        data = Dataset.from_arrays(X, labels, names, name=name)
        for text in (
            "immigrate:max_iter=3,top=2 npfs:n=6,null=published",
            "cross-validation:base=(mim:top=2 knn),folds=2,repeats=1",
        )[: 2 if number < 8 else 1]:
            page = report_page(Chain.parse(text).run(data, seed=1), data=data)
            pages[f"{number} {text[:5]} {name}"] = page
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for what, page in pages.items():
            path = trial.folder / "page.html"
            path.write_text(page, encoding="utf-8")
            asked: list[str] = []
            said: list[str] = []
            tab = opened.new_page()
            tab.on("request", lambda request, to=asked: to.append(request.url))
            tab.on("dialog", lambda dialog, to=said: (to.append(dialog.message), dialog.dismiss()))
            tab.on("pageerror", lambda error, to=said: to.append(str(error)))
            tab.goto(path.as_uri())
            for cell in tab.locator("td, th, svg text").all()[:10]:
                cell.hover(timeout=500, force=True) if cell.is_visible() else None
            struck = tab.evaluate("document.documentElement.hasAttribute('data-struck')")
            shown = what.split(" ", 2)[2].strip("\x1b\u202e")[:8] in tab.inner_text("body")
            tab.close()
            tree = html5lib.parse(page, namespaceHTMLElements=False)
            bad = [f"{each.tag} {key}" for each in tree.iter() for key in each
                   if str(key).startswith("on") or "javascript:" in str(each.get(key))]  # fmt: skip
            bad += [
                each.tag for each in tree.iter() if each.tag in ("iframe", "base", "object", "link")
            ]
            trial.expect(
                not struck and asked == [path.as_uri()] and not said and not bad,
                f"{what}: struck {struck}, asked {asked[1:]}, said {said}, {bad}",
                "name shown" if shown else "name escaped or shortened",
            )  # fmt: skip
        opened.close()


def parts(trial: Trial) -> None:
    """Answers from a table in parts while its cache is raced for, linked, aged and taken away."""
    import polars

    from fsframe.table.parts import CACHE_FOLDER

    os.environ["XDG_CACHE_HOME"] = str(trial.folder / "home")
    folder = trial.folder / "parts"
    folder.mkdir()
    X = np.random.default_rng(0).integers(0, 5, (400, 5), dtype=np.uint8)
    frame = polars.DataFrame({f"f{k}": X[:, k] for k in range(5)})
    frame = frame.with_columns(y=(X[:, 0] > 2).astype(int))
    frame[:200].write_parquet(folder / "0.parquet")
    frame[200:].write_parquet(folder / "1.parquet")
    other = frame.with_columns(f0=pl_shuffled(frame["f0"]))
    script = (
        "import fsframe, sys\n"
        "print(fsframe.select('mim:top=2', fsframe.read(sys.argv[1])).scores.tolist())"
    )

    def answers(many: int, during: Any = None) -> list[str]:
        children = [subprocess.Popen([sys.executable, "-c", script, str(folder)], text=True,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                    for _ in range(many)]  # fmt: skip
        if during:
            while any(child.poll() is None for child in children):
                during()
                time.sleep(0.02)
        ends = [child.communicate() for child in children]
        return [said.strip() or error[-600:] for said, error in ends]

    kept = folder / CACHE_FOLDER
    [expected] = answers(1)
    draw = random.Random(2)

    def take_away() -> None:
        shutil.rmtree(kept, ignore_errors=True)

    def damage() -> None:
        files = [p for p in kept.rglob("*") if p.is_file()] if kept.is_dir() else []
        if files:
            with contextlib.suppress(OSError):
                os.truncate(draw.choice(files), draw.randrange(60))

    for number in range(trial.times):
        how = ("race", "race, taken away", "race, damaged", "link", "old", "future")[number % 6]
        if how.startswith("race"):
            take_away()
            during = {"race": None, "race, taken away": take_away, "race, damaged": damage}[how]
            found = answers(3, during)
            # Where the folder is taken away again and again, there is no place for the codes.
            right = {each for each in found if "codes of parts cannot be kept" not in each}
            trial.expect(right <= {expected}, f"{how}: {found}", how)
        elif how == "link":
            elsewhere = trial.folder / "elsewhere"
            shutil.rmtree(elsewhere, ignore_errors=True)
            answers(1)
            shutil.move(kept, elsewhere)
            kept.symlink_to(elsewhere)
            stamp = {p: p.read_bytes() for p in elsewhere.rglob("*") if p.is_file()}
            found = answers(1)
            same = {p: p.read_bytes() for p in elsewhere.rglob("*") if p.is_file()} == stamp
            trial.expect(found == [expected] and same, f"{how}: {found} {same}", how)
            kept.unlink()
        else:
            answers(1)
            path = folder / "0.parquet"
            state, content = path.stat(), path.read_bytes()
            other[:200].write_parquet(path)
            when = state.st_mtime_ns if how == "old" else state.st_mtime_ns + 10**18
            os.utime(path, ns=(when, when))
            [changed] = answers(1)
            path.write_bytes(content)
            os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
            [back] = answers(1)
            trial.expect(changed != expected and back == expected, f"{how}: {changed} {back}", how)


def pl_shuffled(column: Any) -> Any:
    return column.shuffle(seed=1)


TRIALS = {
    "studies": (studies, 0, "study files with paths elsewhere, huge grids, senseless values"),
    "other-tables": (other_tables, 0, "predict and apply on 26 other tables: columns missing, "
                     "extra, renamed, retyped, moved; other units; for two chains"),
    "pickles": (pickles, 0, "every selector as an estimator: pickle, joblib, deepcopy, clone"),
    "bombs": (bombs, 0, "twelve small files that stand for 1.6 GB: xlsx, HDF5, npz, mtx …"),
    "browser": (browser, 0, "25 hostile names of columns, classes and tables in reports: Chromium "
                "opens them, html5lib looks for handlers and foreign elements"),
    "parts-cache": (parts, 30, "three readers at once while the folder is removed or damaged; a "
                    "link in its place; a part replaced under its old time, or one of the future"),
}  # fmt: skip
