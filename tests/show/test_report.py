"""The page about a run: what it says, that it is safe, and that it is the same every time."""

from __future__ import annotations

from html import escape
from html.parser import HTMLParser

import attrs
import numpy as np
import pytest

from fsframe.chains.chain import Chain
from fsframe.errors import RequestError
from fsframe.evaluation.comparison import Comparison, study_comparisons, study_of_runs
from fsframe.evaluation.recorded import recorded_evaluation
from fsframe.evaluation.summary import summarise
from fsframe.show.display import result_lines
from fsframe.show.methods_text import checklist, methods_paragraph, references
from fsframe.show.page import report_page
from fsframe.show.section import figures
from fsframe.show.verdicts import (
    decisions,
    heading,
    verdict,
    verdict_of_comparison,
)
from fsframe.storage import RunRecord
from fsframe.storage.checked_tables import bootstrap_tables
from fsframe.table.dataset import Dataset
from tests.evaluation.tables import separated

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
    chain = Chain.parse("immigrate:max_iter=5,top=2 npfs:n=20,null=published")
    return report_page(chain.run(small(), seed=1))


def test_page_answers_the_readers_questions(page):
    text = " ".join(Tags(page).words)
    for asked in (
        "Which features matter",
        "How often each feature was selected",
        "Features",
        "Checklist: data leakage, and other questions of a reader",
        "For the methods section",
        "How it was made",
    ):
        assert asked in text
    assert "signal" in text and "null=published does not keep its level" in text


def test_page_runs_nothing_and_fetches_nothing(page):
    for tag, attributes in Tags(page).tags:
        assert tag not in ("link", "iframe", "object", "embed", "img", "base", "form")
        for name, value in attributes.items():
            assert not name.startswith("on")
            if name in ("href", "src", "xlink:href"):
                assert value is not None and value.startswith(("#", "data:image/png"))


def test_hostile_names_are_shown_and_not_obeyed():
    record = Chain.parse("immigrate:max_iter=2").run(small((HOSTILE, "a$b$", "\x1b[2J")))
    result = report_page(record)
    # Our own script, whose digest the page's policy allows, and no other.
    assert result.count("<script") == 1 and "\x1b" not in result
    assert "&lt;script&gt;" in result


@pytest.mark.parametrize(
    ("chain", "drawn"),
    [
        ("immigrate:max_iter=2", "Weights of pairs"),
        (
            "cross-validation:base=(immigrate:max_iter=2 margin),folds=2,repeats=1,curve=auto",
            "How many features to keep",
        ),
        ("stability-study:base=immigrate:max_iter=2,n=3", "How stable the ranking is"),
    ],
)
def test_pairs_are_drawn_and_protocols_have_their_curves(
    chain: str, drawn: str, undrawn: None
) -> None:
    assert drawn in [figure.heading for figure in figures(Chain.parse(chain).run(small()))]


def test_the_page_of_a_protocol_says_what_was_measured(undrawn):
    evaluated = Chain.parse("cross-validation:base=(mim:top=2 knn),folds=2,repeats=2").run(small())
    accuracy = summarise(evaluated.stages[-1].selection).measures["accuracy"]
    page = report_page(evaluated)
    cells = [f"{value:.4f}" for value in (accuracy.mean, accuracy.standard_error)]
    assert f"<td>accuracy</td><td class=n>{'</td><td class=n>'.join(cells)}</td>" in page
    baseline = summarise(evaluated.stages[-1].selection).baseline
    assert f"<td class=n>{baseline.mean:.4f}</td></tr>" in page and ">larger class</th>" in page
    studied = Chain.parse("stability-study:base=mim:top=2,n=2,sizes=1").run(small(), seed=1)
    value = studied.stages[-1].tables["stability-nogueira"][0]
    assert f"<td>nogueira</td><td class=n>{value:.3f}</td>" in report_page(studied)
    assert 'data-name="measures"' not in report_page(Chain.parse("mim:top=2").run(small()))


FORMULAS = ("$\\frac$", "$x_1$", "\\$a$", "_b", "=cmd|' /C calc'!A0", "a&b;<i>")


