"""Bases of all information-theoretic filters: levels, missing values, units, covariates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import RequestError
from fsframe.method.ranking import TIE, rank_by_score
from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.method.selector import Selector
from fsframe.method.stage_view import drawn_rows, first_missing, undecided_gaps
from fsframe.params import (
    choice,
    either,
    integer,
    listing,
    number_to_keep,
    param,
    real,
    text,
)
from fsframe.table.arrays import SparseColumns
from fsframe.table.dataset import Dataset
from fsframe.text import counted, did_you_mean, some_of
from fsframe_infotheory.engine.discretise import RULES, Bins, Discretiser
from fsframe_infotheory.engine.encode import Encoded, Sums, encode
from fsframe_infotheory.engine.part_counts import EncodedParts, encode_parts
from fsframe_infotheory.engine.sparse_table import EncodedSparse, encode_sparse


def labels_with_strata(data: Dataset, discretiser: Discretiser) -> tuple[Dataset, Dataset]:
    """The table labelled by (stratum, class), class fastest, and by stratum alone.

    A numeric target is binned by `discretiser`.
    """
    assert data.covariates is not None
    strata = data.covariates.strata()
    y, n_classes = discretiser.codes_of_target(data)
    n_strata = int(strata.max()) + 1
    parts = []
    for codes, many in ((strata * n_classes + y, n_strata * n_classes), (strata, n_strata)):
        codes.setflags(write=False)
        classes = tuple(range(many))
        parts.append(
            attrs.evolve(data, y=codes, classes=classes, task="classification", covariates=None)
        )
    return parts[0], parts[1]


def _notes_on_strata(data: Dataset) -> tuple[str, ...]:
    """A warning about covariates that are cut at their quintiles to form strata."""
    if data.covariates is None or not (cut := data.covariates.many_valued()).any():
        return ()
    names = some_of([data.covariates.names[column] for column in np.flatnonzero(cut)], 3)
    return (
        f"adjusted within fifths of {names}, in which features that follow it may still be scored "
        "too high; anova-f and npfs adjust for the numbers themselves",
    )


def with_strata(data: Dataset) -> Dataset:
    """The table with the strata of its covariates as an additional, last nominal column."""
    assert data.covariates is not None
    strata = data.covariates.strata()
    name = "strata of " + ", ".join(data.covariates.names)
    while name in data.feature_names:
        name += "'"
    matrix: Any = data.matrix
    if isinstance(matrix, SparseColumns):
        matrix = matrix.with_column(strata)
    else:
        # Strata have more levels than the two bits of packed genotypes hold.
        matrix = matrix if data.in_memory else data.values
        small = matrix.dtype != np.uint8 or strata.max() < 254
        kind = matrix.dtype if small and matrix.dtype != np.int8 else np.float64
        matrix = np.column_stack([matrix.astype(kind, copy=False), strata.astype(kind)])
        matrix.setflags(write=False)
    return attrs.evolve(
        data,
        matrix=matrix,
        feature_names=(*data.feature_names, name),
        categorical=np.append(data.categorical, True),
        keep=None if data.keep is None else np.append(data.keep, False),
        covariates=None,
    )


def without_last(tables: Mapping[str, NDArray[Any]], p: int) -> dict[str, NDArray[Any]]:
    """The tables of a greedy filter without column p, the last."""
    shortened = dict(tables)
    for name in ("relevance", "bins_as_levels", "bins_missing"):
        shortened[name] = shortened[name][:p]
    shortened["bins_offsets"] = shortened["bins_offsets"][: p + 1]
    shortened["bins_thresholds"] = shortened["bins_thresholds"][: shortened["bins_offsets"][-1]]
    return shortened


DEFAULT_COUNT = 10
"""Number of features kept if neither `top` nor a stopping rule determines it."""


@attrs.frozen(kw_only=True)
class InformationFilter(Selector):
    """Base of filters that count levels; `greedy_filter` has that of the greedy ones."""

    takes_missing: ClassVar[bool] = True
    takes_parts: ClassVar[bool] = True
    takes_weighted_parts: ClassVar[bool] = True
    takes_nominal: ClassVar[bool] = True
    takes_counts: ClassVar[bool] = True
    reads_columns: ClassVar[bool] = True
    uses_upstream_weights: ClassVar[bool] = True
    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression"})
    unitless: ClassVar[bool] = False

    top: int | float | None = number_to_keep("10, or, with a stopping rule, as many as it allows")
    discretise: str = param(
        "auto",
        choice(*RULES),
        help="Discretisation. auto: nominal features, and whole numbers with at most "
        "max_levels distinct values, keep their values as levels; other features are cut "
        "into bins of equal width. equal-width, equal-frequency, mdl, freedman-diaconis, "
        "edges: cut those others by that rule. none: every distinct value is a level.",
    )
    bins: int | str = param(
        "auto",
        either(integer(2, 65536), choice("auto")),
        help="Number of bins of equal width or frequency; auto: a third of the number of "
        "samples, at least 2 and at most 10.",
    )
    edges: tuple[float, ...] = param(
        (),
        listing(real()),
        help="Inner bin edges for discretise=edges, the same for every feature.",
    )
    max_levels: int = param(
        32,
        integer(0),
        help="Features of whole numbers with at most this many distinct values are not binned.",
    )
    missing: str = param(
        "refuse",
        choice("refuse", "level", "pairwise"),
        help="Missing values: an error, a level of their own, or left out of the counts they "
        "enter.",
    )
    unit: str = param("bits", choice("bits", "nats"), help="Unit of the scores.")
    given: tuple[str, ...] = param(
        (),
        listing(text("a feature's name")),
        help="Features to treat as already selected; they come first and do not count towards top. "
        "One that an earlier stage dropped is not used, with a warning.",
    )
    exclude: tuple[str, ...] = param(
        (), listing(text("a feature's name")), help="Features that are never selected."
    )

    def check_parameters(self) -> Iterator[str]:
        if self.unitless and self.unit != "bits":
            yield f"the scores of {self.method_name()} have no unit; leave unit={self.unit} out"
        if self.discretise == "edges" and not self.edges:
            yield "discretise=edges needs edges, such as edges=[0.5,1.5]"
        if self.edges and self.discretise != "edges":
            yield f"edges are used with discretise=edges only, not {self.discretise}"
        if list(self.edges) != sorted(set(self.edges)):
            yield "edges must ascend"
        both = sorted(set(self.given) & set(self.exclude))
        if both:
            yield f"{', '.join(both)} cannot be both given and excluded"

    def check_request(self, data: Dataset) -> Iterator[str]:
        """Names that the table does not have, and columns both excluded and always kept."""
        for name in (*self.given, *self.exclude):
            if name not in data.feature_names:
                hint = did_you_mean(name, data.feature_names)
                yield f"there is no feature {name!r} among the {data.n_features}{hint}"
        if data.keep is not None:
            kept = {data.feature_names[place] for place in np.flatnonzero(data.keep)}
            for name in sorted(kept & set(self.exclude)):
                yield f"{name!r} cannot be both excluded and always kept"

    def select(
        self,
        data: Dataset,
        upstream: Selection | None = None,
        run: Run | None = None,
        seed: int | None = None,
    ) -> Selection:
        """As `Selector.select`; a call outside a chain refuses unknown names."""
        alone = upstream is None and run is None
        problems = list(self.check_request(data)) if alone else []
        if problems:
            raise RequestError(f"{self.method_name()}: " + "; ".join(problems))
        return super().select(data, upstream, run, seed)

    def top_only_cuts(self) -> bool:
        # Columns that are given are kept in addition to `top`.
        return not self.given

    def works_in_parts(self, data: Dataset) -> bool:
        return super().works_in_parts(data) and not self.leaves_out(data)

    def discretiser(self) -> Discretiser:
        """The rule that the parameters specify."""
        return Discretiser(
            rule=self.discretise, bins=self.bins, edges=self.edges, max_levels=self.max_levels
        )

    def leaves_out(self, data: Dataset) -> bool:
        """Whether samples are left out of counts; otherwise these are whole, and much faster."""
        return self.missing == "pairwise" and first_missing(data) is not None

    def encode(
        self, data: Dataset, upstream: Selection | None, run: Run, keep: str = "codes"
    ) -> tuple[Encoded | EncodedParts, Bins]:
        """The table as codes by this filter's parameters."""
        weights = None if upstream is None else upstream.instance_weights
        if data.in_parts and weights is None:
            return encode_parts(data, self.discretiser(), run)
        return encode(
            data.loaded(), self.discretiser(), counts=data.counts, weights=weights,
            pairwise=self.leaves_out(data), keep=keep, run=run,
        )  # fmt: skip

    def encode_for_pairs(
        self, data: Dataset, upstream: Selection | None, run: Run, keep: str = "codes"
    ) -> tuple[Encoded | EncodedParts | EncodedSparse, Bins]:
        """As `encode`, for counts of a feature with the class or with one other feature only.

        A sparse table is not converted to a dense one.
        """
        weighted = upstream is not None and upstream.instance_weights is not None
        if isinstance(data.matrix, SparseColumns) and data.counts is None and not weighted:
            encoded = None
            if not self.leaves_out(data):
                encoded = encode_sparse(data, self.discretiser(), run, pairs=keep != "sums")
            if encoded is not None:
                return encoded
        return self.encode(data, upstream, run, keep)

    def counts_are_whole(self, data: Dataset, upstream: Selection | None) -> bool:
        """Whether a bootstrap of the table is counted in whole numbers, with the classes given."""
        weighted = upstream is not None and upstream.instance_weights is not None
        return not weighted and data.task == "classification" and self.missing != "pairwise"

    def one_by_one(
        self,
        data: Dataset,
        counts: NDArray[np.integer[Any]],
        upstream: Selection | None,
        run: Run,
    ) -> list[Selection]:
        """A Selection per bootstrap, each from the rows it draws alone."""
        selections = []
        for b, drawn in enumerate(counts):
            _, part, local = drawn_rows(data, drawn, upstream)
            selections.append(self._select(part, local, run.child(b)))
        return selections

    def missing_problems(self, data: Dataset) -> Iterator[str]:
        if self.missing == "refuse":
            name = self.method_name()
            ways = (
                f"`{name}:missing=pairwise` (left out of each count) or `{name}:missing=level` (a "
                'level of their own), for a class missing="pairwise" or missing="level"'
            )
            yield from undecided_gaps(name, data, ways)

    def columns_named(self, names: tuple[str, ...], data: Dataset) -> NDArray[np.intp]:
        """Columns of the features in `names`, in that order, without dropped features."""
        if not names:
            return np.empty(0, dtype=np.intp)
        place = {name: column for column, name in enumerate(data.feature_names)}
        found = dict.fromkeys(place[name] for name in names if name in place)
        return np.array(list(found), dtype=np.intp)

    def columns_given(self, data: Dataset) -> NDArray[np.intp]:
        """Columns that come first: those `given`, then those that the table always keeps."""
        named = self.columns_named(self.given, data)
        if data.keep is None:
            return named
        kept = np.flatnonzero(data.keep)
        return np.concatenate([named, kept[~np.isin(kept, named)]])

    def notes_on_given(self, data: Dataset) -> tuple[str, ...]:
        """A warning about `given` features that an earlier stage dropped."""
        dropped = [name for name in self.given if name not in data.feature_names]
        if not dropped:
            return ()
        return (
            f"{', '.join(dropped)} (given) not used, since an earlier stage dropped "
            f"{'it' if len(dropped) == 1 else 'them'}; --keep keeps columns in every stage",
        )

    def in_unit(self, bits: NDArray[np.float64]) -> NDArray[np.float64]:
        """Bits converted to the requested unit."""
        return bits if self.unit == "bits" else bits * np.log(2)

    def notes(self, data: Dataset, bins: Bins, encoded: Sums) -> tuple[str, ...]:
        """Warnings about how levels were formed."""
        notes = [*_notes_on_strata(data), *self.notes_on_given(data)]
        binned = bins.binned_by_default
        if binned:
            names = [data.feature_names[j] for j in binned[:3]]
            which = f"{len(binned)} of {data.n_features} columns"
            some = f" ({', '.join(names)}{', …' if len(binned) > 3 else ''})"
            if 3 < len(binned) == data.n_features:
                which, some = f"all {len(binned)} columns", ""
            notes.append(
                f"{which} were cut into bins of equal width by default{some}; discretise=… and "
                "bins=… choose otherwise"
            )
        holed = int(bins.missing.sum())
        if holed:
            how = "a level of their own" if self.missing == "level" else "left out of each count"
            notes.append(f"missing values in {counted(holed, 'column')} were {how}")
        if data.task == "regression":
            notes.append("the numeric target was cut into bins by the rule of the features")
        if int((encoded.class_sizes > 0).sum()) < 2:
            notes.append("only one class is present, so no feature has information about it")
        return tuple(notes)


@attrs.frozen(kw_only=True)
class ScoredFilter(InformationFilter):
    """Features ranked by a univariate score; `given` come first, `exclude` are left out."""

    univariate: ClassVar[bool] = True

    def ranking(
        self,
        scores: NDArray[np.float64],
        data: Dataset,
        tables: dict[str, NDArray[Any]],
        notes: tuple[str, ...],
    ) -> Selection:
        """The Selection of the best scores: `top` of them, or 10."""
        first = self.columns_given(data)
        scores = scores.copy()
        scores[self.columns_named(self.exclude, data)] = np.nan
        candidates = scores.copy()
        candidates[first] = np.nan
        count = self.keep_count(data.n_features, DEFAULT_COUNT)
        kept = rank_by_score(candidates, count, least=TIE)
        return Selection(
            selected=np.concatenate([first, kept]), scores=scores, tables=tables, warnings=notes
        )
