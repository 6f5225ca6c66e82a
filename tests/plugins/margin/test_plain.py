"""The methods against their plain programs, on a table with two classes and one with three."""

from __future__ import annotations

import numpy as np
import pytest

from fsframe.contracts.dataset import Dataset
from fsframe_margin import plain
from fsframe_margin.methods.im4e import Im4e
from fsframe_margin.methods.immigrate import Immigrate
from fsframe_margin.methods.irelief import Irelief
from fsframe_margin.methods.lfe import Lfe
from fsframe_margin.methods.mbiw import Mbiw
from fsframe_margin.methods.simba import Simba
from fsframe_margin.methods.simba_mbiw import SimbaMbiw


@pytest.fixture(params=[2, 3], ids=["two classes", "three classes"])
def table(request):
    rng = np.random.default_rng(request.param)
    X, y = rng.standard_normal((30, 5)), np.arange(30) % request.param
    X[:, 1] += 0.8 * y
    return X, y, Dataset.from_arrays(X, y)


@pytest.mark.parametrize("sigma", [0.5, 3.0])
def test_immigrate(table, sigma):
    X, y, data = table
    method = Immigrate(sigma=sigma, line_search=False, max_iter=3, keep="last", standardize=False)
    W = plain.immigrate(X, y, sigma, 3)
    np.testing.assert_allclose(method.select(data).model["W"], W, atol=1e-10)


@pytest.mark.parametrize("sigma", [0.5, 3.0])
def test_weights_of_the_linear_measure(table, sigma):
    X, y, data = table
    linear = {
        plain.im4e: Im4e(sigma=sigma, max_iter=1, standardize=False),
        plain.irelief: Irelief(sigma=sigma, max_iter=1, standardize=False),
    }
    for program, method in linear.items():
        np.testing.assert_allclose(method.select(data).scores, program(X, y, sigma, 1), atol=1e-12)


def test_steps_of_simba(table):
    X, y, data = table
    found = Simba(order="given", standardize=False).select(data)
    wanted = plain.simba(X, y, range(len(y)))
    np.testing.assert_allclose(found.tables["raw-weights"], wanted, rtol=1e-10)
    omega = plain.mbiw(X, y)
    found = SimbaMbiw(strategy="order", standardize=False).select(data)
    wanted = plain.simba(X, y, np.argsort(-omega, kind="stable"), omega)
    np.testing.assert_allclose(found.tables["raw-weights"], wanted, rtol=1e-10)


def test_instance_weights(table):
    X, y, data = table
    found = Mbiw(standardize=False).select(data)
    np.testing.assert_allclose(found.instance_weights, plain.mbiw(X, y), rtol=1e-10)


def test_lfe(table):
    X, y, data = table
    found = Lfe(standardize=False).select(data)
    np.testing.assert_allclose(found.model["W"], plain.lfe(X, y), atol=1e-12)
