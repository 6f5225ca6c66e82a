"""Pictures: every kind is drawn, refused where a run lacks what it needs, and always the same."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import attrs
import matplotlib
import numpy as np
import pytest

from fsframe.chains.chain import Chain
from fsframe.errors import DataError, RequestError
from fsframe.method.pairs import PairWeights
from fsframe.show import plots, results
from fsframe.show.plots import KINDS, Kind, canvas, draw, evaluations, features
from fsframe.table.dataset import Dataset
from tests.grids import shortened

NAMES = ("sig$na$l", "_noise", "\x1b[2J<b>", "partner", "xor")


def table(name="small", seed=3, y=None) -> Dataset:
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], 30) if y is None else y
    X = rng.standard_normal((60, 5)).round(3)
    X[:, 0] += 2 * (np.asarray(y) > 0)
    X[:, 3:] = rng.integers(0, 2, (60, 2))
    X[:, 4] = np.where(np.asarray(y) > 0, X[:, 3], 1 - X[:, 3])
    return Dataset.from_arrays(X, y, NAMES, name=name)


def run(text: str, data: Dataset | None = None):
    return Chain.parse(text).run(table() if data is None else data, seed=1)


def evaluation(base: str, data: Dataset | None = None, more: str = ""):
    return run(f"cross-validation:base='{base}',folds=3,repeats=1{more}", data)


@pytest.fixture(scope="module")
def runs():
    other = table("other", seed=9)
    return {
        "npfs": run("immigrate:max_iter=5,top=2 npfs:n=20,null=published"),
        "scored": run("mim:top=2 npfs:n=20,permutations=19"),
        "interactions": run("interactions:calibrate=0"),
        "stability": run("mim:top=2 stability-study:n=6,metric=[nogueira,kuncheva,jaccard]"),
        "weighed": run("immigrate:max_iter=5"),
        "evaluations": [
            evaluation("mim:top=2 knn", more=",curve=[1,2]"),
            evaluation("anova-f:top=1 knn"),
        ],
        "elsewhere": [evaluation("mim:top=2 knn", other), evaluation("anova-f:top=1 knn", other)],
        "probable": evaluation("mim:top=2 sklearn:estimator=sklearn.naive_bayes.GaussianNB"),
    }  # fmt: skip


def subjects(runs):
    """For every kind runs that it can be drawn of."""
    of_one = {
        "scores": runs["npfs"],
        "classes": runs["npfs"],
        "matrix": runs["weighed"],
        "network": runs["interactions"],
        "pair": runs["interactions"],
        "tests": runs["scored"],
        "bootstraps": runs["npfs"],
        "stability": runs["stability"],
        "sizes": runs["evaluations"][0],
        "calibration": runs["probable"],
    }
    return {kind: [record] for kind, record in of_one.items()} | {
        "roc": runs["evaluations"],
        "pareto": runs["evaluations"],
        "cd": runs["evaluations"] + runs["elsewhere"],
        "sets": [runs["npfs"], runs["scored"], runs["interactions"]],
    }


def given(kind: str) -> Dataset | None:
    return table() if KINDS[kind].data else None


REPEATED = {"classes", "bootstraps", "network", "sizes", "roc"}
"""Kinds made of the same marks as others, which other tests draw too."""


@pytest.mark.parametrize("kind", shortened(list(KINDS), {*KINDS} - REPEATED))
def test_equal_runs_give_equal_bytes_with_text_as_text(runs, kind, monkeypatch):
    records = subjects(runs)[kind]
    svg = plots.figure_bytes(draw(kind, records, given(kind)))
    # Neither a backend is chosen nor pyplot used, which would choose one and keep figures open.
    monkeypatch.setattr(matplotlib, "use", lambda *_, **__: pytest.fail("chose a backend"))
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with matplotlib.rc_context({"axes.facecolor": "black", "font.size": 31.0}):
        assert svg == plots.figure_bytes(draw(kind, records, given(kind)))
    text = svg.decode()
    assert "<text" in text and "<dc:date>" not in text and "\x1b" not in text
    if kind in ("scores", "tests"):
        assert "sig$na$l" in text


def test_calibration_of_three_classes_is_scikit_learns_line_by_line():
    from sklearn import calibration

    data = table()
    data = Dataset.from_arrays(data.X, np.repeat(["p", "q", "r"], 20), name="three")
    record = evaluation("mim:top=2 sklearn:estimator=sklearn.naive_bayes.GaussianNB", data)
    panel = draw("calibration", [record]).axes[0]
    told = {line.get_label(): line for line in panel.lines}
    assert set(told) == {"perfect", "p", "q", "r"}
    tables = record.stages[-1].tables
    for code, name in enumerate("pqr"):
        given, truth = tables["class-scores"][0][:, code], tables["truth"] == code
        share, mean = calibration.calibration_curve(truth, given, n_bins=10, strategy="quantile")
        assert told[name].get_xdata() == pytest.approx(mean)
        assert told[name].get_ydata() == pytest.approx(share)


def test_calibration_of_few_probabilities_has_a_point_for_each():
    # One bin over 0 and 1 would lie on the diagonal whatever the classifier does.
    record = evaluation("mim:top=2 knn:k=1", table())
    line = next(
        line for line in draw("calibration", [record]).axes[0].lines if line.get_label() == "bins"
    )
    tables = record.stages[-1].tables
    given, truth = tables["class-scores"][0][:, 1], tables["truth"] == 1
    assert line.get_xdata().tolist() == [0.0, 1.0]
    assert line.get_ydata() == pytest.approx([truth[given == value].mean() for value in (0, 1)])


def test_a_pdf_holds_its_fonts_and_no_date(runs):
    pdf = plots.figure_bytes(plots.ranked_scores(runs["npfs"]), "pdf")
    assert b"/FontFile2" in pdf and b"/CreationDate" not in pdf
    assert pdf == plots.figure_bytes(plots.ranked_scores(runs["npfs"]), "pdf")
    png = plots.figure_bytes(plots.ranked_scores(runs["npfs"]), "png")
    assert png == plots.figure_bytes(plots.ranked_scores(runs["npfs"]), "png")


@pytest.mark.parametrize("kind", KINDS)
def test_the_callers_axes_and_settings_stay_the_callers(runs, kind):
    from matplotlib.figure import Figure

    before = dict(matplotlib.rcParams)
    figure = Figure()
    ax = figure.subplots()
    assert draw(kind, subjects(runs)[kind], given(kind), ax=ax) is figure
    assert ax.get_children() and figure.axes[0] is ax
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind not in ("scores", "classes", "sets")]
)
def test_a_run_that_lacks_what_is_needed_is_refused(kind):
    plain = [run("anova-f:top=2")] * (2 if KINDS[kind].several else 1)
    with pytest.raises(RequestError, match=r"draw a run|name the two features|at least two runs"):
        draw(kind, plain, given(kind))


def test_every_kind_has_words_for_pages_and_a_place_of_its_own():
    assert all(kind.heading for kind in KINDS.values())
    places = [kind.place for kind in KINDS.values() if kind.place]
    assert len(set(places)) == len(places) >= 11
    # What is drawn of one run is on the page about it, what takes several on that about several.
    assert {name for name, kind in KINDS.items() if kind.place or kind.several} == set(KINDS)
    assert all(bool(kind.compares) == kind.several for kind in KINDS.values())


def test_wrong_requests_say_what_there_is(runs):
    with pytest.raises(RequestError, match="Did you mean `scores`"):
        draw("score", [runs["npfs"]])
    with pytest.raises(RequestError, match="shows one run, not 2"):
        draw("scores", [runs["npfs"]] * 2)
    with pytest.raises(RequestError, match="needs the table"):
        draw("classes", [runs["npfs"]])
    with pytest.raises(RequestError, match=r"evaluate with --curve auto$"):
        draw("sizes", runs["evaluations"][1:])
    with pytest.raises(RequestError, match="takes no pair"):
        draw("scores", [runs["npfs"]], pair=("a", "b"))
    with pytest.raises(DataError, match="not the table"):
        draw("classes", [runs["npfs"]], table(seed=4))
    with pytest.raises(RequestError, match=r"'partne'\. Did you mean `partner`"):
        draw("pair", [runs["npfs"]], table(), pair=("partne", "xor"))
    with pytest.raises(RequestError, match="different tables"):
        plots.accuracy_against_stability([runs["evaluations"][0], runs["elsewhere"][0]])
    with pytest.raises(RequestError, match=r"missing: `anova-f:top=1 knn` on other"):
        plots.critical_difference([*runs["evaluations"], runs["elsewhere"][0]])


def test_features_that_go_together_stand_together_in_the_matrix(runs):
    blocks = np.zeros((6, 6))
    for members in ([0, 2, 4], [1, 3, 5]):
        blocks[np.ix_(members, members)] = 1.0
    order = features._clustered(blocks)
    assert len({k % 2 for k in order[:3]}) == 1 and len({k % 2 for k in order[3:]}) == 1


def test_the_network_holds_the_significant_pairs_only(runs):
    table_of = runs["interactions"].pair_table()
    significant = int((table_of.columns["q"] <= 0.05).sum())
    figure = plots.pair_network(runs["interactions"])
    lines = [line for line in figure.axes[0].lines if line.get_linestyle() == "-"]
    assert len(lines) == significant >= 1


def test_bars_of_the_sets_add_up_to_the_union(runs):
    records = subjects(runs)["sets"]
    panel = plots.kept_sets(records).axes[0]
    counts = [int(text.get_text()) for text in panel.texts if text.get_text().isdigit()]
    assert sum(counts) == len(set().union(*(record.selected_names for record in records)))


def test_classes_that_are_not_drawn_are_counted():
    data = table(y=np.arange(60) % 10)
    record = evaluation("mim:top=2 sklearn:estimator=sklearn.naive_bayes.GaussianNB", data)
    figures = [draw(kind, [record]) for kind in ("roc", "calibration")]
    figures.append(draw("classes", [run("mim:top=2", data)], data=data))
    for figure in figures:
        texts = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
        assert "and 2 more, not drawn" in texts


def test_the_roc_line_is_scikit_learns():
    from sklearn import metrics

    rng = np.random.default_rng(0)
    truth, scores = rng.integers(0, 2, 80) == 1, rng.integers(0, 9, 80) / 8
    x, y = evaluations._roc_line(truth, scores)
    fpr, tpr, _ = metrics.roc_curve(truth, scores, drop_intermediate=False)
    assert x == pytest.approx(fpr) and y == pytest.approx(tpr)


def test_sixty_four_lines_are_told_apart_by_colour_and_marker():
    looks = [canvas.look(number) for number in range(64)]
    assert len({(look["color"], look["marker"]) for look in looks}) == 64


def test_a_legend_of_many_chains_leaves_the_axes_their_height(runs):
    figure = draw("pareto", runs["evaluations"] * 8)
    plots.figure_bytes(figure)
    panel = figure.axes[0]
    legend = panel.get_legend().get_window_extent()
    assert legend.height < panel.get_window_extent().height / 2


def test_features_that_are_not_drawn_are_counted(runs):
    panel = plots.test_statistics(runs["npfs"], most=2).axes[0]
    relevant = runs["npfs"].selected.size
    few = evaluations._tests(runs["npfs"]).relevant.size
    more = f"{few - 2} more were tested, {max(0, relevant - 2)} of them relevant"
    assert panel.get_xlabel() == f"the 2 strongest ({more})"
    panel = plots.bootstrap_matrix(runs["npfs"], most=1).axes[0]
    assert "the 1 kept most often" in panel.get_xlabel()
    panel = plots.class_distributions(run("mim:top=3"), table(), most=1).axes[0]
    assert panel.get_xlabel().endswith("the first 1 kept features (2 more)")
    nominal = attrs.evolve(table(), categorical=np.array([False] * 4 + [True]))
    panel = plots.class_distributions(run("mim:top=5", nominal), nominal).axes[0]
    assert panel.get_xlabel().endswith("not drawn: 1 nominal feature")


def test_chains_without_a_stability_are_named(runs):
    # One fold has no stability: the chain that keeps all features in every fold.
    alone = evaluation("variance:top=5 knn")
    title = draw("pareto", [*runs["evaluations"], alone]).axes[0].get_legend().get_title()
    assert title.get_text().endswith("φ, not drawn: variance:top=5 knn")


def test_features_of_equal_p_stand_in_the_order_of_the_answer():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    X = rng.standard_normal((60, 8)) + np.outer(y, np.linspace(1, 6, 8))
    record = run("anova-f npfs:n=20,permutations=19", Dataset.from_arrays(X, y))
    names = [t.get_text() for t in plots.test_statistics(record).axes[0].get_xticklabels()]
    assert names == record.feature_table().columns["feature"].tolist()


def test_metrics_that_agree_are_one_line(runs):
    panel = plots.stability_path(runs["stability"]).axes[0]
    labels = [text.get_text() for text in panel.get_legend().get_texts()]
    assert "nogueira = kuncheva" in labels and "jaccard" in labels
    assert panel.get_xscale() == "log"
    line = next(line for line in panel.lines if line.get_label() == "nogueira = kuncheva")
    assert line.get_xdata().tolist() == [1, 2, 3, 4, 5]


def test_names_that_begin_alike_have_labels_that_differ():
    long = tuple(f"concentration in serum after {k} hours, fasting" for k in range(5))
    record = run("mim:top=3", Dataset.from_arrays(table().X, table().y, long))
    panel = plots.ranked_scores(record).axes[0]
    labels = [label.get_text() for label in panel.get_yticklabels()]
    assert len(set(labels)) == 5 and max(map(len, labels)) <= 28


def test_resamples_that_kept_nothing_are_no_picture(runs):
    stage = runs["stability"].stages[-1]
    kept = np.zeros_like(stage.tables["kept"])
    empty = attrs.evolve(stage, tables={**stage.tables, "kept": kept})
    with pytest.raises(RequestError, match="no feature that some resample kept"):
        plots.bootstrap_matrix(attrs.evolve(runs["stability"], stages=[empty]))


def test_what_was_not_kept_stands_below_what_was(runs):
    panel = plots.ranked_scores(runs["npfs"]).axes[0]
    names = [label.get_text() for label in panel.get_yticklabels()]
    assert len(names) == 5 and names[0] == runs["npfs"].selected_names[0]
    assert panel.get_xlabel() == "score (npfs)"
    ended = Chain.parse("mim:top=2 knn").run(table(), seed=1)
    assert plots.ranked_scores(ended).axes[0].get_xlabel() == "score (mim)"


def test_senseless_numbers_are_drawn_or_refused():
    record = run("immigrate:max_iter=2")
    huge = PairWeights(np.arange(5), np.full((5, 5), 1e300))
    stage = record.stages[0]
    result = attrs.evolve(stage.selection, pair_weights=huge)
    odd = attrs.evolve(
        record,
        stages=[attrs.evolve(stage, selection=result)],
        scores=np.array([np.finfo(float).max, -1e200, np.nan, 0.0, 1.0]),
    )
    assert plots.figure_bytes(plots.ranked_scores(odd))
    with pytest.raises(RequestError, match="no weights of pairs"):
        plots.pair_matrix(odd)
    assert evaluations._run_labels([record, odd])[0].endswith("seed 1")


def test_the_label_of_a_colour_bar_is_whole_whatever_it_holds() -> None:
    from fsframe.show.plots.canvas import axes_for, colour_bar

    with axes_for(None, 4.0, 3.0) as (panel,):
        text = "share of class no response by $central$ review"
        colour_bar(panel, panel.imshow([[0.0, 1.0]]), text)
        label = panel.figure.axes[1].yaxis.label
        assert label.get_text().replace("\n", " ") == text and not label.get_parse_math()


@pytest.mark.parametrize(("options", "given"), [(("metric",), "auc"), ((), None)])
def test_a_plot_of_a_plugin_gets_the_measure_of_the_comparison_if_it_takes_one(
    monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], given: str | None
) -> None:
    kind = Kind(target="", shows="bars", needs="runs", several=True, options=options)
    drawn: dict[str, Any] = {}

    def draw(name: str, runs: Any, **asked: Any) -> None:
        drawn.update(asked, name=name)

    monkeypatch.setattr(results, "known_kinds", lambda: {"bars": kind})
    monkeypatch.setattr(results, "draw", draw)
    monkeypatch.setattr(results, "shown_picture", lambda picture, _: picture)
    record = SimpleNamespace(first_runs=list)
    compared: Any = SimpleNamespace(comparison=SimpleNamespace(metric="auc"), record=record)
    results.ComparisonResult.plot(compared, "bars")
    assert (drawn["name"], drawn["metric"]) == ("bars", given)