def test_names_are_never_formulas_of_the_plotting_library():
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1], 20)
    data = Dataset.from_arrays(rng.standard_normal((40, 6)) + y[:, None], y, FORMULAS, name="$\\x$")
    record = Chain.parse("immigrate:max_iter=2 npfs:n=5,null=published").run(data)
    last = attrs.evolve(record.stages[-1], name="$\\frac$")
    page = report_page(attrs.evolve(record, stages=[*record.stages[:-1], last]))
    assert "score ($\\frac$)" in page and "mathdefault" not in page
    for name in FORMULAS:
        assert escape(name, quote=False) in page
    curve = "cross-validation:base=(mim knn),folds=2,repeats=1,curve=auto"
    assert "mathdefault" not in report_page(Chain.parse(curve).run(data))


def test_of_many_warnings_a_page_shows_fifty(undrawn):
    record = attrs.evolve(Chain.parse("mim:top=2").run(small()), warnings=["odd"] * 60)
    page = report_page(record)
    more = len(record.all_warnings()) - 50
    assert page.count("<li>odd") <= 50 and f"… and {more} more warnings" in page


def senseless(record, **tables):
    """The record with other tables in its last stage."""
    last = record.stages[-1]
    selection = attrs.evolve(last.selection, tables={**last.selection.tables, **tables})
    return attrs.evolve(record, stages=[
        *record.stages[:-1],
        attrs.evolve(last, selection=selection, tables=selection.tables),
    ])  # fmt: skip


@pytest.mark.parametrize(
    "value",
    [
        np.inf,
        np.nan,
        -1e308,
        *(pytest.param(value, marks=pytest.mark.slow) for value in (-np.inf, 1e308)),
    ],
)
def test_numbers_that_no_axis_holds_are_left_out(value):
    record = Chain.parse("immigrate:max_iter=3 npfs:n=5,null=published").run(small())
    scores = record.scores.copy()
    scores[1] = value
    z = record.stages[-1].tables["z"].astype(float)
    z[0] = value
    changed = senseless(record, z=z, cost=np.array([1.0, value]))
    assert "<svg" in report_page(attrs.evolve(changed, scores=scores))


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_score_without_bound_is_shown_as_such():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 5)), np.arange(40) % 2
    X[:, 2], X[:, 4] = y, 3 - 2 * y
    record = Chain.parse("anova-f:top=3").run(Dataset.from_arrays(X, y))
    rows = [line.split() for line in result_lines(record, None) if "█" in line]
    assert [row[:3] for row in rows[:2]] == [["1", "f3", "∞"], ["2", "f5", "∞"]]
    assert report_page(record)


def test_a_test_that_saw_some_columns_names_those():
    record = Chain.parse("mim:top=2 npfs:base=mim:top=1,n=20,null=published").run(small(), seed=1)
    result = bootstrap_tables(record.stages[-1])
    assert result is not None
    assert result.columns.tolist() == record.stages[-1].features_in.tolist()
    assert record.stages[-1].tables["columns"].tolist() == [0, 1]
    assert result.promise == tuple(record.stages[-1].tables["promise"])


