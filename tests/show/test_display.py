"""Results on a terminal: weights and tables that line up, what objects show, and progress."""

from __future__ import annotations

import csv
import io
import sys
import threading
import types
from pathlib import Path

import attrs
import numpy as np
import pytest

import fsframe
from fsframe import text
from fsframe.chains.chain import Chain
from fsframe.method.run import Progress
from fsframe.show.display import protocol_csv, protocol_object, result_lines, result_object
from fsframe.show.progress import Pace, ProgressBars, in_notebook
from fsframe.show.verdicts import heading, verdict
from fsframe.storage import RunRecord
from fsframe.table.dataset import Dataset
from fsframe.text import html_table, printable, remark, shown_width, table_lines, ticking


def shifted_table() -> Dataset:
    """Two correlated columns whose difference tells the classes apart (IMMIGRATE, §4.1)."""
    rng = np.random.default_rng(0)
    shape = np.array([[1.0, 0.5], [0.5, 1.0]])
    rows = [rng.multivariate_normal(centre, shape, 100) for centre in ((4, 2), (6, 0))]
    return Dataset.from_arrays(np.vstack(rows), np.repeat([0, 1], 100), ["f1", "f2"])


def test_a_negative_weight_is_printed_with_its_sign() -> None:
    record = Chain.parse("lfe:top=2").run(shifted_table())
    assert record.pairs[0].weight < -0.3 and record.n_pairs == 1
    lines = list(result_lines(record, None))
    at = next(i for i, line in enumerate(lines) if line.startswith("Pairs by"))
    assert lines[at] == "Pairs by metric weight (relevance of both together, not interaction):"
    assert f"{record.pairs[0].weight:.4g}" in lines[at + 2]
    assert result_object(record, None)["pairs"][0][2] == record.pairs[0].weight


def test_weights_that_travelled_keep_the_name_of_their_maker() -> None:
    record = Chain.parse("lfe:top=2 mim:top=2").run(shifted_table())
    stage = record.pair_stage
    assert stage is not None and stage.name == "lfe"
    assert any("Pairs by metric weight" in line for line in result_lines(record, None))


def test_a_kept_feature_is_shown_with_those_that_it_represents() -> None:
    table = shifted_table()
    X = np.column_stack([table.X, table.X[:, 0] * 2])
    record = Chain.parse("correlation").run(Dataset.from_arrays(X, table.y, ["a", "b", "c"]))
    lines = list(result_lines(record, None))
    at = lines.index("correlation: features that represent a cluster")
    assert [line.split() for line in lines[at + 1 :]][:2] == [["feature", "represents"], ["a", "c"]]


@pytest.mark.parametrize("name", ["遺伝子", "ge\u0301ne", "ｗｉｄｅ", "ε\u200d2", ""])
def test_columns_line_up_in_cells_of_the_terminal(name: str) -> None:
    rows = [["plain name", "1"], [name, "22"]]
    header, first, second = table_lines(["feature", "score"], rows, right={1})
    assert shown_width(first) == shown_width(second) == shown_width(header)
    # A joiner without a width of its own is written as an escape, and lined up as such.
    cell = printable(name)
    assert second == cell + " " * (len("plain name") - shown_width(cell)) + "     22"


def test_a_stability_study_is_written_by_metric_and_set_size(tmp_path: Path) -> None:
    X = np.random.default_rng(0).standard_normal((30, 4))
    metrics = "[nogueira,spearman,'nogueira:level=0.9,clip=true']"
    chain = Chain.parse(f"stability-study:base='mim:top=2',n=4,metric={metrics}")
    record = chain.run(Dataset.from_arrays(X, np.arange(30) % 2), seed=1)
    protocol_csv(record, tmp_path / "s.csv", overwrite=False)
    head, *lines = (tmp_path / "s.csv").read_text().splitlines()
    assert head == "metric,k,value,low,high"
    # A name with a comma is one cell.
    assert {len(row) for row in csv.reader(lines)} == {5}
    told = protocol_object(record, None)["stability"]
    whole, *by_size = (line.split(",") for line in lines if line.startswith("nogueira,"))
    assert whole[:2] == ["nogueira", ""]
    assert [float(cell) for cell in whole[2:]] == [
        told["nogueira"]["value"],
        *told["nogueira"]["interval"],
    ]
    assert [row[1] for row in by_size] == ["1", "2", "3", "4"]
    assert float(by_size[1][2]) == told["nogueira"]["by_size"][1]
    # A metric of rankings has no sizes.
    assert [line.split(",")[1] for line in lines if line.startswith("spearman")] == [""]


