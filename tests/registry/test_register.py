"""Classes of the running program by name: where names are looked up, in workers, in run files."""

from __future__ import annotations

import sys
import textwrap
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import fsframe
from fsframe.chains.chain import Stage
from fsframe.errors import EngineError, PluginError, RequestError, StoreError
from fsframe.execution.engine import check_classes, differences, found_here
from fsframe.params import param, real
from fsframe.registry import default_manager, preferring
from tests.command_line import fsframe as command
from tests.command_line import python

MODULE = """
import attrs, numpy as np, fsframe
from fsframe.params import param, real
from fsframe.method.ranking import rank_by_score

{decorator}
@attrs.frozen(kw_only=True)
class Spread(fsframe.Selector):
    '''Features whose values spread widest.'''
    power: float = param(1.0, real(above=0), help="Exponent.")

    def _select(self, data, upstream, run):
        scores = np.ptp(data.X, axis=0) ** self.power
        return fsframe.Selection(
            selected=rank_by_score(scores)[: self.keep_count(scores.size, 10)], scores=scores
        )
"""


def table() -> fsframe.Dataset:
    rng = np.random.default_rng(5)
    y = np.repeat([0, 1], 15)
    X = rng.standard_normal((30, 4)) * [1.0, 2.0, 3.0, 4.0]
    X[:, 3] += 3 * y
    return fsframe.Dataset.from_arrays(X, y, name="small")


