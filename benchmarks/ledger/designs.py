"""Tables whose relevant columns are known: the designs of the ledger.

A column is *relevant* if the label depends on it, alone or together with others; *causal* if the
label is made from it; *interacting* if its effect is not a sum with the effects of others. With
`signal=False` the columns are drawn in the same way, and the label depends on none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe import Dataset

Array = NDArray[np.float64]
Draw = np.random.Generator


@attrs.frozen(kw_only=True)
class Table:
    """Columns, a label, the roles of further columns, and what is true of the columns."""

    X: Array
    y: Array
    task: str = "classification"
    categorical: tuple[int, ...] = ()
    groups: Array | None = None
    event: Array | None = None
    time: Array | None = None
    batch: Array | None = None

    def dataset(self) -> Dataset:
        """The table with its roles declared."""
        names = [f"f{j + 1}" for j in range(self.X.shape[1])]
        X, categorical, roles = self.X, list(self.categorical), {}
        for role, values in (("time", self.time), ("adjust", self.batch)):
            if values is not None:
                categorical += [X.shape[1]] * (role == "adjust")
                X = np.column_stack([X, values])
                names.append(role)
                roles[role] = role
        label = self.y if self.task != "classification" else self.y.astype(int)
        data = Dataset.from_arrays(
            X, label, names, categorical=categorical, groups=self.groups, event=self.event,
            task=None if self.event is not None else self.task,
        )  # fmt: skip
        return data.with_roles(**roles) if roles else data


@attrs.frozen(kw_only=True)
class Design:
    """One design: how its tables are drawn, and its columns.

    Parameters
    ----------
    name : str
    title : str
        One line for the page.
    draw : callable
        Of a generator, the number of rows and `signal`; returns a Table.
    rows, columns : int
    relevant, causal, interacting : sequence of int
        Columns, if there is a signal.
    null : bool
        Whether it is also run without a signal; not where that is nearly another design.
    """

    name: str
    title: str
    draw: Callable[[Draw, int, bool], Table]
    rows: int
    columns: int
    relevant: Sequence[int]
    causal: Sequence[int]
    interacting: Sequence[int] = ()
    null: bool = True

    def mask(self, kind: str, signal: bool) -> NDArray[np.bool_]:
        """(columns,) whether each column is relevant, causal or interacting."""
        found = np.zeros(self.columns, dtype=bool)
        if signal:
            found[list(getattr(self, kind))] = True
        return found


def classes_of(draw: Draw, score: Array, signal: bool, share: float = 0.5) -> Array:
    """Classes, the share `share` of 1, by a logistic model of `score` (or at random)."""
    noisy = score * signal + draw.logistic(size=score.size)
    return (noisy > np.quantile(noisy, 1 - share)).astype(float)


def _blocks(draw: Draw, n: int, sizes: Sequence[int], rho: float) -> Array:
    parts = [
        np.sqrt(1 - rho) * draw.normal(size=(n, size)) + np.sqrt(rho) * draw.normal(size=(n, 1))
        for size in sizes
    ]
    return np.hstack(parts)


def _independent(draw: Draw, n: int, signal: bool) -> Table:
    X = draw.normal(size=(n, 30))
    return Table(X=X, y=classes_of(draw, 1.2 * X[:, :5].sum(axis=1), signal))


def _of_blocks(draw: Draw, n: int, signal: bool) -> Table:
    X = np.hstack([_blocks(draw, n, (7, 7, 7), 0.8), draw.normal(size=(n, 9))])
    return Table(X=X, y=classes_of(draw, 1.5 * (X[:, 0] + X[:, 7]), signal))


def _copies(draw: Draw, n: int, signal: bool) -> Table:
    X = draw.normal(size=(n, 8))
    near = [X + 0.2 * draw.normal(size=X.shape) for _ in range(2)]
    return Table(X=np.hstack([X, *near]), y=classes_of(draw, 1.5 * X[:, :3].sum(axis=1), signal))


def _chains(draw: Draw, n: int, signal: bool) -> Table:
    X = draw.normal(size=(n, 30))
    for j in range(30):
        if j % 5:
            X[:, j] = 0.8 * X[:, j - 1] + 0.6 * X[:, j]
    return Table(X=X, y=classes_of(draw, 1.5 * (X[:, 0] + X[:, 5]), signal))


def _xor(draw: Draw, n: int, signal: bool) -> Table:
    X = draw.normal(size=(n, 20))
    return Table(X=X, y=classes_of(draw, 4.0 * np.sign(X[:, 0] * X[:, 1]), signal))


def _three_way(draw: Draw, n: int, signal: bool) -> Table:
    X = draw.normal(size=(n, 12))
    return Table(X=X, y=classes_of(draw, 4.0 * np.sign(X[:, :3].prod(axis=1)), signal))


def _sparse_linear(draw: Draw, n: int, signal: bool) -> Table:
    X = _blocks(draw, n, (60,), 0.2)
    y = signal * X[:, :5] @ [1.5, -1.2, 1.0, -0.8, 0.6] + 1.5 * draw.normal(size=n)
    return Table(X=X, y=y, task="regression")


def _mixed(draw: Draw, n: int, signal: bool) -> Table:
    numeric = draw.normal(size=(n, 8))
    binary = (draw.random((n, 6)) < 0.4).astype(float)
    nominal = np.column_stack([draw.integers(0, 3 + j % 4, size=n) for j in range(6)])
    score = 1.2 * numeric[:, :2].sum(axis=1) + 2 * binary[:, 0]
    score = score + 2.0 * (nominal[:, 0] == 1) + 2.0 * (nominal[:, 1] >= 2)
    X = np.hstack([numeric, binary, nominal])
    return Table(X=X, y=classes_of(draw, score, signal), categorical=tuple(range(14, 20)))


def _rare(draw: Draw, n: int, signal: bool) -> Table:
    X = (draw.random((n, 40)) < np.linspace(0.03, 0.1, 40)[::-1]).astype(float)
    return Table(X=X, y=classes_of(draw, 3.0 * X[:, :4].sum(axis=1), signal))


def _genotypes(draw: Draw, n: int, signal: bool) -> Table:
    hidden = [_blocks(draw, n, (6,) * 8, 0.7) for _ in range(2)]
    X = sum((z > 0.5).astype(float) for z in hidden)
    return Table(X=X, y=classes_of(draw, 1.3 * (X[:, 0] + X[:, 6]), signal))


def _wide(draw: Draw, n: int, signal: bool) -> Table:
    X = draw.normal(size=(n, 1000))
    y = draw.permutation(np.arange(n) % 2).astype(float)
    X[:, :10] += signal * 1.0 * y[:, None]
    return Table(X=X, y=y)


def _wider(draw: Draw, n: int, signal: bool) -> Table:
    X = draw.normal(size=(n, 2000))
    y = draw.permutation(np.arange(n) % 2).astype(float)
    X[:, :10] += signal * 1.8 * y[:, None]
    return Table(X=X, y=y)


def _unequal(draw: Draw, n: int, signal: bool) -> Table:
    X = draw.normal(size=(n, 20))
    return Table(X=X, y=classes_of(draw, 1.5 * X[:, :4].sum(axis=1), signal, share=0.05))


def _people(draw: Draw, n: int, signal: bool) -> Table:
    each = 6
    people = np.repeat(np.arange(n // each), each)
    y = draw.permutation(np.arange(n // each) % 2).astype(float)
    of_person = draw.normal(size=(n // each, 20))
    of_person[:, :4] += signal * 1.5 * y[:, None]
    X = of_person[people] + 0.5 * draw.normal(size=(n, 20))
    return Table(X=X, y=y[people], groups=people.astype(float))


def _batch(draw: Draw, n: int, signal: bool) -> Table:
    batch = draw.integers(0, 3, size=n)
    X = draw.normal(size=(n, 20))
    X[:, 4:12] += 1.2 * (batch == 1)[:, None]
    score = signal * 1.3 * X[:, :4].sum(axis=1) + 2.5 * (batch == 1)
    return Table(X=X, y=classes_of(draw, score, True), batch=batch.astype(float))


def _drift(draw: Draw, n: int, signal: bool) -> Table:
    time = np.arange(n, dtype=float)
    X = draw.normal(size=(n, 16))
    X[:, 3:10] += 2.0 * (time / n - 0.5)[:, None]
    score = signal * 1.4 * X[:, :3].sum(axis=1) + 3.0 * (time / n - 0.5)
    return Table(X=X, y=classes_of(draw, score, True), time=time)


def _survival(draw: Draw, n: int, signal: bool) -> Table:
    X = draw.normal(size=(n, 20))
    times = draw.exponential(np.exp(-0.6 * signal * X[:, :4].sum(axis=1)))
    censored = draw.exponential(3.0, size=n)
    return Table(
        X=X, y=np.minimum(times, censored) + 1e-6, task="survival", event=(times <= censored) * 1.0
    )


def _heavy(draw: Draw, n: int, signal: bool) -> Table:
    X = draw.standard_t(2, size=(n, 30))
    return Table(X=X, y=classes_of(draw, 2.0 * np.clip(X[:, :5], -2, 2).sum(axis=1), signal))


def _curved(draw: Draw, n: int, signal: bool) -> Table:
    X = _blocks(draw, n, (20,), 0.0)
    noise = np.exp(0.7 * X[:, 2] * signal) * draw.normal(size=n)
    return Table(X=X, y=signal * (X[:, 0] ** 2 + X[:, 1]) + noise, task="regression")


_FIRST_TWO_BLOCKS = (*range(7), *range(7, 14))
_COPIED = tuple(8 * k + j for k in range(3) for j in range(3))

DESIGNS: tuple[Design, ...] = (
    Design(name="independent", title="Independent columns, five add up", draw=_independent,
           rows=150, columns=30, relevant=range(5), causal=range(5)),
    Design(name="blocks", title="Three blocks of seven, correlation .8, a cause in each of two",
           draw=_of_blocks, rows=120, columns=30, relevant=_FIRST_TWO_BLOCKS, causal=(0, 7)),
    Design(name="copies", title="Eight columns and two near-copies of each, three causes",
           draw=_copies, rows=150, columns=24, relevant=_COPIED, causal=range(3), null=False),
    Design(name="chains", title="Chains of redundancy: each column depends on the one before it",
           draw=_chains, rows=150, columns=30, relevant=range(10), causal=(0, 5), null=False),
    Design(name="xor", title="Exclusive or of two columns", draw=_xor, rows=200, columns=20,
           relevant=(0, 1), causal=(0, 1), interacting=(0, 1), null=False),
    Design(name="three-way", title="Exclusive or of three columns", draw=_three_way, rows=300,
           columns=12, relevant=range(3), causal=range(3), interacting=range(3), null=False),
    Design(name="sparse-linear", title="Numeric target, five of 60 columns, correlation .2",
           draw=_sparse_linear, rows=120, columns=60, relevant=range(60), causal=range(5)),
    Design(name="mixed", title="Numeric, binary and nominal columns", draw=_mixed, rows=200,
           columns=20, relevant=(0, 1, 8, 14, 15), causal=(0, 1, 8, 14, 15)),
    Design(name="rare", title="Binary columns that are 1 in 3 to 10 of 100 rows", draw=_rare,
           rows=300, columns=40, relevant=range(4), causal=range(4)),
    Design(name="genotypes", title="Genotypes 0, 1, 2 in linkage, a cause in each of two blocks",
           draw=_genotypes, rows=200, columns=48, relevant=range(12), causal=(0, 6)),
    Design(name="60x1000", title="60 rows, 1,000 columns, ten shifted by 1", draw=_wide, rows=60,
           columns=1000, relevant=range(10), causal=range(10)),
    Design(name="30x2000", title="30 rows, 2,000 columns, ten shifted by 1.8", draw=_wider,
           rows=30, columns=2000, relevant=range(10), causal=range(10), null=False),
    Design(name="95-5", title="Classes of 95 and 5 of 100 rows", draw=_unequal, rows=300,
           columns=20, relevant=range(4), causal=range(4)),
    Design(name="people", title="Six rows of each of 30 people, one label each", draw=_people,
           rows=180, columns=20, relevant=range(4), causal=range(4)),
    Design(name="batch", title="Three batches that shift the label and eight columns",
           draw=_batch, rows=200, columns=20, relevant=range(4), causal=range(4)),
    Design(name="drift", title="A drift in time of the label and of seven columns", draw=_drift,
           rows=200, columns=16, relevant=range(3), causal=range(3)),
    Design(name="survival", title="Survival times, a third censored", draw=_survival, rows=150,
           columns=20, relevant=range(4), causal=range(4)),
    Design(name="heavy-tails", title="Columns with t distributions of two degrees of freedom",
           draw=_heavy, rows=150, columns=30, relevant=range(5), causal=range(5)),
    Design(name="curved", title="Numeric target: a square, a line, and noise of unequal variance",
           draw=_curved, rows=200, columns=20, relevant=range(3), causal=range(3), null=False),
)  # fmt: skip


def tables(design: Design, signal: bool, seed: int, test_rows: int = 600) -> tuple[Table, Table]:
    """The table number `seed` of a design, and rows that no contender sees."""
    number = [d.name for d in DESIGNS].index(design.name)
    train, test = np.random.SeedSequence(seed, spawn_key=(number, int(signal))).spawn(2)
    return (
        design.draw(np.random.default_rng(train), design.rows, signal),
        design.draw(np.random.default_rng(test), test_rows, signal),
    )
