"""What tables, chains, selections and records show of themselves, at a prompt and in a notebook."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

import fsframe
from fsframe.storage import RunRecord
from fsframe.text import html_table

HOSTILE = "<script>alert(1)</script>\x1b[2J"


def table(names=("a", "b", "c")) -> fsframe.Dataset:
    rng = np.random.default_rng(0)
    y = np.repeat(["ill", "well"], 10)
    X = rng.standard_normal((20, 3)) + (y == "ill")[:, None] * [3, 0, 0]
    groups = np.arange(20) // 2
    return fsframe.Dataset.from_arrays(X, y, names, groups=groups, group_name="person", name="toy")


@pytest.fixture(scope="module")
def record():
    return fsframe.Chain.parse("mim:top=2").run(table())


def test_a_dataset_shows_its_shape_label_and_groups():
    assert repr(table()) == (
        "<Dataset 'toy': 20 samples × 3 features (float64); label class: ill 10, well 10; "
        "10 groups (person)>"
    )
    measured = fsframe.Dataset.from_arrays([[1], [2]], [0.5, 1.25], categorical=[0])
    assert "1 nominal; target class: 0.5 to 1.25" in repr(measured)
    drawn = table().with_counts(np.arange(20) % 3)
    assert "a resample of 19 rows" in repr(drawn)


def test_a_chain_shows_the_text_that_makes_it():
    chain = fsframe.Chain.parse("mim:top=2 npfs:n=10,null=published")
    assert eval(repr(chain), {"Chain": fsframe.Chain}) == chain
    assert "top=2" in chain._repr_html_()


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
    data = table((HOSTILE, "b", "c"))
    chain = fsframe.Chain.parse("mim:top=2")
    run = chain.run(data)
    for shown in (data, chain, run, run.stages[-1].selection):
        page = shown._repr_html_()
        assert "<script" not in page and "\x1b" not in page
        assert page.count("<div") == page.count("</div")
        assert page.count("<td") == page.count("</td")
    assert "&lt;script" in data._repr_html_() and "&lt;script" in run._repr_html_()
    assert "\x1b" not in repr(run)
    assert "<i>" not in html_table(["<i>"], [["<i>"]])
