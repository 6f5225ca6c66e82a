"""The page about a run: what it says, that it is safe, and that it is the same every time."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pytest

from fsframe.chain import Chain
from fsframe.dataset import Dataset

pytest.importorskip("matplotlib", reason="reports are drawn with matplotlib, an extra")

HOSTILE = '<script>alert("1")</script>'


class Tags(HTMLParser):
    """Every tag with its attributes, and all text outside style and SVG."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words.append(data)


def small(names=("signal", "noise", "other")) -> Dataset:
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1], 20)
    X = rng.standard_normal((40, 3))
    X[:, 0] += 3 * y
    return Dataset.from_arrays(X, y, names, name="small")


@pytest.fixture(scope="module")
def page() -> str:
    from fsframe.report.page import report_page

    chain = Chain.parse("immigrate:max_iter=5,top=2 npfs:n=20,null=published")
    return report_page(chain.run(small(), seed=1))


def test_page_answers_the_readers_questions(page):
    text = " ".join(Tags(page).words)
    for heading in (
        "Which features matter",
        "How often each feature came back",
        "Convergence",
        "Kept features",
        "How it was made",
    ):
        assert heading in text
    assert "signal" in text and "null=published does not hold its level" in text


def test_page_runs_nothing_and_fetches_nothing(page):
    for tag, attributes in Tags(page).tags:
        assert tag not in ("script", "link", "iframe", "object", "embed", "img")
        for name, value in attributes.items():
            assert not name.startswith("on")
            if name in ("href", "src", "xlink:href"):
                assert value is not None and value.startswith("#")


def test_hostile_names_are_shown_and_not_obeyed():
    from fsframe.report.page import report_page

    record = Chain.parse("immigrate:max_iter=2").run(small((HOSTILE, "a$b$", "\x1b[2J")))
    found = report_page(record)
    assert "<script" not in found and "\x1b" not in found
    assert "&lt;script&gt;" in found


def test_pairs_of_a_method_that_weighs_them_are_drawn():
    from fsframe.report.figures import figures

    record = Chain.parse("immigrate:max_iter=2").run(small())
    assert "Weights of pairs" in [figure.heading for figure in figures(record)]


def test_equal_runs_give_equal_pictures():
    from fsframe.report.figures import figures

    record = Chain.parse("immigrate:max_iter=2").run(small())
    assert [f.svg for f in figures(record)] == [f.svg for f in figures(record)]


def test_protocols_have_their_curves():
    from fsframe.report.figures import figures

    evaluated = Chain.parse(
        "cross-validation:base=(immigrate:max_iter=2,top=1.0 margin),folds=2,repeats=1,curve=auto"
    ).run(small())
    assert "How many features to keep" in [f.heading for f in figures(evaluated)]
    studied = Chain.parse("stability-study:base=immigrate:max_iter=2,n=3").run(small())
    assert "How stable the ranking is" in [f.heading for f in figures(studied)]


def test_the_page_of_a_protocol_says_what_was_measured():
    from fsframe.evaluation.summary import summarise
    from fsframe.report.page import report_page

    evaluated = Chain.parse("cross-validation:base=(mim:top=2 knn),folds=2,repeats=2").run(small())
    accuracy = summarise(evaluated.stages[-1].selection).measures["accuracy"]
    page = report_page(evaluated)
    assert f"<td>{accuracy.mean:.4f}</td><td>± {accuracy.standard_error:.4f}</td>" in page
    studied = Chain.parse("stability-study:base=mim:top=2,n=4").run(small())
    value = studied.stages[-1].tables["stability-nogueira"][0]
    assert f"<td>stability nogueira</td><td>{value:.3f}</td>" in report_page(studied)
    assert "measure" not in report_page(Chain.parse("mim:top=2").run(small()))