@pytest.mark.parametrize(
    ("study", "title", "told"),
    [("mim:top=2',metric=[canberra]", "distance 0.", "(a distance, 0 if all agree)"),
     ("anova-f:alpha=0.0001'", "stability undefined (nogueira)", "is not defined")],
)  # fmt: skip
def test_distances_and_undefined_values_are_told_from_stabilities(study, title, told) -> None:
    X = np.random.default_rng(0).standard_normal((30, 4))
    chain = Chain.parse(f"stability-study:n=2,base='{study}")
    record = chain.run(Dataset.from_arrays(X, np.arange(30) % 2), seed=1)
    assert title in heading(record) and told in verdict(record)[1]


def test_an_effect_within_its_error_beside_a_small_p_is_explained() -> None:
    # The class depends on whether both are far from 0, on either side: no product shows that.
    X = np.random.default_rng(0).standard_normal((300, 2))
    y = (np.abs(X[:, 0]) > 0.7) ^ (np.abs(X[:, 1]) > 0.7)
    record = Chain.parse("interactions").run(Dataset.from_arrays(X, y.astype(int)), seed=1)
    effect, error = record.pair_tests.tests.values_of(0, 1, ("effect", "standard_error"))
    assert record.pair_tests.tests.p_values[0] < 1e-4 and abs(effect) < 2 * error
    shown = " ".join(" ".join(result_lines(record, None)).split())
    assert "p is from a test over bins, which detects any shape" in shown


HOSTILE = "<script>alert(1)</script>\x1b[2J"


def toy(names=("a", "b", "c")) -> fsframe.Dataset:
    rng = np.random.default_rng(0)
    y = np.repeat(["ill", "well"], 10)
    X = rng.standard_normal((20, 3)) + (y == "ill")[:, None] * [3, 0, 0]
    groups = np.arange(20) // 2
    return fsframe.Dataset.from_arrays(X, y, names, groups=groups, group_name="person", name="toy")


@pytest.fixture(scope="module")
def record():
    return fsframe.Chain.parse("mim:top=2").run(toy())


def test_a_dataset_shows_its_shape_label_and_groups():
    assert repr(toy()) == (
        "<Dataset 'toy': 20 samples × 3 features (float64); label class: ill 10, well 10; "
        "10 groups (person)>"
    )
    measured = fsframe.Dataset.from_arrays([[1], [2]], [0.5, 1.25], categorical=[0])
    assert "1 nominal; target class: 0.5 to 1.25" in repr(measured)
    drawn = toy().with_counts(np.arange(20) % 3)
    assert "a resample of 19 rows" in repr(drawn)


def test_a_chain_shows_the_text_that_makes_it():
    chain = fsframe.Chain.parse("mim:top=2 npfs:n=10,null=published")
    assert eval(repr(chain), {"Chain": fsframe.Chain}) == chain


def test_a_selection_and_a_record_fit_on_a_few_lines(record):
    selection = record.stages[-1].selection
    assert repr(selection).startswith("<Selection: kept 2 of 3 columns")
    assert "columns 0, " in repr(selection)
    assert repr(record).startswith("mim:top=2 on toy: 20 samples")
    wide = fsframe.Dataset.from_arrays(np.eye(400), np.arange(400) % 2)
    assert len(repr(fsframe.Chain.parse("mim:top=300").run(wide)).splitlines()) < 40


def test_a_plain_record_does_what_its_result_does(record, tmp_path):
    plain = RunRecord(**{each.name: getattr(record, each.name) for each in attrs.fields(RunRecord)})
    assert repr(plain).startswith("<RunRecord: mim:top=2 on toy (20 × 3); kept a, ")
    assert type(plain.as_result()) is fsframe.SelectionResult
    saved = fsframe.load_run(plain.save(tmp_path / "plain.h5"))
    assert saved.digests() == record.digests()
    assert plain.plot("scores", most=2).axes
    assert plain.to_sklearn().get_support().tolist() == record.to_sklearn().get_support().tolist()


def test_pages_of_a_notebook_obey_no_name():
    data = toy((HOSTILE, "b", "c"))
    run = fsframe.Chain.parse("mim:top=2").run(data)
    for shown in (data, run):
        page = shown._repr_html_()
        assert "<script" not in page and "\x1b" not in page
        assert page.count("<div") == page.count("</div")
        assert page.count("<td") == page.count("</td")
    assert "&lt;script" in data._repr_html_() and "&lt;script" in run._repr_html_()
    assert "\x1b" not in repr(run)
    assert "<i>" not in html_table(["<i>"], [["<i>"]])


# Progress: one bar on a terminal or in a notebook, none anywhere else, and never in the way


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def step(done: int, label: str = "npfs") -> Progress:
    return Progress(label=label, done=done, total=4)


