"""Mutation testing: small faults put into the program one at a time; do its tests notice?

    python benchmarks/trust/mutants.py --each 110 --out FILE            # a sample of every area
    python benchmarks/trust/mutants.py kernels --seed 7 --each 50
    python benchmarks/trust/mutants.py interfaces --again FILE          # survivors, once more

For each area the tests named here run once; the time of each is recorded, and the lines of the area
that it ran. Tests that take more than `--test` seconds are left out: the score is that of tests
that run within minutes. Of all mutants on lines that a test ran, `--each` are drawn with a fixed
seed, with equal probability in all modules. Each is compiled in its module's place in a fork of
this process, where the tests that ran its line run, the quickest first, until one fails or they
have taken `--budget` seconds. A mutant is killed if it makes a test fail or take far longer, or
ends the process.

The mutations are of comparisons, arithmetic, logic, whole numbers, truth values, conditions, `not`,
signs, and statements that raise or return. What tests do in other processes is not seen: a fault
that they alone would notice counts as survived.

Area `interfaces` has tables and methods, area `runs` chains and evaluations. What is tested beside
its own folder of tests has these tests in its area too: guesses about columns stand in
`tests/front_door`, tables of results as stored in `tests/show`, covariates of a chain in
`tests/table`.

Area `kernels` has the compiled functions of four families. Each mutant is compiled by numba, and
the tests of its family run against it, for `--kernel-budget` seconds of processor: which lines a
test runs cannot be seen in compiled code, so all lines count, those that no test reaches too.
Tests that noticed a fault in the same module before come first, then the others in their order.

FILE gets one line for each mutant (those it has are not tried again): area, module, line, fault,
how it ended, how many tests could have noticed. Column `why` says of a survivor why no test fails:
it is written by hand and kept, as is `killed: by a test written since` in place of `survived`.
Linux only.
"""

from __future__ import annotations

import argparse
import ast
import copy
import csv
import importlib
import importlib.abc
import importlib.util
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

import attrs
import pytest
from kernel_mutants import compile_anew, kernel_lines

ROOT = Path(__file__).resolve().parents[2]
os.environ.update(
    OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", POLARS_MAX_THREADS="1",
    HYPOTHESIS_STORAGE_DIRECTORY=tempfile.mkdtemp(prefix="hypothesis-"),
)  # fmt: skip
FAMILIES = ("relief", "infotheory", "margin", "interactions")
OF_ALL = ("tests/plugins/test_parts.py", "tests/plugins/test_variants.py")
"""Tests of several families."""
INTERFACES = [
    f"fsframe/{place}" for place in ("table", "method", "kernels", "params.py", "kinds.py")
]
RUNS = ["fsframe/chains", "fsframe/evaluation"]
OF_CORE = [
    f"tests/{name}"
    for name in ("chains", "core", "kernels", "method", "registry", "resampling", "testing")
]
AREAS: dict[str, tuple[list[str], list[str]]] = {
    "grammar": (
        ["fsframe/grammar.py"],
        ["tests/core/test_grammar.py", "tests/chains/test_chain.py", "fsframe/grammar.py"],
    ),
    "interfaces": (INTERFACES, [*OF_CORE, "tests/table", "tests/front_door", *INTERFACES]),
    "storage": (
        ["fsframe/storage"],
        [
            "tests/storage",
            "tests/method/test_selection.py",
            "tests/show/test_display.py",
            "tests/show/test_report.py",
            "fsframe/storage",
        ],
    ),
    "runs": (
        RUNS,
        [*OF_CORE, "tests/evaluation", "tests/table/test_roles_of_columns.py", *RUNS],
    ),
    "kernels": (
        [f"plugins/fsframe_{name}/engine" for name in FAMILIES],
        [*(f"tests/plugins/{name}" for name in FAMILIES), *OF_ALL],
    ),
}
"""Area → (files with faults, tests)."""


_OPERATORS: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot,
    ast.IsNot: ast.Is, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.LShift: ast.RShift,
    ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.And: ast.Or,
    ast.Or: ast.And,
}  # fmt: skip


