"""A bound on memory is for the whole run: divided before work starts, and measured."""

from __future__ import annotations

import json
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import h5py
import numpy as np
import pytest

import fsframe
from fsframe.chains.chain import Chain
from fsframe.chains.stage import most_tables_held, route_of, shares_of, working_memory
from fsframe.errors import RequestError
from fsframe.method.run import DEFAULT_MEMORY, Run
from fsframe.table.dataset import Dataset
from tests.command_line import python
from tests.evaluation.tables import separated
from tests.same_process import fsframe as fsframe_command

CHAINS = ("mim", "im4e", "mim npfs", "cross-validation:base=im4e", "stability-study:base=relieff")


def table(n=60, p=5000):
    return separated(n, p, signal=[2.0] * 3)


def workers(number, mappable=True):
    return SimpleNamespace(workers=number, mappable=mappable)


@pytest.mark.parametrize("text", CHAINS)
@pytest.mark.parametrize("number", [0, 1, 2, 7])
def test_shares_come_to_no_more_than_the_bound(text, number):
    executor = workers(number) if number else None
    result = shares_of(Chain.parse(text), table(), 500_000_000, executor)
    fits = result.fits * (result.copied + result.one_fit)
    total = result.table + result.shared + result.room + fits
    assert total <= 500_000_000
    assert total > 499_000_000
    assert result.room == working_memory(60, 5000, number)
    assert result.fits == max(1, number)
    assert result.table == table().matrix.nbytes
    assert (result.shared > 0) == (number > 0)


def test_workers_share_one_copy_or_have_one_each_and_elsewhere_limits_of_their_own(monkeypatch):
    chain, data, one = Chain.parse("mim"), table(), working_memory(60, 5000)
    for can, copies in ((True, 1), (False, 3)):
        monkeypatch.setattr("fsframe.chains.stage.CAN_SHARE_MEMORY", can)
        result = shares_of(chain, data, 500_000_000, workers(3))
        assert result.shared == copies * data.matrix.nbytes
    elsewhere = shares_of(chain, data, 500_000_000, workers(3, mappable=False))
    assert (elsewhere.fits, elsewhere.table) == (1, 0)
    assert elsewhere.room == working_memory(60, 5000, 1) - one


def test_what_is_known_of_the_columns_of_a_table_in_parts_is_counted(tmp_path):
    rng = np.random.default_rng(0)
    with h5py.File(tmp_path / "t.h5", "w") as file:
        file["X"], file["y"] = rng.normal(size=(40, 300)), np.arange(40) % 2
    data = fsframe.read(tmp_path / "*.h5")
    result = shares_of(Chain.parse("mim"), data, 500_000_000)
    # A bit for each of 8,192 whole numbers, and six arrays of numbers or marks
    assert result.table == data.matrix.facts.nbytes == 300 * (1024 + 5 * 8 + 2)


@pytest.mark.parametrize("text", CHAINS)
def test_the_way_a_method_takes_does_not_depend_on_workers(text):
    executors = (None, workers(1), workers(5), workers(3, mappable=False))
    routes = {shares_of(Chain.parse(text), table(), 300_000_000, e).route for e in executors}
    assert len(routes) == 1


def test_inner_folds_and_a_classifier_on_all_columns_are_counted():
    data = table()

    def shares(base, bound=10**8):
        return shares_of(Chain.parse(f"cross-validation:base=({base}"), data, bound)

    # Folds inside folds copy the rows twice.
    assert shares("mim:top=5)").copied == data.matrix.nbytes
    assert shares("mim:top={5,6})").copied == 2 * data.matrix.nbytes
    bound = working_memory(60, 5000) + 6 * data.nbytes
    assert shares("mim:top=5 margin),all-features=no", bound) is not None
    beside = "mim:top=5 margin),all-features=yes"
    with pytest.raises(RequestError, match=r"a fit at least 9\.6 MB add up to"):
        shares(beside, bound - 1)
    assert shares(beside, bound).one_fit == 4 * data.nbytes


@pytest.mark.parametrize("text", CHAINS)
@pytest.mark.parametrize("executor", [None, workers(3), workers(3, mappable=False)])
def test_a_refusal_names_a_size_that_does(text, executor):
    chain, data = Chain.parse(text), table()
    with pytest.raises(RequestError, match=r"60 × 5000 values.*--memory (\d+)MB") as caught:
        shares_of(chain, data, 3_000_000, executor)
    enough = int(re.search(r"--memory (\d+)MB", str(caught.value)).group(1)) * 10**6
    assert shares_of(chain, data, enough, executor).one_fit >= 1 << 20
    with pytest.raises(RequestError, match="not enough"):
        shares_of(chain, data, enough - 2 * 10**6, executor)


def test_a_run_that_continues_with_another_bound_keeps_its_algorithms():
    chain, data = Chain.parse("mim npfs"), table()
    begun = shares_of(chain, data, 2 * 10**8)
    later = shares_of(chain, data, 10**9, workers(2), route=begun.route)
    assert later.route == begun.route == route_of(chain, data, 2 * 10**8)
    assert later.one_fit > begun.one_fit
    assert route_of(chain, data, None) == DEFAULT_MEMORY
    assert shares_of(chain, data, None, workers(4)) is None


