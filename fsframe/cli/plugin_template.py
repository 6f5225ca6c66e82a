"""The files of a new plugin: a package that works, keeps the conformance laws, and can be changed.

`examples/plugin-template` holds what these texts give for the name ``gap``; a test compares them.
"""

from __future__ import annotations

__all__ = ["plugin_files"]

_PYPROJECT = """\
[build-system]
requires = ["setuptools>=61"]
build-backend = "setuptools.build_meta"

[project]
name = "fsframe-@name@"
version = "0.1.0"
description = "The selector @name@ for fsframe"
readme = "README.md"
requires-python = ">=3.11"
dependencies = ["fsframe", "numpy", "attrs"]

[project.optional-dependencies]
test = ["pytest"]

# This line is the plugin: fsframe looks the module up when it starts, and asks it for entries.
[project.entry-points.fsframe]
@name@ = "@package@.plugin"

[tool.setuptools]
packages = ["@package@"]

[tool.pytest.ini_options]
testpaths = ["tests"]

[tool.ruff]
line-length = 100

[tool.ruff.lint]
select = ["E", "F", "I", "B", "UP", "W"]

[tool.ruff.lint.isort]
known-first-party = ["@package@"]
"""

_README = """\
# fsframe-@name@

The selector `@name@` for fsframe: columns by the gap between class means, in standard deviations.

    pip install -e ".[test]"
    pytest                                    # every law that fsframe holds a selector to
    fsframe methods @name@
    fsframe chain @name@ --top 5 npfs on DATA.csv

Replace the mathematics in `@package@/@module@.py`, the summary and the reference in
`@package@/plugin.py`, and this text.
"""

_INIT = '''\
"""The selector `@name@` for fsframe."""
'''

_PLUGIN = '''\
"""What this plugin offers; imports no numpy, so that listing it is quick."""

from __future__ import annotations

from collections.abc import Iterator

from fsframe.registry.entries import SelectorEntry
from fsframe.registry.hookspecs import hookimpl


@hookimpl
def fsframe_selectors() -> Iterator[SelectorEntry]:
    yield SelectorEntry(
        name="@name@",
        target="@package@.@module@:@Class@",
        summary="Columns by the gap between class means, in standard deviations",
        family="statistics",
        gives={"scores"},
        reference="Tusher, Tibshirani, Chu 2001, PNAS 98:5116, eq. 1, with the whole column's "
        "standard deviation",
    )
'''

_METHOD = '''\
"""The gap between class means, in standard deviations of the column."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np
from fsframe.contracts.dataset import Dataset
from fsframe.contracts.params import param, real
from fsframe.contracts.run import Run
from fsframe.contracts.selection import Selection, rank_by_score
from fsframe.contracts.selector import Selector


@attrs.frozen(kw_only=True)
class @Class@(Selector):
    """Columns whose class means lie furthest apart.

    Parameters
    ----------
    s0 : float ≥ 0
        Added to the standard deviation, so that columns that hardly vary do not win by chance.

    Notes
    -----
    score_j = (max_c m_cj - min_c m_cj) / (s_j + s0), with m_cj the mean of column j in class c and
    s_j its standard deviation over all rows. A row drawn k times in a bootstrap counts k times, as
    k copies of it would. O(n p) time, O(n p) memory.

    References
    ----------
    Tusher, Tibshirani, Chu 2001, Significance analysis of microarrays, PNAS 98:5116, eq. 1; departs
    in that s_j is taken over all rows, so that a column that separates the classes has a finite
    score.

    Examples
    --------
    >>> from fsframe.contracts.dataset import Dataset
    >>> data = Dataset.from_arrays([[1, 5], [2, 6], [8, 5], [9, 6]], ["a", "a", "b", "b"])
    >>> @Class@(top=1).select(data).selected
    array([0])
    """

    takes_counts: ClassVar[bool] = True

    s0: float = param(
        0.0,
        real(0),
        help="Added to the standard deviation, so that columns that hardly vary do not win.",
        symbol="s₀",
        source="Tusher, Tibshirani, Chu 2001, eq. 1",
    )

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        X, y = data.X, data.y
        counts = np.ones(data.n_samples) if data.counts is None else data.counts.astype(float)
        # A class may have no rows in a resample.
        codes = np.unique(y)
        means = np.array([np.average(X[y == c], axis=0, weights=counts[y == c]) for c in codes])
        centre = np.average(X, axis=0, weights=counts)
        deviation = np.sqrt(np.average((X - centre) ** 2, axis=0, weights=counts))
        # A constant column has a deviation of rounding errors only.
        flat = deviation <= 1e-12 * np.abs(X).max(axis=0)
        gap = np.where(flat, 0.0, means.max(axis=0) - means.min(axis=0))
        scores = gap / np.where(flat, 1.0, deviation + self.s0)
        default = max(1, data.n_features // 10)
        kept = rank_by_score(scores)[: self.keep_count(data.n_features, default)]
        return Selection(selected=kept, scores=scores)
'''

