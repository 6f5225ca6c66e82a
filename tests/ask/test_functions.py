"""The functions of a program say what the commands say, and refuse what they refuse."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import numpy as np
import pandas
import polars
import pytest
from sklearn.base import clone

import fsframe
from fsframe.errors import DataError, RequestError, StoreError
from tests.same_process import fsframe as command

CHAIN = "mim:top=2,bins=3 knn:k=3"


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(2)
    y = np.repeat(["ill", "well"], 20)
    X = rng.standard_normal((40, 4)) + (y == "ill")[:, None] * [2.0, 0, 0, 1.0]
    path = tmp_path_factory.mktemp("table") / "toy.csv"
    rows = [",".join([*(f"{v:.17g}" for v in row), label]) for row, label in zip(X, y, strict=True)]
    path.write_text("\n".join(["a,b,c,d,kind", *rows]) + "\n")
    return path


@pytest.fixture(scope="module")
def data(table):
    return fsframe.read(table)


@pytest.fixture(scope="module")
def evaluated(data):
    return fsframe.evaluate(CHAIN, data, folds=4, repeats=2, curve=[1, 2])


@pytest.fixture(scope="module")
def studied(data):
    return fsframe.stability("mim:top=2,bins=3", data, n=5, metric="nogueira")


@pytest.fixture(scope="module")
def compared(data):
    chains = [CHAIN, fsframe.Chain.parse("mim:top=4,bins=3 knn:k=3")]
    return fsframe.compare(chains, data, folds=4, repeats=2)


def test_held_out_predictions_are_a_table(data, evaluated, studied):
    frame = evaluated.to_frame("predictions")
    names = ["repeat", "row", "fold", "truth", "predicted", "score ill", "score well"]
    assert frame.columns == names and len(frame) == 2 * data.n_samples
    assert frame["truth"][: data.n_samples].to_list() == [data.classes[code] for code in data.y]
    right = (frame["truth"] == frame["predicted"]).mean()
    assert right == pytest.approx(evaluated.accuracy)
    for result, listed in ((evaluated, "folds, predictions, curve"), (studied, "sizes")):
        with pytest.raises(RequestError, match=f"{listed}, features"):
            result.to_frame("other")


def test_predictions_curve_and_picture_of_numbers_are_in_their_terms(evaluated):
    X = np.random.default_rng(0).standard_normal((40, 3))
    settings = {"folds": 4, "repeats": 1, "curve": [1, 2]}
    numbers = fsframe.evaluate("mim:top=2 knn", X, X[:, 1] * 2.5, **settings)
    frame = numbers.to_frame("predictions")
    assert frame.columns == ["repeat", "row", "fold", "truth", "predicted"]
    assert frame["truth"].to_list() == (X[:, 1] * 2.5).tolist()
    columns = ["size", "r2", "standard_error", "stability"]
    assert numbers.to_frame("curve").columns == columns
    assert evaluated.to_frame("curve").columns[1] == "accuracy"
    assert not numbers.class_names and numbers.plot().axes


def test_a_frame_as_the_table_of_a_run_is_told_how_it_becomes_one(table):
    frame = pandas.read_csv(table)
    result = fsframe.select("mim:top=2,bins=3", frame, label="kind")
    for ask in (result.to_frame, lambda data: result.plot("classes", data=data)):
        with pytest.raises(
            RequestError, match=r"not DataFrame: .*fsframe.read\(data, label='kind'"
        ):
            ask(data=frame)
        assert ask(data=fsframe.read(frame, label="kind")) is not None
    with pytest.raises(RequestError, match="data=, a Dataset"):
        result.plot("classes")


def test_a_folder_given_to_load_run_is_told_what_loads_it(compared, tmp_path):
    compared.save(tmp_path / "cmp")
    with pytest.raises(StoreError, match=r"comparison: load_run .* such as toy\..*\.h5; .*report"):
        fsframe.load_run(tmp_path / "cmp")
    (tmp_path / "study.zip").touch()
    with pytest.raises(StoreError, match=r"study: fsframe\.load_study loads it"):
        fsframe.load_run(tmp_path)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))])
def test_results_can_be_copied_and_pickled(data, evaluated, studied, compared, copied):
    tested = fsframe.select("mim npfs:n=5,permutations=5,alpha=0.2", data)
    for result in (evaluated, studied, tested):
        again = copied(result)
        assert type(again) is type(result) and again.digests() == result.digests()
        assert repr(again) == repr(result) and not again.scores.flags.writeable
        with pytest.raises(TypeError):
            again.environment["kept"] = 1
    assert repr(copied(compared)) == repr(compared)


def test_a_function_gives_the_bits_of_its_command(table, tmp_path, evaluated, studied):
    words = ["evaluate", *CHAIN.split(), "on", str(table), "--folds", "4", "--repeats", "2"]
    out = tmp_path / "evaluated.h5"
    done = command(*words, "--curve", "[1,2]", "-o", str(out), code=0)
    read = fsframe.load_run(out)
    assert isinstance(read, fsframe.EvaluationResult)
    assert read.digests() == evaluated.digests() and read.chain == evaluated.chain
    said = done.out.split("seconds per split")[0]
    assert said == repr(evaluated).split("seconds per split")[0]


def test_tables_come_as_datasets_frames_arrays_and_files(table, data):
    result = fsframe.select("mim:top=2,bins=3", data)
    frame = pandas.read_csv(table, float_precision="round_trip")
    X, y = frame.drop(columns="kind"), frame["kind"]
    for given in (str(table), table, frame, polars.read_csv(table)):
        assert fsframe.select("mim:top=2,bins=3", given, label="kind").digests() == result.digests()
    assert fsframe.select("mim:top=2,bins=3", X, label=y).digests() == result.digests()
    for given in (X.to_numpy(), X.to_numpy().tolist()):
        scores = fsframe.select("mim:top=2,bins=3", given, label=y.to_numpy()).scores
        assert scores.tolist() == result.scores.tolist()
    with pytest.raises(DataError, match="has shape"):
        fsframe.select("mim", X.to_numpy(), label=y.to_numpy()[:5])


def test_labels_in_another_order_than_their_frame_are_refused(table):
    frame = pandas.read_csv(table).rename(index=lambda row: row + 100)
    X, y = frame.drop(columns="kind"), frame["kind"]
    fsframe.select("mim", X, label=y.reset_index(drop=True))
    for wrong in ({"label": y[::-1]}, {"label": y.sample(frac=1, random_state=0)}):
        with pytest.raises(DataError, match=r"in another order.*y\.loc\[X\.index\]"):
            fsframe.select("mim", X, **wrong)
    partly = y.rename(index=lambda row: row + 5)
    with pytest.raises(DataError, match=r"the label shares 35 of 40 .* same rows .*to_numpy"):
        fsframe.select("mim", X, label=partly)
    # A frame that only counts its rows, as one made by a transformation, has no index to compare.
    fsframe.select("mim", X.reset_index(drop=True), label=y.rename(index=lambda row: row - 95))
    with pytest.raises(DataError, match="index of the groups is that of"):
        fsframe.Dataset.from_arrays(X, y, groups=pandas.Series(range(len(y)), index=y.index[::-1]))


@pytest.mark.parametrize(
    ("chain", "role", "values"),
    [
        ("anova-f:top=2", "groups", np.arange(40)),
        ("mim", "weight", pandas.Series(np.arange(40) % 3 + 1)),
        ("anova-f:alpha=0.5", "adjust", np.sin(np.arange(40.0))),
    ],
)
def test_roles_of_a_frame_may_be_values_beside_it(table, chain, role, values):
    frame = pandas.read_csv(table)
    beside = fsframe.select(chain, frame, label="kind", **{role: values})
    inside = frame.assign(**{role: values})
    named = fsframe.select(chain, inside, label="kind", **{role: role})
    assert beside.scores.tobytes() == named.scores.tobytes()
    with pytest.raises(DataError, match=f"{role} has shape"):
        fsframe.select(chain, frame, label="kind", **{role: np.asarray(values)[:39]})
    by_name = fsframe.select("anova-f", inside, label="kind", adjust=np.array([role, "kind"])[:1])
    assert (
        by_name.digests() == fsframe.select("anova-f", inside, label="kind", adjust=role).digests()
    )
    with pytest.raises(RequestError, match=rf"inspect takes {role}= as .* X\.assign\({role}=…\)"):
        fsframe.inspect(frame, **{role: values})


@pytest.mark.parametrize(
    ("given", "error", "told"),
    [
        ({"data": [[1.0, 2.0]]}, RequestError, "for arrays, give the labels as label=y"),
        ({"data": {"a": [1.0, 2.0], "y": [0, 1]}}, RequestError, r"with pandas.DataFrame\(data\)$"),
        ({"data": {"data": [[1.0]], "target": [0]}}, RequestError, "label=bunch.target$"),
        ({"data": np.arange(4.0), "label": [0, 1] * 2}, RequestError, r"reshape\(-1, 1\)"),
        ({"chain": [[1.0, 2.0]]}, RequestError, "a chain is a text .* it comes first"),
        ({"label": "kind"}, RequestError, "a Dataset already has its label"),
        ({"chain": "mmi"}, RequestError, "Did you mean `mim`"),
        ({"workers": 1, "executor": object()}, RequestError, "workers= or executor=, not both"),
        ({"seed": None}, RequestError, "the seed must be a whole number ≥ 0, not None"),
        ({"worker": 1}, TypeError, r"select\(\) got .* .worker.; did you mean .workers="),
    ],
)
def test_wrong_requests_are_reported(data, given, error, told):
    given = {"chain": "mim", "data": data, **given}
    with pytest.raises(error, match=told):
        fsframe.select(given.pop("chain"), given.pop("data"), **given)


def test_limits_of_a_run_are_reported_together_before_the_table_is_read(data):
    wrong = {"workers": 0, "threads": "2", "memory": "2 bytes"}
    told = (
        "workers must be a whole number ≥ 1, not 0\nthreads must be a whole number ≥ 1, not '2'\n"
        "memory: '2 bytes' is not a size of at least 16 MiB"
    )
    with pytest.raises(RequestError, match=told):
        fsframe.select("mim", "no-such-table.csv", **wrong)
    with pytest.raises(RequestError, match="threads must be"):
        fsframe.Chain.parse("mim").run(data, threads=0)
    one, other = (fsframe.select("mim", data, memory=size) for size in ("2GB", 2 * 10**9))
    assert one.command == other.command and "memory=2000000000" in one.command


def test_wrong_protocols_are_reported_before_any_work(data):
    with pytest.raises(DataError, match="folds"):
        fsframe.compare([CHAIN, "mim knn"], data, folds=30)
    with pytest.raises(RequestError, match="takes several chains"):
        fsframe.compare(CHAIN, data)
    with pytest.raises(RequestError, match="two tables are called 'toy'"):
        fsframe.compare([CHAIN, "mim knn"], [data, data])


def test_a_comparison_calls_tables_as_a_mapping_does(data, tmp_path):
    named = {"visit": data, "visit/all": data, "visit-all": data}
    result = fsframe.compare([CHAIN, "mim knn"], named, folds=2, repeats=1, out=tmp_path / "out")
    names = tuple(result.result(0, place).data.name for place in range(3))
    assert result.data == names == tuple(named)
    # Two chains and their classifiers on all features.
    assert len(list((tmp_path / "out").glob("*.h5"))) == 3 * 4


def test_an_evaluation_shows_and_tabulates_itself(evaluated):
    assert evaluated.accuracy == evaluated.measures["accuracy"].mean > 0.6
    measures = evaluated.to_frame()
    assert measures["measure"].to_list()[0] == "accuracy"
    assert measures["mean"][0] == evaluated.accuracy
    folds = evaluated.to_frame("folds", library="pandas")
    assert len(folds) == 8 and folds["accuracy"].mean() == pytest.approx(evaluated.accuracy)
    assert evaluated.to_frame("curve")["size"].to_list() == [1, 2]
    assert evaluated.to_frame("features").columns[:2] == ["rank", "feature"]
    with pytest.raises(RequestError, match="there is no table 'fold'; there are measures, folds"):
        evaluated.to_frame("fold")
    assert "<td" in evaluated._repr_html_() and "accuracy" in evaluated._repr_html_()


def test_a_study_of_stability_shows_and_tabulates_itself(studied):
    assert isinstance(studied, fsframe.StabilityResult)
    assert studied.to_frame()["stability"].to_list() == [studied.values["nogueira"]]
    assert studied.to_frame("sizes").columns == ["size", "nogueira"]
    assert studied.kept.shape == (5, 4)
    assert "nogueira" in repr(studied) and "nogueira" in studied._repr_html_()


def test_a_comparison_shows_and_tabulates_itself(compared):
    results = compared.to_frame()
    # The chains, then the larger class and the classifier on all features.
    assert results["accuracy"].to_list()[:2] == compared.accuracy.ravel().tolist()
    assert len(results) == 4 and results["value"].to_list()[:2] == results["accuracy"].to_list()[:2]
    pairs = compared.to_frame("pairs")
    difference = compared.accuracy[0, 0] - compared.accuracy[0, 1]
    assert pairs["difference"][0] == pytest.approx(difference)
    assert compared.result(0).accuracy == compared.accuracy[0, 0]
    assert "paired t-test" in repr(compared) and "mim:top=4" in compared._repr_html_()


def test_results_are_saved_read_and_not_computed_twice(tmp_path, data, studied, monkeypatch):
    path = studied.save(tmp_path / "studied.h5")
    again = fsframe.load_run(path)
    assert type(again) is type(studied) and again.digests() == studied.digests()
    shown = command("show", str(path), "--json").json
    assert json.loads(again.to_json()) == shown | {"run_file": None}
    with pytest.raises(StoreError):
        studied.save(path)
    out = tmp_path / "selected.h5"
    first = fsframe.select("mim:top=2,bins=3", data, out=out)
    monkeypatch.setattr(fsframe.Chain, "run", lambda *_, **__: pytest.fail("computed twice"))
    assert fsframe.select("mim:top=2,bins=3", data, out=out).digests() == first.digests()
    # Something else is never replaced, or taken for the answer.
    with pytest.raises(StoreError):
        fsframe.select("mim:top=2,bins=3", data, out=out, seed=1)


def test_a_comparison_says_which_classifier_does_not_take_all_features(data, capsys):
    gaps = data.X.copy()
    gaps[3, 1] = np.nan
    holey = fsframe.Dataset.from_arrays(gaps, data.y, name="holey")
    chains = ["mim:top=1,missing=pairwise,bins=3 knn", "impute mim:top=1,bins=3 margin"]
    result = fsframe.compare(chains, holey, folds=3, repeats=1)
    assert "knn on all features of holey: knn does not take missing" in capsys.readouterr().err
    assert set(result.comparison.all_features) == {"knn", "impute margin"}


def test_a_comparison_continues_in_its_folder(tmp_path, data, compared, monkeypatch):
    chains = [CHAIN, "mim:top=4,bins=3 knn:k=3"]
    fsframe.compare(chains, data, folds=4, repeats=2, out=tmp_path / "kept")
    assert (tmp_path / "kept" / "results.csv").is_file()
    monkeypatch.setattr(fsframe.Chain, "run", lambda *_, **__: pytest.fail("computed twice"))
    again = fsframe.compare(chains, data, folds=4, repeats=2, out=tmp_path / "kept")
    assert np.array_equal(again.accuracy, compared.accuracy)
    # What is saved later is the same folder.
    saved = again.save(tmp_path / "saved")
    assert (saved / "results.csv").read_bytes() == (tmp_path / "kept/results.csv").read_bytes()
    assert {p.name for p in saved.iterdir()} == {p.name for p in (tmp_path / "kept").iterdir()}
    alone = fsframe.compare(chains, data, folds=4, repeats=2, out=saved, all_features=False)
    assert np.array_equal(alone.accuracy, compared.accuracy)
    with pytest.raises(StoreError):
        again.save(saved)


def test_a_run_is_a_result_too(data):
    from fsframe.show.results import as_result

    result = fsframe.Chain.parse("mim:top=2,bins=3 anova-f:top=1").run(data)
    assert isinstance(result, fsframe.SelectionResult) and as_result(result) is result
    study = fsframe.Chain.parse("stability-study:base=(mim:top=1),n=3").run(data)
    assert isinstance(study, fsframe.StabilityResult)
    page = result._repr_html_()
    assert "mim score" in page and "rank" in page
    assert repr(result).startswith("mim:top=2,bins=3 anova-f:top=1 on toy: 40 samples")


def test_a_selection_is_a_fitted_transformer(data, table):
    result = fsframe.select("mim:top=3,bins=3 anova-f:top=2", data, seed=3)
    made = result.to_sklearn()
    frame = pandas.read_csv(table, float_precision="round_trip").drop(columns="kind")
    kept = made.transform(frame)
    assert np.array_equal(kept, frame[sorted(result.selected_names)].to_numpy())
    assert list(made.get_feature_names_out()) == sorted(result.selected_names)
    again = made.fit(frame, data.y)
    assert again.ranking_.tolist() == result.selected.tolist()
    with pytest.raises(RequestError, match="ends with a classifier"):
        fsframe.select(CHAIN, data).to_sklearn()


def test_a_transformer_of_a_run_fills_gaps_as_the_run_learned():
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(rng.standard_normal((40, 3)), columns=list("abc"))
    frame["kind"] = pandas.Categorical(np.where(rng.random(40) < 0.5, "plain", "dotted"))
    y = np.where(frame["a"] + 3 * (frame["kind"] == "plain") > 1.5, "ill", "well")
    frame.iloc[3, 0] = np.nan
    made = fsframe.select("impute mim:top=4", frame.assign(y=y), label="y").to_sklearn()
    fitted = clone(made).fit(frame, y)
    imputed, expected = (each.selections_["impute"].selected for each in (fitted, made))
    assert imputed.tolist() == expected.tolist()
    for output in ("default", "pandas"):
        kept = [each.set_output(transform=output).transform(frame) for each in (made, fitted)]
        np.testing.assert_array_equal(*map(np.asarray, kept))
    assert not pandas.isna(kept[0]["a"]).any()
    # What stood for a category in the run, the run does not tell.
    frame.iloc[5, 3] = None
    with pytest.raises(ValueError, match=r"'kind'.*fit"):
        made.transform(frame)


def test_results_draw_themselves(evaluated, studied, compared, data):
    from matplotlib.figure import Figure

    for figure in (evaluated.plot(), evaluated.plot("roc"), studied.plot(), compared.plot()):
        # One of the compared chains keeps every feature, so that its stability is undefined.
        assert figure._repr_png_().startswith(b"\x89PNG")
    own = Figure().subplots()
    assert fsframe.select("mim:top=2,bins=3", data).plot(ax=own) is own.figure
    assert own.has_data()
    with pytest.raises(RequestError, match="there is no plot 'score'"):
        studied.plot("score")


def test_the_label_may_stand_behind_the_table():
    frame = polars.DataFrame({"a": [1.0, 1, 4, 4] * 5, "b": [2, 7, 1, 8] * 5, "y": ["p", "q"] * 10})
    X, y = frame.select("a", "b"), frame["y"]
    for found in (
        fsframe.select("mim:top=1,bins=2", X, y),
        fsframe.select("mim:top=1,bins=2", frame, "y"),
    ):
        assert found.selected_names == ("b",)
    assert fsframe.evaluate("mim:top=1 knn", X, y, folds=2, repeats=1).accuracy == 1
    assert fsframe.inspect(frame, "a").options["label"] == "a"
    with pytest.raises(RequestError, match=r"label= as the name of a column, not Series; .*assign"):
        fsframe.inspect(X, y)
    with pytest.raises(RequestError, match=r"a Dataset has been read: its `warnings` say"):
        fsframe.inspect(fsframe.read(frame, label="y"))


def test_progress_may_be_a_function_and_nothing_else_but_a_flag() -> None:
    data = fsframe.Dataset.from_arrays(np.arange(80.0).reshape(40, 2), np.arange(40) % 2)
    heard: list[Any] = []
    fsframe.evaluate("mim:top=1 knn", data, folds=3, repeats=1, progress=heard.append)
    assert heard and heard[-1].done == heard[-1].total
    for wrong in ("json", 3, None):
        with pytest.raises(RequestError, match="progress must be True, False or a function"):
            fsframe.select("mim", data, progress=wrong)  # type: ignore[arg-type]