def test_the_verdict_of_every_kind_of_run_is_two_sentences_about_it():
    plain = Chain.parse("mim:top=2").run(small())
    first, second = verdict(plain)
    assert first == f"2 of 3 features are kept: {', '.join(plain.selected_names)}."
    assert second.startswith("Nothing was tested or repeated")
    tested = Chain.parse("anova-f:top=2").run(small())
    small_q = int((tested.feature_table().columns["q"][:2] <= 0.05).sum())
    assert verdict(tested)[1].startswith(f"{small_q} of the 2 kept have q ≤ 0.05, of 3 features")
    one = Chain.parse("anova-f:top=1").run(small())
    sign = "≤" if one.feature_table().columns["q"][0] <= 0.05 else ">"
    assert verdict(one)[1].startswith(f"It has q {sign} 0.05, of 3 features tested")
    npfs = Chain.parse("mim:top=1 npfs:n=20,null=published").run(small(), seed=1)
    last = npfs.stages[-1].tables
    kept = np.isin(last["columns"], npfs.selected)
    sure, k = int((kept & (last["doubt"] <= 0.05)).sum()), npfs.selected.size
    assert (sure, k) == (1, 1)
    assert "another seed would almost always keep it too" in verdict(npfs)[1]
    noise = Dataset.from_arrays(
        np.random.default_rng(0).normal(size=(40, 12)), np.repeat([0, 1], 20)
    )
    lucky = Chain.parse("anova-f npfs:alpha=0.2,correction=none").run(noise, seed=0)
    assert lucky.feature_table().columns["q"][0] > 0.4
    assert verdict(lucky)[1] == (
        "On these rows another seed would almost always keep it too. Whether other rows would "
        "decide the same was not tested. Among 12 tested features without any information, "
        "p-values as small as this one are common (q > 0.05)."
    )
    evaluated = Chain.parse("cross-validation:base=(mim:top=2 knn),folds=2,repeats=1").run(small())
    accuracy = evaluated.stages[-1].tables
    right = (accuracy["predicted"] == accuracy["truth"]).mean()
    assert heading(evaluated) == f"small: accuracy {right:.2f} on held-out rows"
    assert "It keeps 2.0 of 3 features on average" in verdict(evaluated)[1]
    mean = recorded_evaluation(evaluated).evaluation.measures["balanced-accuracy"].mean
    assert f"; balanced accuracy is {mean:.2f}, 0.50 by chance" in verdict(evaluated)[0]
    studied = Chain.parse("stability-study:base=mim:top=2,n=4").run(small())
    assert verdict(studied)[0].startswith("On 4 resamples `mim:top=2` keeps 2 of 3 features")


def test_a_feature_is_kept_borderline_or_neither_and_the_page_says_what_would_change_it(undrawn):
    record = Chain.parse("mim:top=1 npfs:n=20,null=published").run(small(), seed=1)
    last = record.stages[-1]
    for doubt, verdicts in ((0.0, ["kept", "not kept"]), (0.3, ["borderline", "not kept"])):
        tables = {**last.tables, "doubt": np.where(last.tables["relevant"], doubt, 0.0)}
        stages = (record.stages[0], attrs.evolve(last, tables=tables))
        changed = attrs.evolve(record, stages=stages)
        result = decisions(changed)
        assert [each.verdict for each in result] == verdicts
        names = [name.removesuffix(" (kept)") for each in result for name in each.names]
        assert sorted(names) == sorted(record.feature_names)
        page = report_page(changed)
        assert all(escape(each.change) in page for each in result)
        assert ("Hollow diamonds are borderline" in page) == (doubt > 0)
    # Seeds say nothing about other rows, and a ranking says nothing about seeds.
    assert "Whether other rows would decide the same was not tested" in page
    ranked = decisions(Chain.parse("mim:top=1").run(small()))
    assert "seed" not in " ".join(each.change for each in ranked)


def test_a_group_of_features_is_as_doubtful_as_its_clearest_relevant_member():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 5))
    data = Dataset.from_arrays(X, (X[:, 0] > 0).astype(int)).with_roles({"g": ["f1", "f2"]})
    record = Chain.parse("mim:top=1 npfs:n=20,null=published").run(data)
    last = record.stages[-1]
    assert set(record.selected_names) == {"f1", "f2"}
    # The whole group counts as relevant; here only the first passes by itself.
    p_values = np.array([0.001, 0.5, 0.9, 0.9, 0.9])

    def borderline(*doubt: float) -> list[str]:
        changed = {"doubt": np.array([*doubt, 0.0, 0.0, 0.0]), "p-values": p_values}
        tables = {**last.tables, **changed}
        stages = (record.stages[0], attrs.evolve(last, tables=tables))
        result = decisions(attrs.evolve(record, stages=stages))
        return [name for each in result if each.verdict == "borderline" for name in each.names]

    assert borderline(0.3, 0.0) == ["f1 (kept)", "f2 (kept)"]
    assert borderline(0.0, 0.3) == []


