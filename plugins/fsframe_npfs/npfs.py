"""The NPFS selector: features, or pairs, that a base picks more often over resamples than by chance."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.dataset import Dataset
from fsframe.errors import RequestError
from fsframe.params import choice, flag, integer, optional, param, real
from fsframe.run import Run
from fsframe.selection import PairWeights, Selection
from fsframe.selector import Base, WrappingSelector
from fsframe_npfs.corrections import CORRECTIONS
from fsframe_npfs.counting import DRAWS, LABELS, Bootstraps, class_codes, permuted
from fsframe_npfs.intervals import hoeffding
from fsframe_npfs.marks import FeatureMarks, FragileColumns, Marker, PairMarks, equal_columns
from fsframe_npfs.promises import NULLS
from fsframe_npfs.resamples import shard_counts
from fsframe_npfs.settling import looks, settled
from fsframe_npfs.tails import least_bootstraps, permutation_tail, selection_tail
from fsframe_npfs.verdicts import Verdict, by_own_null, by_tail

__all__ = ["Npfs"]

_DEFAULT_PERMUTATIONS = 10


@attrs.frozen(kw_only=True)
class Npfs(WrappingSelector):
    """Which features a selector picks more often over bootstraps than chance allows.

    Parameters
    ----------
    n : int ≥ 1
        Bootstraps, or shards.
    alpha : float in (0, 1)
        Level of the test, after `correction`.
    null : {"permutation", "published", "matlab", "shards"}
        What a count is compared with; `fsframe_npfs.promises.PROMISES` says what each promises.
    permutations : int ≥ 1, optional
        Label permutations; by default 10, or as many as `alpha` needs to be reachable.
    pooled : bool
        Compare with the permuted counts of all features, or with the feature's own.
    correction : {"none", "bonferroni", "bh"}
        For the number of features (pairs) tested.
    fraction : float in (0, 1], optional
        m/N, rows per bootstrap.
    stratify : bool
        Draw within the classes.
    bias : float in [0, 1)
        β, added to p0 = k/K.
    settle : float in (0, 0.5), optional
        Stop before n bootstraps once every decision is settled up to this chance of error.
    of : {"features", "pairs"}
        What is tested.
    pairs : int ≥ 1, optional
        How many pairs each bootstrap marks.

    Notes
    -----
    z_i = #{l : the base marks i in bootstrap l}, relevant where z_i > ζ. The published ζ is the
    smallest c with P(Bin(n, k/K + β) ≤ c) ≥ 1 − α; where the base keeps a varying k_l it is the
    Poisson-binomial law of k_l/K + β. The permutation null takes ζ from the counts that the same
    base gives under permuted labels, pooled over features: p_i = (1 + #{z* ≥ z_i}) / (1 + P·K).
    Cost: n fits of the base, (P + 1)·n with P permutations.

    Departures: bootstraps are stratified by class by default and repeated where a class has fewer
    than two different rows; columns that are constant, in the table or in the bootstrap, are
    never marked; a count of zero is never relevant (it would be with ζ = 0 and "≥").

    References
    ----------
    Ditzler, lecture notes of 2014, slides 24–25; Ditzler, Polikar, Rosen 2015, A bootstrap based
    Neyman-Pearson test for identifying variable importance, IEEE Trans. Neural Netw. Learn. Syst.
    26(4):880, algorithm 1.
    """

    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression"})
    takes_missing: ClassVar[bool] = True
    takes_counts: ClassVar[bool] = True

    n: int = param(
        100, integer(1), help="Number of bootstraps (or of shards).", symbol="n", source="slide 24"
    )
    alpha: float = param(
        0.01,
        real(above=0, below=1),
        help="Level of the test: the share of features named when the label means nothing.",
        symbol="α",
        source="eq. 1",
    )
    null: str = param(
        "permutation",
        choice(*NULLS),
        help="What counts are compared with: permutation (permuted labels; holds its level), shards "
        "(disjoint parts of a large table; holds its level), published (binomial; does not hold "
        "its level on one table), matlab (0.75 N rows, z ≥ ζ; does not either).",
        source="slides 24–25",
    )
    permutations: int | None = param(
        None,
        optional(integer(1)),
        help="Label permutations for null=permutation; by default 10, or as many as alpha needs.",
    )
    pooled: bool = param(
        True,
        flag(),
        help="Compare with the permuted counts of all features together; false: of that feature "
        "alone, which needs 1/alpha - 1 permutations.",
    )
    correction: str = param(
        "none",
        choice(*CORRECTIONS),
        help="Correction for the number of tests: none (published), bonferroni, or bh "
        "(Benjamini-Hochberg).",
    )
    fraction: float | None = param(
        None,
        optional(real(above=0, most=1)),
        help="Rows drawn per bootstrap, as a share of all; by default 1, and 0.75 for null=matlab.",
        symbol="m/N",
    )
    stratify: bool = param(
        True, flag(), help="Draw within the classes, so that each keeps its size (published: no)."
    )
    bias: float = param(
        0.0,
        real(0, below=1),
        help="Added to p0 = k/K; a larger value makes the test stricter.",
        symbol="β",
    )
    settle: float | None = param(
        None,
        optional(real(above=0, below=0.5)),
        help="Stop before n bootstraps once every decision is settled with at most this chance of "
        "error each; by default all n are drawn.",
    )
    of: str = param(
        "features",
        choice("features", "pairs"),
        help="What is tested: features, or the pairs of a base that weighs pairs.",
    )
    pairs: int | None = param(
        None,
        optional(integer(1)),
        help="With of=pairs: how many pairs a bootstrap marks; by default as many as there are "
        "features.",
    )

    def check_parameters(self) -> Iterator[str]:
        """Parameters that the chosen null or `of` would ignore are refused."""
        permuting = self.null == "permutation"
        for name, given in (
            ("permutations", self.permutations is not None),
            ("pooled", not self.pooled),
        ):
            if given and not permuting:
                yield f"{name} is for null=permutation, not null={self.null}"
        if permuting and self.bias:
            yield "bias is added to p0 = k/K, which null=permutation does not use"
        if self.null == "shards":
            for name, given in (
                ("fraction", self.fraction is not None),
                ("stratify", not self.stratify),
                ("settle", self.settle is not None),
            ):
                if given:
                    yield (
                        f"{name} is for bootstraps; shards are disjoint parts of the whole table, "
                        "cut within the classes"
                    )
        if self.pairs is not None and self.of != "pairs":
            yield "pairs is for of=pairs"

    def _select_wrapped(
        self, base: Base, data: Dataset, upstream: Selection | None, run: Run
    ) -> Selection:
        columns = FragileColumns.find(data)
        marker = self._marker(columns, data.n_features)
        if marker.cells < 2:
            raise RequestError(
                f"npfs: {marker.cells} {self.of} to test in {data.name!r} (columns that are "
                "constant apart); there must be two at least"
            )
        n_permutations = self._permutation_number(marker.cells)
        trial = _Trial(
            test=self,
            base=base,
            data=data,
            # What the wrapped chain found on the whole table must not reach its bootstraps.
            start=upstream if self.base is not None else None,
            marker=marker,
            run=run,
            n_permutations=n_permutations,
        )
        trial.carry_out()
        warnings = [*self._caveats(marker.cells, upstream), *trial.warnings(columns, data)]
        if self.of == "pairs":
            return _pair_selection(self, trial, upstream, warnings)
        return _feature_selection(self, trial, upstream, warnings)

    def _marker(self, columns: FragileColumns, n_features: int) -> Marker:
        if self.of == "features":
            return FeatureMarks(columns)
        return PairMarks(columns, n_features if self.pairs is None else self.pairs)

    def _permutation_number(self, cells: int) -> int:
        """How many label permutations to make; zero where the null needs none."""
        if self.null != "permutation":
            return 0
        level = self.alpha if self.correction == "none" else self.alpha / cells
        pool = cells if self.pooled else 1
        needed = max(1, math.ceil((1.0 / level - 1.0) / pool - 1e-9))
        if self.permutations is None:
            return max(_DEFAULT_PERMUTATIONS, needed)
        if self.permutations < needed:
            raise RequestError(
                f"npfs: with {self.permutations} permutations of {cells} {self.of} no p-value can "
                f"be as small as {level:.3g} (alpha={self.alpha:g}, correction={self.correction}); "
                f"ask for permutations={needed} or more, or leave them out"
            )
        return self.permutations

    def _caveats(self, cells: int, upstream: Selection | None) -> Iterator[str]:
        if self.null in ("published", "matlab"):
            yield (
                f"null={self.null} does not hold its level on one table: bootstraps share its "
                "noise, so features without any relation to the label are named too; "
                "null=permutation holds it"
            )
        elif self.correction == "none" and self.alpha * cells >= 1:
            yield (
                f"alpha={self.alpha:g} of {cells} {self.of}: up to {self.alpha * cells:.3g} are "
                "expected to be named by chance alone; correction=bh bounds their share"
            )
        if self.base is not None and upstream is not None:
            yield (
                "the stages on the left have seen all labels, and this test does not know it: its "
                "p-values are too small; leave `base` out to resample them as well"
            )


@attrs.define(eq=False)
class _Trial:
    """One carrying-out of the test: bootstraps of the true label and of permuted ones."""

    test: Npfs
    base: Base
    data: Dataset
    start: Selection | None
    marker: Marker
    run: Run
    n_permutations: int
    done: int = 0
    observed: Bootstraps = attrs.field(init=False)
    nulls: list[Bootstraps] = attrs.field(init=False)
    codes: NDArray[np.int64] = attrs.field(init=False)
    z: NDArray[np.int64] = attrs.field(init=False)
    verdict: Verdict = attrs.field(init=False)
    all_settled: bool = False

    @property
    def drawn(self) -> int:
        """Resamples behind each count."""
        return len(self.observed.marks)

    def carry_out(self) -> None:
        """Draw and decide, at one look or at several."""
        test = self.test
        self.observed = self._bootstraps(self.data, 0)
        self.nulls = [
            self._bootstraps(permuted(self.data, self.run.generator(LABELS, j)), j)
            for j in range(1, self.n_permutations + 1)
        ]
        if test.null == "shards":
            counts = shard_counts(
                self.data.n_samples,
                test.n,
                self.run.generator(DRAWS),
                y=class_codes(self.data),
                times=self.data.counts,
            )
            self.observed.take(counts)
            self._decide()
            return
        plan = [test.n] if test.settle is None else looks(test.n)
        for n in plan:
            self.observed.extend(n)
            self._check_choice()
            for null in self.nulls:
                null.extend(n)
            self._decide()
            if test.settle is not None and n < test.n:
                sure = settled(self.z, n, self.verdict.critical, test.settle, len(plan))
                if sure.all():
                    self.all_settled = True
                    return

    def _bootstraps(self, data: Dataset, labelling: int) -> Bootstraps:
        fraction = self.test.fraction
        if fraction is None:
            fraction = 0.75 if self.test.null == "matlab" else 1.0
        return Bootstraps(
            base=self.base,
            data=data,
            upstream=self.start,
            marker=self.marker,
            run=self.run,
            labelling=labelling,
            fraction=fraction,
            stratify=self.test.stratify,
            report=self._report,
        )

    def _report(self, finished: int) -> None:
        self.done += finished
        self.run.progress(self.done, self.test.n * (self.n_permutations + 1), "bootstraps")

    def _check_choice(self) -> None:
        """Stop early where every resample marks everything: nothing can be told apart."""
        if (self.observed.kept >= self.marker.cells).all():
            raise RequestError(
                f"npfs: the base keeps all {self.marker.cells} usable {self.test.of} in every "
                "bootstrap, so nothing can be picked more often than anything else; tell it to "
                "keep fewer (`top`)"
            )

    def _decide(self) -> None:
        test = self.test
        if test.of == "pairs":
            self.codes, self.z = self.observed.tally()
        else:
            assert isinstance(self.marker, FeatureMarks)
            self.codes = np.flatnonzero(self.marker.columns.usable).astype(np.int64)
            self.z = self.observed.counts_of(self.codes)
        rule = {"alpha": test.alpha, "correction": test.correction, "tests": self.marker.cells}
        if test.null == "permutation" and not test.pooled:
            own = np.stack([null.counts_of(self.codes) for null in self.nulls])
            self.verdict = by_own_null(self.z, own, self.drawn, **rule)
            return
        tail = self._pooled_tail() if test.null == "permutation" else self._published_tail()
        self.verdict = by_tail(self.z, tail, at_least=test.null == "matlab", **rule)

    def _pooled_tail(self) -> NDArray[np.float64]:
        counts = np.concatenate([null.tally()[1] for null in self.nulls])
        return permutation_tail(counts, self.drawn, len(self.nulls) * self.marker.cells)

    def _published_tail(self) -> NDArray[np.float64]:
        self._check_choice()
        test, cells = self.test, self.marker.cells
        kept = self.observed.kept
        try:
            tail = selection_tail(kept, cells, test.bias)
        except ValueError as error:
            raise RequestError(f"npfs: {error}; lower bias={test.bias:g}") from None
        level = test.alpha if test.correction == "none" else test.alpha / cells
        if test.correction == "bh":
            # Benjamini and Hochberg's first step is easier where several features share it.
            level *= max(1, int(kept.max()))
        # z = n must be able to pass; "≥" needs no more than being marked at all.
        last = self.drawn if test.null != "matlab" else self.drawn + 1
        if self.drawn == test.n and tail[last] > level * (1 + 1e-12):
            p0 = float(np.mean(kept) / cells + test.bias)
            needed = least_bootstraps(p0, level)
            way = f"ask for n={needed} or more, or" if needed else "no number is enough:"
            raise RequestError(
                f"npfs: with n={test.n} even a count of {test.n} has probability "
                f"{tail[last]:.3g} by chance (the base keeps {np.mean(kept):.4g} of {cells} "
                f"{test.of}), above {level:.3g}; {way} let the base keep fewer (`top`)"
            )
        return tail

    def warnings(self, columns: FragileColumns, data: Dataset) -> Iterator[str]:
        """What makes the result weak."""
        test, verdict = self.test, self.verdict
        constant = np.flatnonzero(~columns.usable)
        if constant.size:
            yield f"constant columns are not tested: {_names(data, constant)}"
        for note, times in self.observed.notes.items():
            yield f"in {times} of {self.drawn} resamples: {note}"
        if test.settle is not None and not self.all_settled:
            yield f"not every decision was settled after n={test.n} bootstraps"
        if not verdict.relevant.any():
            yield f"no {test.of[:-1]} is relevant at alpha={test.alpha:g}"
        if test.null == "permutation" and (verdict.critical >= self.drawn).any():
            yield from self._unreachable(data)
        if test.of == "features" and verdict.relevant.any():
            yield from self._copies(data)

    def _unreachable(self, data: Dataset) -> Iterator[str]:
        """The base prefers some columns whatever the label: the pooled threshold is out of reach."""
        if not self.test.pooled or self.test.of == "pairs":
            yield (
                f"some {self.test.of} are marked in all {self.drawn} bootstraps under permuted "
                "labels too: no count of theirs can be relevant"
            )
            return
        null_rate = sum(null.counts_of(self.codes) for null in self.nulls) / (
            self.drawn * len(self.nulls)
        )
        preferred = self.codes[null_rate > 0.8]
        names = f" ({_names(data, preferred)})" if preferred.size else ""
        yield (
            f"under permuted labels some features are picked in all {self.drawn} bootstraps{names}, "
            "so no count can be relevant: the base prefers them whatever the label; pooled=false "
            "compares each feature with itself"
        )

    def _copies(self, data: Dataset) -> Iterator[str]:
        relevant = set(self.codes[self.verdict.relevant].tolist())
        for group in equal_columns(data, self.codes[self.verdict.relevant]):
            left_out = [column for column in group if column not in relevant]
            if left_out:
                found = [column for column in group if column in relevant]
                yield (
                    f"{_names(data, left_out)}: not relevant by the test, but an exact copy of "
                    f"{_names(data, found)}, which is; the base picks one of them"
                )


def _names(data: Dataset, columns: NDArray[np.int64] | list[int], most: int = 5) -> str:
    names = [data.feature_names[int(column)] for column in columns[:most]]
    more = len(columns) - len(names)
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")


def _tables(test: Npfs, trial: _Trial) -> dict[str, NDArray]:
    verdict, n = trial.verdict, trial.drawn
    lower, upper = hoeffding(trial.z, n, test.alpha)
    tables: dict[str, NDArray] = {
        "bootstrap-matrix": trial.observed.matrix(trial.codes),
        "z": trial.z,
        "p-values": verdict.p,
        "adjusted-p-values": verdict.adjusted,
        "critical-value": verdict.critical,
        "relevant": verdict.relevant,
        "lower": lower,
        "upper": upper,
        "kept": trial.observed.kept,
        "p0": trial.observed.kept / trial.marker.cells + test.bias,
        "level": np.array([verdict.level]),
    }
    if trial.nulls:
        tables["null-z"] = np.stack([null.counts_of(trial.codes) for null in trial.nulls])
    return tables


def _feature_selection(
    test: Npfs, trial: _Trial, upstream: Selection | None, warnings: list[str]
) -> Selection:
    n_features = trial.data.n_features
    scores = np.full(n_features, np.nan)
    scores[trial.codes] = trial.z / trial.drawn
    # Equal counts: the better score in the whole table goes first, then the lower column.
    whole = (
        np.zeros(n_features) if upstream is None else np.nan_to_num(upstream.scores, nan=-np.inf)
    )
    order = np.lexsort((trial.codes, -whole[trial.codes], -trial.z))
    relevant = order[trial.verdict.relevant[order]]
    if test.top is None:
        kept = relevant
    else:
        kept = order[: test.keep_count(trial.codes.size, relevant.size)]
        if kept.size > relevant.size:
            warnings.append(
                f"top={test.top} keeps {kept.size} features, of which only {relevant.size} are relevant"
            )
    return Selection(
        selected=trial.codes[kept],
        scores=scores,
        tables={"columns": trial.codes, **_tables(test, trial)},
        warnings=tuple(warnings),
    )


def _pair_selection(
    test: Npfs, trial: _Trial, upstream: Selection | None, warnings: list[str]
) -> Selection:
    n_features = trial.data.n_features
    a, b = np.divmod(trial.codes, n_features)
    rate = trial.z / trial.drawn
    scores = np.where(trial.marker.columns.usable, 0.0, np.nan)  # type: ignore[attr-defined]
    np.maximum.at(scores, a, rate)
    np.maximum.at(scores, b, rate)
    order = np.lexsort((trial.codes, -trial.z))
    relevant = order[trial.verdict.relevant[order]]
    kept = list(dict.fromkeys(np.column_stack((a, b))[relevant].ravel().tolist()))
    if test.top is not None:
        ranked = dict.fromkeys(np.column_stack((a, b))[order].ravel().tolist())
        wanted = list(ranked)[: test.keep_count(n_features, len(kept))]
        if not set(wanted) <= set(kept):
            warnings.append(f"top={test.top} keeps features that are in no relevant pair")
        kept = wanted
    columns = np.unique(np.concatenate((a[relevant], b[relevant])))
    return Selection(
        selected=kept,
        scores=scores,
        pair_weights=PairWeights.from_triplets(
            columns,
            np.searchsorted(columns, a[relevant]),
            np.searchsorted(columns, b[relevant]),
            rate[relevant],
        ),
        tables={"pairs": np.column_stack((a, b)), **_tables(test, trial)},
        warnings=tuple(warnings),
    )