_CONFORMANCE = '''\
"""Laws of `fsframe.testing` that the methods here break, each with its reason; none so far."""

from __future__ import annotations

EXCEPTIONS: dict[str, dict[str, str]] = {}
'''

_CONFTEST = '''\
"""Says at the end how many laws were checked."""

from fsframe.testing.pytest_summary import pytest_terminal_summary

__all__ = ["pytest_terminal_summary"]
'''

_TEST = '''\
"""The selector @name@: a case worked by hand, and every law of fsframe."""

from __future__ import annotations

import numpy as np
from fsframe import Dataset, selectors
from fsframe.testing import SelectorConformance

from @package@.conformance import EXCEPTIONS
from @package@.@module@ import @Class@


def test_scores_are_those_worked_by_hand() -> None:
    # Means 1 and 4 in the first column, whose values 0, 2, 3, 5 have variance 13/4; none apart in
    # the second.
    data = Dataset.from_arrays([[0, 1], [2, 2], [3, 1], [5, 2]], ["a", "a", "b", "b"])
    found = @Class@(top=1).select(data)
    assert np.allclose(found.scores, [3 / np.sqrt(13 / 4), 0.0])
    assert found.selected.tolist() == [0]


def test_s0_is_added_to_the_deviation() -> None:
    data = Dataset.from_arrays([[0.0], [2], [3], [5]], ["a", "a", "b", "b"])
    assert np.allclose(@Class@(s0=0.5).select(data).scores, 3 / (np.sqrt(13 / 4) + 0.5))


def test_it_is_found_by_name() -> None:
    assert selectors["@name@"] is @Class@


class Test@Class@(SelectorConformance):
    name = "@name@"
    gives = frozenset({"scores"})
    exceptions = EXCEPTIONS.get("@name@", {})

    @staticmethod
    def make() -> @Class@:
        return @Class@()
'''


def plugin_files(name: str) -> dict[str, str]:
    """The text of every file of a plugin with one selector `name`, by path.

    >>> sorted(plugin_files("my-gap"))[:3]
    ['README.md', 'fsframe_my_gap/__init__.py', 'fsframe_my_gap/conformance.py']
    """
    module = name.replace("-", "_")
    package = f"fsframe_{module}"
    words = {
        "@name@": name,
        "@module@": module,
        "@package@": package,
        "@Class@": "".join(part.capitalize() for part in name.split("-")),
    }
    texts = {
        "pyproject.toml": _PYPROJECT,
        "README.md": _README,
        f"{package}/__init__.py": _INIT,
        f"{package}/plugin.py": _PLUGIN,
        f"{package}/{module}.py": _METHOD,
        f"{package}/conformance.py": _CONFORMANCE,
        "tests/conftest.py": _CONFTEST,
        f"tests/test_{module}.py": _TEST,
    }
    for path, text in texts.items():
        for word, meant in words.items():
            text = text.replace(word, meant)
        texts[path] = text
    return texts