def test_the_page_of_a_null_result_claims_nothing(undrawn):
    rng = np.random.default_rng(5)
    noise = Dataset.from_arrays(rng.standard_normal((60, 6)), np.arange(60) % 2, name="noise")
    record = Chain.parse("immigrate:max_iter=5,top=3").run(noise, seed=1)
    assert record.pair_tests is not None and record.pair_tests.tests.q_values.min() > 0.05
    drawn = {figure.heading: figure.caption for figure in figures(record, noise)}
    assert not any("interact" in text for pair in drawn.items() for text in pair)
    assert "The features by their scores" in drawn and "Which features matter" not in drawn
    page = report_page(record, data=noise)
    assert "pairs tested interacts (q ≤ 0.05); the smallest" in page
    assert "None of" in page and "joint effect" not in page
    none = Chain.parse("mim:top=1 npfs:n=20,permutations=199,permuted_n=2").run(noise, seed=1)
    assert not none.selected.size
    assert heading(none) == "noise: none of 6 features kept"
    assert "No feature stands out from what permuted or random labels give" in verdict(none)[1]
    headings = {figure.heading: figure.caption for figure in figures(none, noise)}
    assert "The best features, none of which was kept" in headings
    assert headings["What the test decided on"].startswith("No feature is above the line.")
    # What was found is claimed.
    kept = Chain.parse("mim:top=1 npfs:n=20,null=published").run(small(), seed=1)
    assert "Which features matter" in {figure.heading for figure in figures(kept)}


def test_rows_that_look_repeated_are_no_in_the_checklist():
    # Each row thrice in a row, nearly the same: nothing names who they belong to.
    rng = np.random.default_rng(1)
    X = np.repeat(rng.standard_normal((40, 4)), 3, axis=0) + rng.normal(0, 0.01, (120, 4))
    data = Dataset.from_arrays(X, np.repeat([0, 1], 60), name="people")
    record = Chain.parse("cross-validation:base=(mim:top=1 knn),folds=2,repeats=1").run(data)
    items = {item.question: item for item in checklist(record)}
    assert items["Were rows that belong together kept together?"].state == "no"


@pytest.mark.parametrize(
    ("params", "said"),
    [
        (
            "folds=2,repeats=3",
            "evaluated by stratified 2-fold cross-validation, repeated 3 times",
        ),
        ("folds=2,repeats=1,stratify=false", "by 2-fold cross-validation in which"),
        ("scheme=five-by-two", "by five times two-fold cross-validation in which"),
        ("scheme=leave-one-out", "by leave-one-out cross-validation in which"),
    ],
)
def test_the_methods_text_says_how_rows_were_split(params: str, said: str) -> None:
    record = Chain.parse(f"cross-validation:base=(mim:top=1 knn),{params}").run(small())
    assert said in methods_paragraph(record)


def test_the_checklist_tells_judged_runs_from_others():
    plain = Chain.parse("mim:top=2").run(small())
    judged = Chain.parse("cross-validation:base=(mim:top=2 knn),folds=2,repeats=1").run(small())
    first, of_judged = next(iter(checklist(plain))), next(iter(checklist(judged)))
    assert (first.state, of_judged.state) == ("n/a", "yes")
    states = {item.question: item.state for item in checklist(judged)}
    assert [*states.values()].count("open") >= 2
    assert states["Is performance reported with its uncertainty and against baselines?"] == "yes"
    assert "by the chain `mim:top=2`" in methods_paragraph(plain)
    assert dict(references(Chain.parse("immigrate:max_iter=2").run(small())))["immigrate"]
    tested = Chain.parse("anova-f:alpha=0.5").run(small())
    of_q = [f"{'q-values' in methods_paragraph(run):d}" for run in (plain, judged, tested)]
    assert of_q == ["0", "0", "1"] and "95 % intervals" in methods_paragraph(judged)


@pytest.mark.parametrize(("scheme", "state"), [("folds", "yes"), ("leave-one-out", "no")])
def test_the_checklist_speaks_of_standard_errors_where_there_are_some(scheme: str, state: str):
    chain = f"cross-validation:base=(mim:top=1 knn),scheme={scheme},metric=[auc]"
    items = {item.question: item for item in checklist(Chain.parse(chain).run(small()))}
    item = items["Is performance reported with its uncertainty and against baselines?"]
    assert (item.state, "corrected standard errors" in item.answer) == (state, state == "yes")


