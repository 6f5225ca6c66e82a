"""Cross-validation as a wrapping stage, with runs, checkpoints and files like any other stage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

import attrs
import numpy as np

from fsframe.chains.chain import Chain
from fsframe.chains.repeated_rows import repeated_rows
from fsframe.chains.stage import most_tables_held
from fsframe.errors import DataError, FsframeError, RequestError, refuse
from fsframe.evaluation.folds import FoldTask, Split, gather_folds, inner_places, splits_of, strata
from fsframe.evaluation.grid import ChainGrid, default_classifier
from fsframe.evaluation.measuring import default_measures, find_measures, least_scores
from fsframe.method.classifier import Classifier
from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.method.selector import Selector
from fsframe.params import choice, either, flag, integer, listing, optional, param, text
from fsframe.resampling.resamples import Base, WrappingSelector, select_resamples, too_many
from fsframe.table.dataset import Dataset


@attrs.frozen(kw_only=True)
class CrossValidation(WrappingSelector):
    """Performance of a chain on held-out rows, and how often it keeps each feature.

    Parameters
    ----------
    base : str
        The chain, with its classifier; parameters given as sets (``sigma={4,2,1}``) are tuned
        inside the training rows of each fold.
    scheme : {"folds", "five-by-two", "leave-one-out"}
    folds, repeats : int
        Numbers of folds and repetitions of stratified cross-validation.
    stratify : bool
        Whether each fold has the class proportions of the table.
    classifier : str
        Classifier for a chain that does not end with one; by default weighted-knn, which uses the
        upstream weights.
    inner_folds : int
        Number of inner folds, for tuning.
    curve : tuple of int or "auto", optional
        Numbers of features with which the classifier is also evaluated.
    all_features : bool
        Whether the classifier is also fitted on all columns, without weights: one more fit in every
        fold. ``evaluate`` sets it.
    metric : tuple of str
        Measures, such as ``auc`` or ``sensitivity:positive=ill``; none means all bundled ones that
        are defined for the table and the classifier's scores.

    Notes
    -----
    Each fold is one resample of the whole table: scaling, discretisation, imputation, tuning and
    selection see its training rows only. Kept are the features that more than half of the folds
    keep; the score of a feature is the share of folds that keep it.

    Tables: ``fold`` (repeats, n_samples), ``predicted`` (repeats, n_samples) class codes,
    ``class-scores`` (repeats, n_samples, n_classes), ``kept`` (n_splits, n_features), ``chosen``
    (n_splits,), ``tuning`` (n_splits, n_chains); with a curve ``sizes``, ``curve`` (n_sizes,
    repeats, n_samples) and ``place`` (n_splits, n_features), the rank of each feature from 0; with
    all_features ``all-features`` (repeats, n_samples), class codes, and ``all-features-scores``
    (repeats, n_samples, n_classes). ``measures`` names what was measured; ``measured`` (3, m,
    n_splits) are its values in every fold for the chain, the rule without features and the
    classifier on all columns, ``measured-repeats`` (3, m, repeats) those over all predictions of a
    repetition, ``measure-facts`` (m, 4) range, direction and whether every class is needed. If rows
    are grouped: ``group-sizes`` (g,), ``group-right`` and ``group-vote`` (repeats, g).

    For a numeric target the chain ends with a regressor, folds are not stratified, ``truth``,
    ``predicted``, ``curve`` and ``all-features`` hold numbers (NaN in place of −1), there are no
    tables of scores, tuning uses R², and the baseline without features predicts the mean of the
    training rows.

    If the table has groups of rows, they are never separated, not even in inner folds or by stages
    that resample, and leave-one-out leaves out a group.

    A fold in which the chain keeps no feature predicts the most frequent class (the mean), with a
    warning. A row that an outer resample has drawn several times counts that often in training, and
    is tested once.

    Cost: repeats × folds fits of the chain, times inner folds × combinations if it is tuned.

    References
    ----------
    Ambroise, McLachlan 2002, Selection bias in gene extraction on the basis of microarray
    gene-expression data, PNAS 99(10); Varma, Simon 2006, Bias in error estimation when using
    cross-validation for model selection, BMC Bioinformatics 7:91.
    """

    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression", "survival"})
    takes_missing: ClassVar[bool] = True
    takes_kept: ClassVar[bool] = True
    takes_groups: ClassVar[bool] = True
    takes_time: ClassVar[bool] = True
    reads_own_base: ClassVar[bool] = True

    scheme: str = param(
        "folds",
        choice("folds", "five-by-two", "leave-one-out"),
        help="Repeated stratified folds, 5×2 folds, or leave-one-out.",
    )
    folds: int = param(10, integer(2), help="Number of folds, for scheme=folds.")
    repeats: int = param(10, integer(1), help="Number of repetitions, for scheme=folds.")
    stratify: bool = param(
        True, flag(), help="Stratify by class, so that every fold has the same class proportions."
    )
    classifier: str = param(
        "",
        text("a classifier"),
        help=f"Classifier for a chain without one; empty means {default_classifier()}.",
    )
    inner_folds: int = param(
        5, integer(2), help="Number of folds inside the training rows, for tuning."
    )
    curve: tuple[int, ...] | str | None = param(
        None,
        optional(either(listing(integer(1), least=1), choice("auto"))),
        help="Also evaluate the classifier with these numbers of features; auto: 1, 2, 4, …",
    )
    all_features: bool = param(
        False, flag(), help="Also fit the classifier on all features in every fold, for comparison."
    )
    metric: tuple[str, ...] = param(
        (),
        listing(text("the name of a measure")),
        help="Performance measures; none: all bundled ones that apply.",
    )

    def tables_held(self, n_features: int) -> float:
        """The maximum over the chains in a fold and their classifiers on all features."""
        most = 0.0
        for chain in self.chains_of_base():
            methods = [stage.method for stage in chain.stages]
            most = max(most, most_tables_held(methods, n_features))
            if self.all_features:
                most = max(most, methods[-1].tables_held(n_features))
        return most

    def rows_copied(self) -> float:
        """One copy for the rows of a fold, and one for inner training rows if sets are tuned."""
        return 2.0 if len(self.chains_of_base()) > 1 else 1.0

    def base_fits(self, p: int, base: Base | None = None) -> int | None:
        """One for each fold; None if the number of folds depends on the rows."""
        return {"folds": self.folds * self.repeats, "five-by-two": 10}.get(self.scheme)

    def check_parameters(self) -> Iterator[str]:
        if self.scheme == "folds":
            splits = self.folds * self.repeats
            yield from too_many(splits, f"folds={self.folds} with repeats={self.repeats}")
        if self.top is not None:
            yield "top is for the chain under study (base), which decides what is kept"
        if self.scheme != "folds" and (self.folds, self.repeats) != (10, 10):
            yield f"folds and repeats are for scheme=folds, not {self.scheme}"
        if self.scheme != "folds" and not self.stratify:
            yield f"stratify is for scheme=folds, not {self.scheme}"
        try:
            find_measures(self.metric)
        except FsframeError as error:
            yield str(error)
        if self.base is None:
            return
        ended, problem = False, ""
        try:
            ended = ChainGrid.parse(self.base).chains[0].classifier is not None
        except FsframeError as error:
            problem = str(error)
        if ended and self.classifier:
            yield f"the chain `{self.base}` ends with a classifier; {self.classifier} is not used"
        else:
            yield from _classifier_problems(self.classifier)
        # Together with those of the classifier: everything is reported at once.
        yield from filter(None, [problem])

    def chains_of_base(self) -> tuple[Chain, ...]:
        """The chains that each fold chooses from."""
        return () if self.base is None else grid_of(self).chains

    def role_problems(self, data: Dataset) -> Iterator[str]:
        """Problems of the stages of any evaluated chain with the roles of columns and rows."""
        yield from super().role_problems(data)
        if data.times is not None:
            time = data.times.names[0]
            if self.scheme != "folds" or self.repeats != 1 or not self.stratify:
                yield (
                    f"rows are in the order of {time!r}, and each block of time is predicted "
                    "once, from the rows before it: use scheme=folds with repeats=1 (--repeats "
                    "1), and leave unstratified out"
                )
            if len(self.chains_of_base()) > 1:
                yield (
                    f"rows are in the order of {time!r}, which inner folds for tuning do not "
                    "respect; give each parameter one value"
                )

    def check_request(self, data: Dataset) -> Iterator[str]:
        """Problems of the stages of any evaluated chain with the table, each once."""
        yield from super().check_request(data)
        yield from self._classifier_problems_of(data)
        yield from self._measure_problems(data)

    def _classifier_problems_of(self, data: Dataset) -> Iterator[str]:
        """Problems of classifiers and regressors that do not take this kind of label."""
        classifiers = _classifiers_of(self.chains_of_base())
        yield from dict.fromkeys(p for each in classifiers for p in each.task_problems(data))

    def _measure_problems(self, data: Dataset) -> Iterator[str]:
        """Problems of measures that are undefined for this table or these classifiers."""
        if self.base is None:
            return
        scores = least_scores(_classifiers_of(self.chains_of_base()))
        for name, measure in find_measures(self.metric):
            for problem in measure.refusals(data.task, data.classes, scores):
                yield f"metric={name}: {problem}"

    def check(self, data: Dataset, run: Run) -> list[Split]:
        """Check everything that can be checked beforehand, and return the splits of `data`.

        Parameters
        ----------
        data : Dataset
        run : Run
            The run of this stage.

        Raises
        ------
        DataError
            If the table cannot be split as requested, parameters cannot be tuned in some fold, or a
            stage of the chain does not accept the table.
        RequestError
            If there is no chain.
        """
        self.check_data(data)
        refuse(DataError, self._classifier_problems_of(data))
        refuse(RequestError, self._measure_problems(data))
        grid = self._task(data).grid()
        # Chains of a grid have the same methods in the same places.
        for method, seen in grid.chains[0].tables_seen(data):
            if isinstance(method, Selector):
                method.check_data(seen)
            elif len(grid.chains[0].stages) == 1:
                refuse(DataError, method.missing_problems(data))
        try:
            splits = splits_of(
                data, self.scheme, self.folds, self.repeats, run.child(0), stratify=self.stratify
            )
        except DataError as error:
            raise DataError(f"{self.method_name()}: {error}") from None
        if len(grid) > 1:
            for number, split in enumerate(splits):
                inner = None if data.groups is None else data.groups[split.train]
                stream = run.child(1).child(number, 0)
                inner_places(strata(data)[split.train], inner, self.inner_folds, stream)
        return splits

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        splits = self.check(data, run)
        task = self._task(data)
        counts = np.tile(data.row_counts, (len(splits), 1))
        for row, split in zip(counts, splits, strict=True):
            row[split.test] = 0
            if data.times is not None:
                # Later rows are not known yet when the block is predicted.
                row[np.delete(np.arange(data.n_samples), split.train)] = 0
        selections = select_resamples(
            task,
            data.with_counts(None),
            counts,
            run.child(1),
            upstream=upstream,
            label="folds",
            parts=("scores", "tables"),
        )
        named = find_measures(self.metric)
        if not named:
            scores = least_scores(_classifiers_of(task.grid().chains))
            named = default_measures(data.task, data.classes, scores)
        return gather_folds(data, splits, list(selections), task, named, tuple(repeated_rows(data)))

    def _select_wrapped(
        self, base: Base, data: Dataset, upstream: Selection | None, run: Run
    ) -> Selection:
        """Evaluate everything on the left, starting from the whole table in every fold."""
        if not isinstance(base, Chain):
            raise RequestError("cross-validation: name the chain to evaluate (base=…)")
        return attrs.evolve(self, base=str(base))._select(data, None, run)

    def _task(self, data: Dataset) -> FoldTask:
        if self.base is None:
            raise RequestError("cross-validation: name the chain to evaluate (base=…)")
        return FoldTask(
            base=self.base,
            classifier=self.classifier,
            inner_folds=self.inner_folds,
            sizes=self._sizes(data.n_features),
            all_features=self.all_features,
        )

    def _sizes(self, n_features: int) -> tuple[int, ...]:
        if self.curve is None:
            return ()
        if self.curve == "auto":
            doubled = [1 << k for k in range(n_features.bit_length()) if 1 << k < n_features]
            return (*doubled, n_features)
        assert not isinstance(self.curve, str)
        return tuple(sorted({min(size, n_features) for size in self.curve}))


def _classifier_problems(text: str) -> Iterator[str]:
    """Problems of the classifier for chains without one."""
    name = text or default_classifier()
    try:
        chains = ChainGrid.parse(name).chains
    except FsframeError as error:
        yield str(error)
        return
    if len(chains[0].stages) != 1 or chains[0].classifier is None:
        yield f"`{name}` is not a classifier; see `fsframe methods`"


def _classifiers_of(chains: Iterable[Chain]) -> list[Classifier]:
    return [chain.classifier for chain in chains if chain.classifier is not None]


def grid_of(stage: CrossValidation) -> ChainGrid:
    """The chains that a cross-validation chooses from."""
    assert stage.base is not None
    return FoldTask(base=stage.base, classifier=stage.classifier).grid()