def faults(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """The mutations of a node: a name for each, and the new node."""
    other: Any = copy.deepcopy(node)
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _OPERATORS:
        other.ops[0] = _OPERATORS[type(node.ops[0])]()
        yield "comparison", other
    elif isinstance(node, ast.BinOp | ast.AugAssign | ast.BoolOp) and type(node.op) in _OPERATORS:
        other.op = _OPERATORS[type(node.op)]()
        yield "operator", other
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield "sign", other.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        other.value = not node.value if isinstance(node.value, bool) else node.value + 1
        yield "constant", other
    elif isinstance(node, ast.If | ast.While | ast.IfExp):
        other.test = ast.UnaryOp(ast.Not(), other.test)
        yield "condition", other
    elif isinstance(node, ast.Raise):
        yield "not raised", ast.Pass()
    elif isinstance(node, ast.Return) and getattr(node.value, "value", node) is not None:
        other.value = ast.Constant(None)
        yield "returned", other


def places(tree: ast.Module) -> Iterator[tuple[ast.AST, str, int | None, ast.AST]]:
    """Every node within functions with its parent and field, except annotations and strings."""

    def below(node: ast.AST, inside: bool) -> Iterator[Any]:
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns", "decorator_list"):
                continue
            for k, child in enumerate(value if isinstance(value, list) else [value]):
                if not isinstance(child, ast.AST):
                    continue
                here = inside or isinstance(node, ast.FunctionDef)
                if here:
                    yield node, field, k if isinstance(value, list) else None, child
                # The words of messages are not tested for their numbers and signs.
                if not isinstance(child, ast.JoinedStr):
                    yield from below(child, here)

    yield from below(tree, False)


def faulty(source: str) -> Iterator[tuple[int, str, ast.Module]]:
    """Line, name of the fault, and the module with it; the module is restored before the next."""
    tree = ast.parse(source)
    for parent, field, k, child in list(places(tree)):
        for what, other in faults(child):
            ast.copy_location(other, child)
            held: Any = getattr(parent, field)
            if k is None:
                setattr(parent, field, other)
            else:
                held[k] = other
            was, now = ast.unparse(child).splitlines()[0], ast.unparse(other).splitlines()[0]
            yield child.lineno, f"{what}: {was[:60]} → {now[:60]}", tree  # type: ignore[attr-defined]
            if k is None:
                setattr(parent, field, child)
            else:
                held[k] = child


def with_fault(path: Path, number: int) -> CodeType:
    """The code of a module with the fault of that number."""
    for k, (_, _, tree) in enumerate(faulty(path.read_text(encoding="utf-8"))):
        if k == number:
            return compile(ast.fix_missing_locations(tree), str(path), "exec")
    raise IndexError(number)


class InItsPlace(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """An importer of changed code under the name of a module."""

    def __init__(self, name: str, path: Path, code: CodeType) -> None:
        self.name, self.path, self.code = name, path, code

    def find_spec(self, name: str, *_: Any) -> Any:
        if name != self.name:
            return None
        return importlib.util.spec_from_file_location(name, self.path, loader=self)

    def exec_module(self, module: ModuleType) -> None:
        exec(self.code, module.__dict__)


class Watch:
    """A pytest plugin that records the time of each test, and which lines of given files it ran."""

    def __init__(self, files: set[str], most: float) -> None:
        self.files, self.most = files, most
        self.seen: set[tuple[str, int]] = set()
        self.tests: dict[str, tuple[float, list[tuple[str, int]]]] = {}

    def within(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            self.seen.add((frame.f_code.co_filename, frame.f_lineno))
        return self.within

    def trace(self, frame: FrameType, *_: Any) -> Any:
        return self.within if frame.f_code.co_filename in self.files else None

    def pytest_runtest_protocol(self, item: Any, nextitem: Any) -> bool:
        from _pytest.runner import runtestprotocol

        self.seen = set()
        began = time.process_time()
        if self.files:
            threading.settrace(self.trace)
            sys.settrace(self.trace)
        try:
            reports = runtestprotocol(item, nextitem=nextitem, log=False)
        finally:
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]
        took = time.process_time() - began
        ran = self.seen or not self.files
        if took <= self.most and all(report.passed for report in reports) and ran:
            self.tests[item.nodeid] = took, sorted(self.seen)
        return True

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Iterator[None]:
        signal.signal(signal.SIGPROF, self.stop)
        # Compiled tests are not slowed down by the watch, and may be in threads: let them end.
        signal.setitimer(signal.ITIMER_PROF, self.most if self.files else 0)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)

    def stop(self, *_: Any) -> None:
        from numba.core.compiler_lock import global_compiler_lock

        if global_compiler_lock.is_locked():
            # Stopped here, it would keep the lock, and later tests wait for it in their threads.
            signal.setitimer(signal.ITIMER_PROF, 0.05)
        else:
            raise TimeoutError("too slow for mutants")


@attrs.frozen(kw_only=True)
class Mutant:
    """One fault, and the tests that ran its line, the quickest first."""

    area: str
    path: str
    line: int
    what: str
    number: int
    tests: tuple[tuple[float, str], ...]


def forked(work: Any, most: float) -> str:
    """How a function ended in a silent fork: passed, failed, died, slow."""
    child = os.fork()
    if child == 0:
        os.setsid()
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
        code = 1
        try:
            code = work()
        finally:
            os._exit(code)
    give_up = time.monotonic() + most
    while time.monotonic() < give_up:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            if os.WIFSIGNALED(status):
                return "died"
            return "passed" if os.WEXITSTATUS(status) == 0 else "failed"
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "slow"


def files_of(area: str) -> list[Path]:
    """The modules of an area; the grammar is a separate area."""
    found: list[Path] = []
    for place in AREAS[area][0]:
        path = ROOT / place
        found += sorted(path.rglob("*.py")) if path.is_dir() else [path]
    other = set() if area == "grammar" else {ROOT / AREAS["grammar"][0][0]}
    return [path for path in found if path not in other and path.name != "__init__.py"]


def watched(area: str, most: float) -> dict[str, tuple[float, list[tuple[str, int]]]]:
    """Seconds and lines of each test of an area that passes within the time limit."""
    place = Path(tempfile.mkdtemp(prefix="mutants-"))

    def work() -> int:
        files = set() if area == "kernels" else {str(path) for path in files_of(area)}
        watch = Watch(files, most)
        code = pytest.main(
            [*AREAS[area][1], "-q", "-p", "no:cacheprovider", f"--basetemp={place}/t"],
            plugins=[watch],
        )
        (place / "seen").write_text(json.dumps(watch.tests))
        # A run that ended before its last test would count faults as survived that were not tried.
        return int(code > 1)

    if forked(work, 3600) != "passed":
        raise SystemExit(f"{area}: its tests could not be watched")
    found: dict[str, Any] = json.loads((place / "seen").read_text())
    return {test: (took, [tuple(line) for line in lines]) for test, (took, lines) in found.items()}


def all_mutants(area: str, most: float) -> tuple[list[Mutant], dict[str, int]]:
    """The mutants on lines that tests ran, and the numbers of tests and mutants."""
    tests = watched(area, most)
    if area == "kernels":
        return kernel_mutants(tests)
    ran: dict[tuple[str, int], list[tuple[float, str]]] = {}
    for test, (took, lines) in tests.items():
        for line in lines:
            ran.setdefault(line, []).append((took, test))
    found, every = [], 0
    for path in files_of(area):
        for number, (line, what, _) in enumerate(faulty(path.read_text(encoding="utf-8"))):
            every += 1
            able = ran.get((str(path), line))
            if able:
                found.append(
                    Mutant(area=area, path=str(path.relative_to(ROOT)), line=line, what=what,
                           number=number, tests=tuple(sorted(able)))
                )  # fmt: skip
    return found, {"tests": len(tests), "mutants": every, "on lines that run": len(found)}


def kernel_mutants(
    tests: dict[str, tuple[float, list[tuple[str, int]]]],
) -> tuple[list[Mutant], dict[str, int]]:
    """The mutants of compiled functions, each with the tests of its family in order."""
    found = []
    for path in files_of("kernels"):
        source = path.read_text(encoding="utf-8")
        lines = kernel_lines(source)
        family = path.relative_to(ROOT / "plugins").parts[0].removeprefix("fsframe_")
        own = tuple(
            (took, test)
            for test, (took, _) in tests.items()
            if test.startswith((f"tests/plugins/{family}/", *OF_ALL))
        )
        found += [
            Mutant(area="kernels", path=str(path.relative_to(ROOT)), line=line, what=what,
                   number=number, tests=own)
            for number, (line, what, _) in enumerate(faulty(source)) if line in lines
        ]  # fmt: skip
    return found, {"tests": len(tests), "mutants": len(found)}


class First:
    """A pytest plugin that records the test that failed."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.file.write_text(report.nodeid, encoding="utf-8")


_noticed: dict[str, list[str]] = {}
"""Module of kernels → tests that noticed a fault in it, the latest first."""


def chosen_tests(mutant: Mutant, budget: float) -> tuple[list[str], float]:
    """The tests of a mutant that fit into the time budget, at least one, and their time."""
    known = _noticed.get(mutant.path, [])
    chosen, sum_of = [], 0.0
    for took, test in sorted(mutant.tests, key=lambda one: one[1] not in known):
        if chosen and sum_of + took > budget:
            break
        sum_of += took
        chosen.append(test)
    return chosen, sum_of


def tested(mutant: Mutant, budget: float) -> str:
    """The outcome of the tests of a mutant."""
    chosen, sum_of = chosen_tests(mutant, budget)
    code = with_fault(ROOT / mutant.path, mutant.number)
    name = mutant.path.removeprefix("plugins/").removesuffix(".py").replace("/", ".")
    place = Path(tempfile.mkdtemp(prefix="mutant-"))
    failed = place / "failed"

    def work() -> int:
        if mutant.area == "kernels":
            compile_anew(ROOT / mutant.path)
        sys.meta_path.insert(0, InItsPlace(name, ROOT / mutant.path, code))
        # Before pytest, which would read the file where its doctests are named.
        importlib.import_module(name)

        options = ["-x", "-q", "-p", "no:cacheprovider", f"--basetemp={place}/t"]
        return int(pytest.main([*chosen, *options], plugins=[First(failed)]) != 0)

    # Compiling a kernel and all that contain it takes up to a minute on a busy machine.
    ended = forked(work, 90 + 10 * min(sum_of, budget))
    if failed.exists() and mutant.area == "kernels":
        noticed = _noticed.setdefault(mutant.path, [])
        noticed.insert(0, failed.read_text(encoding="utf-8"))
    shutil.rmtree(place, ignore_errors=True)
    return ended


def load_what_stays() -> None:
    """Import modules that do not change, once for all forks."""
    import h5py  # noqa: F401
    import hypothesis.strategies
    import numba  # noqa: F401
    import scipy.stats  # noqa: F401

    # Its table of all characters takes seconds under the watch, in the first test that draws text.
    hypothesis.strategies.text().validate()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("areas", nargs="*", help=f"of {', '.join(AREAS)}; all by default")
    parser.add_argument("--each", type=int, default=100, help="mutants for each area")
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument(
        "--test", type=float, default=4.0, help="seconds of a processor that a test may take"
    )
    parser.add_argument("--budget", type=float, default=8.0, help="seconds of tests for a mutant")
    parser.add_argument("--kernel-budget", type=float, default=40.0, help="the same for kernels")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, help="a CSV file; lines are added to it")
    parser.add_argument("--again", type=Path, help="only the survivors of this CSV file")
    options = parser.parse_args()
    os.chdir(ROOT)
    load_what_stays()
    writing = threading.Lock()

    def try_one(mutant: Mutant) -> str:
        budget = options.kernel_budget if mutant.area == "kernels" else options.budget
        ended = tested(mutant, budget)
        row = {
            "area": mutant.area, "module": mutant.path, "line": mutant.line, "fault": mutant.what,
            "ended": "survived" if ended == "passed" else f"killed: {ended}",
            "tests": len(mutant.tests), "why": "",
        }  # fmt: skip
        with writing:
            if ended == "passed":
                print(f"{mutant.path}:{mutant.line} survives: {mutant.what}", flush=True)
            if options.out:
                add(options.out, row)
        return str(row["ended"])

    for area in options.areas or AREAS:
        every, facts = all_mutants(area, options.test)
        if options.again:
            wanted = {
                (row["module"], row["fault"])
                for row in csv.DictReader(options.again.open(newline="", encoding="utf-8"))
                if row["ended"] == "survived"
            }
            chosen = [one for one in every if (one.path, one.what) in wanted]
        else:
            chosen = random.Random(options.seed).sample(every, min(options.each, len(every)))
        if options.out and options.out.exists():
            done = {
                (row["module"], int(row["line"]), row["fault"])
                for row in csv.DictReader(options.out.open(newline="", encoding="utf-8"))
            }
            chosen = [one for one in chosen if (one.path, one.line, one.what) not in done]
        print(area, facts, "tried", len(chosen), flush=True)
        with ThreadPoolExecutor(options.jobs) as pool:
            print(area, dict(Counter(pool.map(try_one, chosen))), flush=True)


def add(path: Path, row: dict[str, Any]) -> None:
    """Add a line to a CSV file."""
    new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(row), lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(row)


if __name__ == "__main__":
    main()