def test_a_bar_is_rewritten_in_place_and_wiped():
    stream = Terminal()
    bars = ProgressBars(stream, after=0.0)
    bars(step(0))
    bars(step(4))
    bars.close()
    shown = stream.getvalue()
    assert "npfs  [" in shown and "4/4" in shown and "\n" not in shown
    assert shown.endswith("\r\033[K\033[?25h")


def test_short_runs_show_nothing_and_neither_do_streams_that_nobody_looks_at():
    short, file = Terminal(), io.StringIO()
    for bars in (ProgressBars(short, after=60.0), ProgressBars(file, after=0.0)):
        bars(step(1))
        bars(step(4))
        bars.close()
    assert short.getvalue() == file.getvalue() == ""


def test_other_work_takes_the_line_over():
    stream = Terminal()
    bars = ProgressBars(stream, after=0.0)
    bars(step(4, "first"))
    bars(step(4, "second"))
    shown = stream.getvalue()
    assert shown.index("first") < shown.index("\033[K") < shown.index("second")


def test_a_remark_finds_a_clean_line(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    bars = ProgressBars(stream, after=0.0)
    with bars.shown():
        bars(step(4))
        remark("compiling")
    assert "\r\033[K\033[?25hfsframe: compiling\n" in stream.getvalue()


def test_a_notebook_has_a_bar_of_its_own(monkeypatch):
    made = []

    class Bar:
        def __init__(self, **given):
            self.n, self.given, self.closed = 0, given, False
            made.append(self)

        def update(self, n):
            self.n += n

        def close(self):
            self.closed = True

    tqdm, auto = types.ModuleType("tqdm"), types.ModuleType("tqdm.auto")
    auto.tqdm = Bar
    monkeypatch.setitem(sys.modules, "tqdm", tqdm)
    monkeypatch.setitem(sys.modules, "tqdm.auto", auto)
    bars = ProgressBars(io.StringIO(), after=0.0, notebook=True)
    bars(step(1))
    bars(step(4))
    bars.close()
    (bar,) = made
    assert (bar.n, bar.closed) == (4, True) and bar.given["desc"] == "npfs"
    assert not in_notebook()


def test_a_wait_is_counted_on_a_line_of_its_own_where_no_bar_is_drawn(monkeypatch):
    stream, told = Terminal(), threading.Event()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(text, "_TICK", 0.001)
    bars = ProgressBars(stream, after=0.0)
    with bars.shown():
        bars(step(1))
        with ticking("compiling"):
            bars(step(2))
            while "compiling" not in stream.getvalue():
                told.wait(0.001)
        assert stream.getvalue().endswith("\r\033[K")
        bars(step(4))
    shown = stream.getvalue()
    before, after = shown.index("fsframe: compiling, 0 s"), shown.rindex("fsframe: compiling")
    assert "1/4" in shown[:before] and "2/4" not in shown and "4/4" in shown[after:]
    # What is not a terminal is spared.
    file = io.StringIO()
    monkeypatch.setattr(sys, "stderr", file)
    with ticking("compiling"):
        told.wait(0.02)
    assert not file.getvalue()


def paced(steps: list[tuple[float, int, tuple[int, ...]]], monkeypatch, total: int = 100):
    """What is told of steps: the time, the units done, and the place of the work."""
    told: list[str] = []
    pace = Pace(told.append, "--workers 2 divides the resamples")
    for now, done, key in steps:
        monkeypatch.setattr("fsframe.show.progress.time.monotonic", lambda now=now: now)
        pace(Progress(label="folds", done=done, total=total, key=key))
    return told


def test_work_of_minutes_is_told_once_by_the_pace_after_its_first_unit(monkeypatch):
    steps = [(-900.0, 0, (0,)), (0.0, 1, (0,)), (10.0, 6, (0,)), (20.0, 11, (0,)), (40.0, 21, (0,))]
    (told,) = paced(steps, monkeypatch)
    assert told == "folds: 11 of 100, about 3 min remain; --workers 2 divides the resamples"


def test_short_work_and_work_within_other_work_are_not_told(monkeypatch):
    assert not paced([(0.0, 1, (0,)), (20.0, 41, (0,)), (45.0, 100, (0,))], monkeypatch)
    inner = [(0.0, 0, (0,)), (1.0, 1, (0, 3)), (30.0, 2, (0, 3))]
    assert not paced(inner, monkeypatch)
    # Work that has ended holds nothing back.
    after = [(0.0, 1, (0,)), (1.0, 100, (0,)), (2.0, 1, (0, 3)), (30.0, 3, (0, 3))]
    assert len(paced(after, monkeypatch)) == 1