def test_every_picture_has_words_and_every_wide_thing_can_be_reached_by_keys(page):
    tags = Tags(page).tags
    pictures = [given for tag, given in tags if tag == "svg"]
    assert pictures and all(p["role"] == "img" and p["aria-label"] for p in pictures)
    scrolls = [given for _, given in tags if given.get("class") == "scroll"]
    assert scrolls and all(s["tabindex"] == "0" and s["aria-label"] for s in scrolls)
    assert any(g.get("name") == "viewport" for tag, g in tags if tag == "meta")


def test_the_methods_text_suffices_to_repeat_the_test(undrawn):
    chain = "mim:top=1 npfs:n=20,permutations=49"
    record = Chain.parse(chain).run(small(), seed=7, command="fsframe chain … --seed 7")
    text = methods_paragraph(record)
    numbers = record.stages[-1].tables["numbers"].tolist()
    assert numbers[:2] == [20, 49]
    # What the method chose itself is told too.
    assert record.stages[-1].params["permuted_n"] is None
    assert f"permuted_n = {numbers[2]}" in text and "n = 20, " in text
    for told in (record.data.sha256, "seed was 7", "`fsframe chain … --seed 7`", "numpy "):
        assert told in text
    assert "doi:10.1109/TNNLS.2014.2320415" in dict(references(record))["npfs"]
    # A file may hold anything under that name.
    last = record.stages[-1]
    tables = {**last.tables, "numbers": np.zeros((2, 2))}
    other = attrs.evolve(record, stages=(record.stages[0], attrs.evolve(last, tables=tables)))
    assert "permuted_n" not in methods_paragraph(other)


@pytest.mark.parametrize(
    ("chain", "why"),
    [
        ("anova-f:alpha=0.001", "With more rows, more may be kept."),
        ("anova-f:top=1", "With larger limits, more are kept."),
    ],
)
def test_what_a_level_left_out_is_no_question_of_larger_limits(chain: str, why: str) -> None:
    last = decisions(Chain.parse(chain).run(small()))[-1]
    assert last.verdict == "not kept"
    assert last.change.endswith(why)


# The page about a comparison: its verdict holds whatever the chains did, and its numbers too


def run(chain: str, seed: int, measures: str = "accuracy,log-loss") -> RunRecord:
    names = ["signal", "a", "b", "c"]
    data = separated(40, 4, seed, signal=3.0, feature_names=names, name=f"t{seed}")
    text = f"cross-validation:base=({chain}),folds=4,repeats=1,metric=[{measures}]"
    return Chain.parse(text).run(data)


CHAINS = ("anova-f:top=1 knn", "mim:top=2 knn", "knn:k=1")


@pytest.fixture(scope="module")
def runs() -> list[RunRecord]:
    return [run(chain, seed) for seed in range(2) for chain in CHAINS]


@pytest.fixture(scope="module")
def found(runs: list[RunRecord]) -> dict[str, Comparison]:
    return study_comparisons(study_of_runs(runs, measures=["accuracy", "log-loss"]))


def one(found: Comparison) -> Comparison:
    """The first table of a comparison by itself."""
    narrow = {
        name: getattr(found, name)[:1]
        for name in ("data", "values", "standard_error", "intervals", "larger_class", "kept")
    }
    first = {key: test for key, test in found.papers.items() if not key[0]}
    return attrs.evolve(found, **narrow, papers=first, ranks=None, adjusted_p=None, overall=None)


def test_runs_of_a_folder_are_a_study_and_what_is_missing_is_named(runs):
    study = study_of_runs(runs, CHAINS[:2])
    assert study.tables == ("t0", "t1") and study.chains == CHAINS[:2]
    assert study.beside == ("knn:k=1",) and study.measures[0] == "accuracy"
    with pytest.raises(RequestError, match="missing: `mim:top=2 knn` on t1"):
        study_of_runs([*runs[:4], runs[5]], CHAINS)
    with pytest.raises(RequestError, match="missing: auc"):
        study_of_runs(runs, CHAINS, ["auc"])
    with pytest.raises(RequestError, match="twice"):
        study_of_runs([*runs, runs[0]])
    with pytest.raises(RequestError, match="not an evaluation"):
        study_of_runs([Chain.parse("mim:top=1").run(Dataset.from_arrays(np.eye(4), [0, 1, 0, 1]))])