def spread(**described):
    """The class of `MODULE` in this session alone, registered."""
    names = {"__name__": "a_session"}
    exec(MODULE.format(decorator=""), names)
    return fsframe.register(**described)(names["Spread"])


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Makes importable modules; workers find them as this process does."""
    monkeypatch.syspath_prepend(str(tmp_path))
    made = []

    def make(name: str, source: str = MODULE.format(decorator="@fsframe.register")):
        (tmp_path / f"{name}.py").write_text(source)
        made.append(name)
        return __import__(name)

    yield make
    for name in made:
        sys.modules.pop(name, None)


def test_a_registered_class_is_found_wherever_names_are_looked_up():
    cls = spread()
    assert fsframe.selectors["spread"] is cls and "spread" in fsframe.selectors
    offer = fsframe.selectors.offer("this-process/spread")
    assert offer.entry.summary == "Features whose values spread widest"
    data = table()
    wrapped = fsframe.Chain.parse("spread:power=2,top=2 npfs:n=10,null=published").run(data)
    assert wrapped.stages[0].selection.selected.tolist() == [3, 2]
    assert 3 in wrapped.selected
    from fsframe.sklearn import ChainSelector

    assert ChainSelector("spread:top=1").fit(data.X, data.y).ranking_.tolist() == [3]


def test_a_registered_classifier_ends_a_chain():
    @fsframe.register
    class FirstClass(fsframe.Classifier):
        def _fit(self, data, upstream, run):
            zeros = np.zeros((30, data.n_classes), dtype=np.int64)
            return SimpleNamespace(predict=lambda X: zeros[:, 0], predict_scores=lambda X: zeros)

    data = table()
    fitted = fsframe.Chain.parse("mim:top=1 first-class").fit(data)
    assert fitted.predict_labels(data.X) == [0] * 30
    assert fsframe.classifiers["first-class"] is FirstClass
    with pytest.raises(
        RequestError, match="'first-class' already belongs to a classifier of this-process"
    ):
        spread(name="first-class")


def test_a_registered_regressor_is_one_and_replaces_its_earlier_cell():
    for _ in range(2):

        @fsframe.register
        class FirstColumn(fsframe.Regressor):
            """The first column itself."""

            def _fit(self, data, upstream, run):
                return SimpleNamespace(predict=lambda X: X[:, 0] * 1.0)

    assert fsframe.regressors["first-column"] is FirstColumn
    assert fsframe.classifiers["first-column"] is FirstColumn
    data = fsframe.Dataset.from_arrays([[1.0, 5], [2, 9], [9, 4]], [0.5, 1.5, 9.5])
    assert fsframe.Chain.parse("first-column").fit(data).predict(data.X).tolist() == [1, 2, 9]

    with pytest.raises(RequestError, match="regressor"):

        @fsframe.register(name="first-column")
        class Other(fsframe.Classifier):
            """A class of another kind under the same name."""


def test_the_run_file_says_whose_code_it_was(tmp_path):
    cls = spread()
    out = tmp_path / "run.h5"
    fsframe.Chain.parse("spread:top=2").run(table(), out=out)
    stage = fsframe.load_run(out).stages[0]
    assert stage.provider == "this-process"
    target, digest = stage.provider_version.split()
    assert target == f"{cls.__module__}:Spread" and len(digest) == 12


def test_another_program_learns_what_is_missing():
    with preferring({"spread": "this-process"}), pytest.raises(PluginError) as caught:
        fsframe.Chain.parse("spread:top=2")
    assert "was a class of the program that made this run" in str(caught.value)


def test_an_unfinished_run_continues_with_the_same_code_only(tmp_path, module):
    made = module("goes_on_methods")

    @fsframe.register
    class Breaks(fsframe.Selector):
        """Not on this machine, not today."""

        def _select(self, data, upstream, run):
            raise RuntimeError("no more")

    out, chain = tmp_path / "run.h5", "spread:top=2 breaks"
    with pytest.raises(PluginError, match="no more"):
        fsframe.Chain.parse(chain).run(table(), out=out)
    changed = {"__module__": made.__name__, "_select": lambda self, data, upstream, run: None}
    fsframe.register(type("Spread", (fsframe.Selector,), changed))
    with pytest.raises(StoreError, match="class goes_on_methods:Spread as spread"):
        fsframe.Chain.parse(chain).run(table(), out=out)
    result = command("resume", str(out))
    assert "'spread' was a class of the program that made this run" in result.err
    assert result.code == 3


def test_the_digest_is_of_what_the_code_does(module):
    def digest(name, source):
        fsframe.register(name=name)(module(f"{name}_methods", source).Spread)
        return fsframe.selectors.offer(name).version.split()[1]

    source = MODULE.format(decorator="")
    one = digest("one", source)
    assert digest("two", "# moved\n\n" + source) == one
    assert digest("three", source.replace("** self.power", "* self.power")) != one


def test_workers_import_the_class_by_its_module(module):
    # Not registered by its module: the worker does it, under the name that it has here.
    fsframe.register(name="widest")(module("worker_methods", MODULE.format(decorator="")).Spread)
    data, chain = table(), fsframe.Chain.parse("widest:top=2 npfs:n=8,null=published")
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        result = chain.run(data, executor=pool)
    assert result.digests() == chain.run(data).digests()


def test_a_class_that_workers_do_not_have_is_reported_by_them(module):
    module("vanishing_methods")
    name = next(n for n in needed("spread") if n.startswith("class "))
    default_manager()._here.clear()
    sys.modules.pop("vanishing_methods")
    assert found_here([name]) == {name: found_here([name])[name]} != {name: "absent"}
    gone = {"class no_such_module:Spread as spread": "x"}
    (told,) = differences(gone, found_here(gone))
    assert "its module no_such_module cannot be imported there" in told


def needed(text: str) -> dict[str, str]:
    from fsframe.resampling.dispatch import needed_by

    return needed_by(text)


@pytest.mark.parametrize("program", [True, False])
def test_a_class_that_only_this_session_has_is_refused_with_the_way_out(program):
    spread()
    with pytest.raises(RequestError, match=r"spread.*put it into a module .* or run without"):
        check_classes(needed("spread"), program=program)


def test_a_session_is_refused_before_workers_compute_anything():
    session = MODULE.format(decorator="@fsframe.register") + textwrap.dedent("""
        from fsframe.execution.engine import ProcessEngine
        data = fsframe.Dataset.from_arrays(np.eye(6), [0, 1] * 3)
        with ProcessEngine(1) as engine:
            fsframe.Chain.parse("spread:top=2 npfs:n=4").run(data, executor=engine)
    """)
    done = python("-c", session, code=1)
    assert "RequestError: `spread` is a class of this session (Spread)" in done.err


@pytest.mark.parametrize(
    ("described", "told"),
    [
        ({"name": "mim"}, "'mim' already belongs to a selector of infotheory"),
        ({"name": "knn"}, "'knn' already belongs to a classifier"),
        ({"name": "Not a name"}, "lower-case words joined by hyphens"),
        ({"sumary": "x"}, "a selector has no sumary; it has"),
        ({"summary": "two\nlines"}, "must be one line of text"),
    ],
)
def test_taken_names_and_wrong_descriptions_are_reported(described, told):
    with pytest.raises(RequestError, match=told):
        spread(**described)


def test_what_is_no_method_is_reported():
    with pytest.raises(RequestError, match=r"@fsframe\.register\(name='mine'\)"):
        fsframe.register("mine")
    with pytest.raises(RequestError, match=r"must be a class derived from fsframe\.Selector"):
        fsframe.register(dict)
    with pytest.raises(RequestError, match=r"declares power but is not decorated"):

        @fsframe.register
        class Bare(fsframe.Selector):
            power: float = param(1.0, real(above=0))


def test_a_cell_that_is_run_again_replaces_the_class_and_old_chains_say_so():
    spread()
    old = fsframe.Chain.parse("spread:top=1")
    new = spread()
    assert fsframe.selectors["spread"] is new
    with pytest.raises(RequestError, match="built from a class that has been replaced since"):
        old.run(table())
    stale = fsframe.Chain((Stage("mim", new(top=1)),))
    with pytest.raises(RequestError, match="the stage 'mim' was built from a class"):
        stale.run(table())


def test_a_broken_pool_answers_with_the_reason(module):
    made = module("lost_methods")
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        pool.submit(int).result()
        # The worker has started; what it has to import is not there any more.
        Path(made.__file__).unlink()
        with pytest.raises(EngineError, match=r"no lost_methods:Spread as spread"):
            fsframe.Chain.parse("spread:top=1 npfs:n=4,null=published").run(table(), executor=pool)


@pytest.mark.parametrize(
    ("base", "part"),
    [
        (fsframe.Selector, "_select"),
        (fsframe.WrappingSelector, "_select_wrapped"),
        (fsframe.Classifier, "_fit"),
        (fsframe.StabilityMetric, "_measure"),
    ],
)
def test_a_class_without_the_authors_part_is_refused(base, part):
    class Unwritten(base):
        """Nothing."""

    for method in (base, Unwritten):
        with pytest.raises(RequestError, match=f"cannot be registered: it has no {part}, which"):
            fsframe.register(method)


def test_chains_and_registries_say_how_they_are_used():
    for stages in (["mim"], [fsframe.selectors["mim"]()]):
        with pytest.raises(RequestError, match=r"not \w+: write Chain\.parse"):
            fsframe.Chain(stages)
    with pytest.raises(RequestError, match="the name of a selector is text, not NoneType"):
        fsframe.selectors[None]