def test_a_fit_refuses_what_not_even_copies_of_the_table_fit_into():
    data = table()
    for name in ("im4e", "simba-mbiw", "relieff", "iterative-relief"):
        chain = Chain.parse(name)
        with pytest.raises(RequestError, match=f"{name}: .*60 × 5000 values takes .*memory"):
            chain.select(data, run=Run(memory=1 << 20))
        with pytest.raises(RequestError, match="memory"):
            chain.select_many(data, np.ones((2, 60), dtype=int), run=Run(memory=1 << 20))


def test_bits_under_a_bound_do_not_depend_on_workers():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((90, 12))
    data = Dataset.from_arrays(X, X[:, 0] * X[:, 1] > 0)
    # 48 · 90² bytes are within what one fit may hold alone, with four at a time just so
    chain = Chain.parse("immigrate:top=3 ensemble:n=4")
    bound = working_memory(90, 12, workers=2) + 4_000_000
    alone = chain.run(data, memory=bound)
    with ThreadPoolExecutor(2) as pool:
        shared = chain.run(data, memory=bound, executor=pool)
    assert alone.digests() == shared.digests()


def test_what_a_share_does_not_hold_is_refused_and_never_done_another_way():
    data = table(400, 3)
    chain = Chain.parse("im4e")
    # 48 · 400² bytes are 7.7 MB: stored where the run has 8 MB, though this share of it is less
    with pytest.raises(RequestError, match=r"distances between all pairs of 400 rows.*workers"):
        chain.select(data, run=Run(memory=4_000_000, route_memory=8_000_000))
    streamed = chain.select(data, run=Run(memory=4_000_000, route_memory=5_000_000))
    assert streamed.selected.size


MEASURED = """
import json, sys
import numpy as np
import fsframe
from fsframe.method.run import Run

def table(n, p):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    X = rng.standard_normal((n, p))
    X[:, :5] += y[:, None]
    return fsframe.Dataset.from_arrays(X, y)

def mark(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(name))

found = {}
for text, n, p, memory in json.loads(sys.argv[1]):
    chain = fsframe.Chain.parse(text)
    chain.select(table(40, 30), run=Run(memory=1 << 28, threads=1))
    data = table(n, p)
    before = mark("VmRSS")
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    chain.select(data, run=Run(memory=memory, threads=1))
    found[text] = (mark("VmHWM") - before) / memory
print(json.dumps(found))
"""

CASES = (
    # 8 · 4000² bytes are 128 MB: what W over all columns would take, five times over
    ("immigrate:screen=100", 40, 4000, 64_000_000),
    # three times and once the table of 19.2 MB; four times and more before
    ("simba-mbiw", 120, 20_000, 58_000_000),
    ("mbiw", 120, 20_000, 58_000_000),
    ("iterative-relief:rounds=3", 120, 20_000, 22_000_000),
)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc says what is held")
def test_fits_hold_what_they_may_and_no_more():
    said = json.loads(python("-c", MEASURED, json.dumps(CASES)).out.splitlines()[-1])
    assert {text: round(share, 2) for text, share in said.items() if share > 1.1} == {}


@pytest.mark.parametrize(
    ("chain", "columns"),
    [("mim:top=20", 20), ("mim:top=20 jmi:top=5", 5), ("mim:top=900", 30), ("mim:top=0.5", None)],
)
def test_stages_behind_a_known_number_of_columns_are_counted(chain, columns):
    chain += " sklearn:estimator=sklearn.svm.SVC"
    methods = [stage.method for stage in Chain.parse(chain).stages]
    copies = methods[-1].table_copies
    assert copies > 0
    least = 20 if columns == 5 else 0
    expected = 0.0 if columns is None else max((copies + 1) * columns, least) / 30
    assert most_tables_held(methods, 30) == pytest.approx(expected)
    folds = Chain.parse(f"cross-validation:base=({chain}),all-features=false").stages[0].method
    assert folds.tables_held(30) == pytest.approx(expected)


def test_the_limit_that_compare_names_is_enough_for_every_chain(tmp_path):
    data = table(60, 3000)
    np.savez(tmp_path / "t.npz", X=data.X, y=data.y)
    # The first chain needs the least.
    words = ["compare", "mim:top=5 knn", "mim:top=5 margin", "margin", "on",
             str(tmp_path / "t.npz"), "--folds", "2", "--repeats", "1"]  # fmt: skip
    refused = fsframe_command(*words, "--memory", "17MB", code=2)
    enough = re.search(r"allow --memory (\w+)", refused.err)[1]
    first = fsframe_command(*words[:2], "mim:top=4 knn", *words[4:], "--memory", "17MB")
    assert re.search(r"allow --memory (\w+)", first.err)[1] != enough
    fsframe_command(*words, "--memory", enough, code=0)


@pytest.mark.parametrize(
    ("text", "p", "advised"),
    [("im4e", 20_000, True), ("im4e", 900, False), ("mim:top=5 im4e", 20_000, False)],
)
def test_a_filter_is_advised_where_it_would_help_and_sizes_have_the_units_of_the_limit(
    text, p, advised
):
    data = Dataset.from_arrays(np.zeros((200, p)), np.arange(200) % 2)
    with pytest.raises(RequestError, match=r"^30\.0 MB of memory is not enough") as refused:
        shares_of(Chain.parse(text), data, 30_000_000)
    assert ("put a filter" in str(refused.value)) == advised and "iB" not in str(refused.value)
