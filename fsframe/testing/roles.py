"""Whether covariates and groups of rows are honoured as a method declares."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.table.dataset import Dataset
from fsframe.testing.conformance import check, not_applicable
from fsframe.testing.results import SelectorChecks, p_values_of
from fsframe.testing.tables import assert_close

_SMALL_P = 0.05
# Of permutations row by row more than half of the values are small, of valid ones a twentieth.
_MOST_SMALL = 0.3
_MOST_PERMUTATIONS = 10_000
_GROUPS, _ROWS, _COLUMNS = 16, 6, 24


class RoleChecks(SelectorChecks):
    """Covariates beside the columns, and permutations of rows that belong together."""

    @check
    def test_how_covariates_are_given_does_not_matter(self) -> None:
        method, data = self.make(), self._adjusted("f5", "f6")
        if method.wrapping or not method.adjusts() or list(method.role_problems(data)):
            raise not_applicable("it does not adjust for covariates itself")
        expected = method.select(data)
        given = data.covariates
        assert given is not None
        moved = attrs.evolve(given, values=given.values + 64.0)
        cases = {
            "with the covariates in another order": self._adjusted("f6", "f5"),
            "with 64 added to the covariates": attrs.evolve(data, covariates=moved),
        }
        if "order_of_rows_does_not_matter" not in self.exceptions:
            order = np.random.Generator(np.random.PCG64(2)).permutation(data.n_samples)
            cases["with rows and their covariates shuffled"] = data.take_rows(order)
        for what, other in cases.items():
            assert_close(method.select(other), expected, what, max(self.rtol, 1e-6))

    def _adjusted(self, *names: str) -> Dataset:
        """Two covariates, each of which determines much of the label and of one column."""
        draw = np.random.Generator(np.random.PCG64(6))
        first, second = np.arange(120) % 3.0, np.arange(120) // 3 % 4.0
        y = (draw.random(120) < 0.1 + 0.2 * first + 0.12 * second).astype(np.int64)
        X = draw.normal(size=(120, 6))
        X[:, 0] = first + 0.2 * X[:, 0]
        X[:, 1] = 1.2 * y + 0.6 * X[:, 1]
        X[:, 2] = second + 0.2 * X[:, 2]
        X[:, 4], X[:, 5] = first, second
        target = "classification" not in self.make().tasks
        task = "regression" if target else "classification"
        return Dataset.from_arrays(X, y, task=task).with_roles(adjust=names)

    @check
    def test_p_values_hold_their_level_given_covariates(self) -> None:
        method = self.make()
        if method.wrapping or not method.adjusts() or not p_values_of(method.select(self.table())):
            raise not_applicable("it gives no p-values that are adjusted for covariates")
        draw = np.random.Generator(np.random.PCG64(8))
        z = np.arange(240) % 3.0
        y = (draw.random(240) < 0.2 + 0.3 * z).astype(np.int64)
        X = np.column_stack([draw.normal(size=(240, 200)) + z[:, None], z])
        task = "classification" if "classification" in method.tasks else "regression"
        data = Dataset.from_arrays(X, y, task=task).with_roles(adjust="f201")
        if list(method.role_problems(data)):
            raise not_applicable("it refuses this table")
        for name, p in p_values_of(method.select(data)).items():
            tested = p[~np.isnan(p)]
            small, mean = int((tested <= _SMALL_P).sum()), _SMALL_P * tested.size
            assert small <= 3 * mean, (
                f"{small} of {tested.size} values of {name!r} are at most {_SMALL_P} where a "
                f"covariate explains all that columns say about the label, and about {mean:.0f} "
                "are expected"
            )

    @check
    def test_labels_are_permuted_in_whole_groups(self) -> None:
        method = self.make()
        if not {"classification", "regression"} & method.tasks:
            raise not_applicable("it takes neither classes nor numeric targets")
        if not p_values_of(method.select(self.table())):
            raise not_applicable("it gives no p-values")
        data = self._noise_in_groups()
        if list(method.role_problems(data)):
            raise not_applicable("it refuses a table with groups")
        p_values = p_values_of(method.select(data)).items()
        # A method that neither samples nor permutes leaves groups as they are.
        counted = {name: tested for name, p in p_values if _counted(tested := p[~np.isnan(p)])}
        if not counted:
            raise not_applicable("its p-values are not counted over permutations")
        for name, tested in counted.items():
            small = int((tested <= _SMALL_P).sum())
            assert small <= _MOST_SMALL * tested.size, (
                f"{small} of {tested.size} values of {name!r} are at most {_SMALL_P} on noise that "
                "is nearly the same in all rows of a group: permute the labels of whole groups "
                "(fsframe.resampling.groups), or say in ignores_groups() why not"
            )

    def _noise_in_groups(self) -> Dataset:
        """Rows that differ little from others of their group, and have its label."""
        draw = np.random.Generator(np.random.PCG64(7))
        group = np.repeat(np.arange(_GROUPS), _ROWS)
        X = draw.normal(size=(_GROUPS, _COLUMNS))[group]
        X = X + 0.05 * draw.normal(size=X.shape)
        if "classification" in self.make().tasks:
            return Dataset.from_arrays(X, (np.arange(_GROUPS) % 2)[group], groups=group)
        y = draw.normal(size=_GROUPS)[group]
        return Dataset.from_arrays(X, y, groups=group, task="regression")


def _counted(p: NDArray[np.float64]) -> bool:
    """Whether p-values are counts out of one number of permutations, (1 + b) / (1 + n)."""
    for many in range(2, _MOST_PERMUTATIONS + 2):
        times = p * many
        if (np.abs(times - np.rint(times)) < 1e-9 * many).all() and (times > 0.5).all():
            return True
    return False