def test_the_verdict_over_tables_names_the_best_rank_and_what_the_test_can_tell(found):
    given = found["accuracy"]
    first, second = verdict_of_comparison(given)
    best = given.chains[int(np.argmin(given.ranks.mean_ranks))]
    assert f"`{best}`" in first and "Over 2 tables" in first and "on all 2" in first
    # Two tables give p = 0.5 at best.
    assert "2 tables are too few" in second
    many = attrs.evolve(
        given,
        data=tuple("abcdefgh"),
        values=np.tile([[0.9, 0.8, 0.7]], (8, 1)),
        larger_class=np.full(8, 0.95),
        adjusted_p=np.where(np.eye(3) > 0, 1, 0.02),
        ranks=attrs.evolve(given.ranks, mean_ranks=np.array([1.0, 2, 3]), friedman_p=0.001),
    )
    first, second = verdict_of_comparison(many)
    assert "`anova-f:top=1 knn` has the best mean rank of 3 chains by accuracy, 1.00" in first
    assert (
        "on 0 of the 8" in first
        and "it differs significantly from 2 of the 2 others at 0.05" in second
    )
    # Where no two differ: seven tables could tell, six could not, however large the difference.
    for n, words in ((7, "significantly from 0 of the 2 others"), (6, "6 tables are too few")):
        few = {name: getattr(many, name)[:n] for name in ("data", "values", "larger_class")}
        alike = attrs.evolve(many, **few, adjusted_p=np.ones((3, 3)))
        assert words in verdict_of_comparison(alike)[1]
    shared = attrs.evolve(many, ranks=attrs.evolve(many.ranks, mean_ranks=np.array([1.5, 1.5, 3])))
    assert "and `mim:top=2 knn` share the best mean rank" in verdict_of_comparison(shared)[0]


def test_the_verdict_of_one_table_turns_losses_and_tells_ties(found):
    loss = one(found["log-loss"])
    first, _ = verdict_of_comparison(loss)
    assert f"`{loss.chains[int(loss.values[0].argmin())]}`" in first and "On t0" in first
    tied = attrs.evolve(one(found["accuracy"]), values=np.array([[0.9, 0.9, 0.5]]))
    assert "share the best accuracy of 3 chains: 0.90" in verdict_of_comparison(tied)[0]
    unknown = attrs.evolve(tied, values=np.array([[np.nan, 0.9, 0.5]]))
    assert "has no value for some" in verdict_of_comparison(unknown)[0]
    untested = attrs.evolve(tied, papers={})
    assert "nothing is tested" in verdict_of_comparison(untested)[1]


def test_the_page_holds_every_chain_and_is_the_same_every_time(runs, found):
    from fsframe.show.page import report_page_of_study

    study = study_of_runs(runs, CHAINS[:2], ["accuracy", "log-loss"], name="toy")
    page = report_page_of_study(study)
    assert page == report_page_of_study(study)
    for words in (
        "toy: 2 chains on 2 tables",
        "Mean ranks over the tables",
        "against stability: t1",
        "Results by log loss",
        "all: knn:k=1",
        "All pairs of chains, by table",
        "all</td>",
        "@article{nadeau2003",
    ):
        assert words in page
    value = found["accuracy"].values[1, 0]
    assert f"<td>t1</td><td>anova-f:top=1 knn</td><td class=n>{value:.4f}</td>" in page
    assert page.count("<script") == 1


def test_pictures_by_a_loss_put_the_smallest_first(runs, found):
    from fsframe.show import plots

    drawn = plots.critical_difference(runs, metric="log-loss")
    texts = " ".join(text.get_text() for text in drawn.axes[0].texts)
    for chain, rank in zip(CHAINS, found["log-loss"].ranks.mean_ranks, strict=True):
        assert f"{chain} ({rank:.2f})" in texts
    panel = plots.accuracy_against_stability(runs[:2], metric="log-loss").axes[0]
    assert panel.yaxis_inverted() and "log-loss" in panel.get_ylabel()
