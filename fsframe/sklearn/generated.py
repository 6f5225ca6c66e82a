"""Estimator classes made from the declarations of methods, and chains as estimators."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
)

from fsframe.chains.chain import Chain
from fsframe.evaluation.folds import nothing_kept
from fsframe.kinds import Kind, annotation, is_flag
from fsframe.method.classifier import Classifier, Regressor
from fsframe.method.selection import Selection
from fsframe.method.selector import Selector
from fsframe.params import Parameter
from fsframe.registry import Offer
from fsframe.sklearn import class_name, find_method_offer
from fsframe.sklearn.estimators import (
    ClassifierEstimator,
    FittedAttributes,
    MethodEstimator,
    Predicting,
    PredictingNumbers,
    PredictsRows,
    RegressorEstimator,
    Selecting,
    SelectorEstimator,
    StageEstimator,
    WeightedSelectorEstimator,
)
from fsframe.sklearn.messages import InvalidRequest, as_value_errors
from fsframe.sklearn.parameters import (
    ATTRIBUTES,
    SETTINGS,
    chain_of,
    constructor,
    own_classes,
    settings_of,
    stage_keys,
    stage_values,
    with_own_classes,
    with_stage_values,
)
from fsframe.sklearn.tables import copies_are_weights
from fsframe.table.dataset import Dataset
from fsframe.table.side_columns import LABELS

_WIDTH = 92
_SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.M)


def docstring(offer: Offer, method: type[Selector] | type[Classifier], *, weighted: bool) -> str:
    """The numpydoc text of an estimator, from an offer and the docstring of the method's class.

    `weighted`: whether `fit` takes `sample_weight`.
    """
    opening, sections = _sections(inspect.getdoc(method) or "")
    lines = [opening or f"{offer.entry.summary}.", ""]
    lines += [f"The method `{offer.name}` of fsframe as an estimator.", ""]
    lines += ["Parameters", "----------", *_parameters(method), ""]
    classifier = issubclass(method, Classifier)
    fitted = "regressor" if issubclass(method, Regressor) else "classifier"
    what = ATTRIBUTES[fitted if classifier else "selector"]
    lines += ["Attributes", "----------", what.rstrip()]
    if "max_iter" in {parameter.name for parameter in method.parameters()}:
        which = "at most; the actual number is not known" if classifier else "of the fit"
        lines += ["n_iter_ : int", f"    Number of iterations {which}."]
    lines += [ATTRIBUTES["every"].rstrip(), ""]
    for title in ("Raises", "Notes", "References"):
        text = sections.get(title, "")
        if title == "Notes":
            text = "\n\n".join(filter(None, [text, _notes(offer, method, weighted)]))
        if title == "References" and not text and offer.entry.reference:
            text = "\n".join(textwrap.wrap(offer.entry.reference, _WIDTH, break_long_words=False))
        if text:
            lines += [title, "-" * len(title), text, ""]
    return "\n".join(lines).rstrip() + "\n"


def _sections(text: str) -> tuple[str, dict[str, str]]:
    """The text before the first section of a numpydoc docstring, and the sections by title."""
    parts = _SECTION.split(text)
    bodies = zip(parts[1::2], parts[2::2], strict=True)
    return parts[0].strip(), {title.strip(): body.strip("\n") for title, body in bodies}


def _parameters(method: type[Selector] | type[Classifier]) -> Iterator[str]:
    for parameter in method.parameters():
        default = "" if parameter.required else f", default={parameter.default!r}"
        yield f"{parameter.name} : {_type(parameter.kind)}{default}"
        yield from _indented(parameter_help(parameter))
    for name in settings_of(method):
        setting = SETTINGS[name]
        yield f"{name} : {setting.kind}, default={setting.default!r}"
        yield from _indented(setting.help)


def _type(kind: Kind) -> str:
    """The type of a parameter as numpydoc writes it."""
    text = re.sub(r"Literal\[(.*?)\]", r"{\1}", annotation(kind))
    return "object" if text == "Any" else text.replace(" | ", " or ")


def parameter_help(parameter: Parameter) -> str:
    """Help of a parameter, its range, symbol and source."""
    kind = parameter.kind
    rule = re.sub(r"\bnone$", "None", kind.describe())
    # The type already describes choices and unbounded numbers.
    plain = is_flag(kind) or not re.search(r"[≥≤><(\[]|such as", rule)
    ranges = "" if plain else f"{rule[:1].upper()}{rule[1:]}."
    symbol = f"The paper's {parameter.symbol}." if parameter.symbol else ""
    source = f"Source: {parameter.source}." if parameter.source else ""
    return " ".join(filter(None, [parameter.help, ranges, symbol, source]))


def _indented(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent="    ", subsequent_indent="    ")


def _notes(offer: Offer, method: type[Selector] | type[Classifier], weighted: bool) -> str:
    notes = []
    if issubclass(method, Selector):
        notes.append(f"For {' and '.join(sorted(method.tasks))}.")
        notes.append(
            "`sample_weight`: a row of weight k counts as k rows."
            if weighted
            else "`fit` takes no `sample_weight`: a row of weight k would not equal k rows."
        )
    notes.append(f"Plugin {offer.provider} {offer.version}.")
    return "\n".join(textwrap.wrap(" ".join(notes), _WIDTH))


_made: dict[tuple[type, str], type[MethodEstimator]] = {}


def estimator(name: str) -> type[MethodEstimator]:
    """The estimator class of a registered method of any plugin.

    Parameters
    ----------
    name : str
        The method's name, ``"relieff"``, with its provider if several offer it
        (``"provider/name"``), or the name of the estimator, ``"ReliefF"``.

    Raises
    ------
    RequestError
        If there is no such method, or it is a protocol.
    PluginError
        If its plugin cannot be used.

    Examples
    --------
    >>> estimator("relieff")(k=10)
    ReliefF(k=10)
    """
    registry, offer = find_method_offer(name)
    method = registry[offer.name]
    key = (method, offer.name)
    if key not in _made:
        _made[key] = _class(offer, method)
    return _made[key]


def blank(kind: str | type, classes: Mapping[str, type]) -> Any:
    """An estimator without state, for pickle, after `with_own_classes`.

    `kind` is its class, or the name of its method.
    """
    with_own_classes(classes)
    made: Any = estimator(kind) if isinstance(kind, str) else kind
    return made.__new__(made)


def _class(offer: Offer, method: type[Selector] | type[Classifier]) -> type[MethodEstimator]:
    base, name = _base(offer, method), class_name(offer.name)
    defaults = {
        p.name: inspect.Parameter.empty if p.required else p.default for p in method.parameters()
    }
    return type(
        name,
        (base,),
        {
            "__module__": "fsframe.sklearn",
            "__qualname__": name,
            "__doc__": docstring(offer, method, weighted=base is WeightedSelectorEstimator),
            "__init__": constructor(name, defaults, settings_of(method)),
            "_name": offer.name,
            "_method": method,
            "_settings": settings_of(method),
            "_blank": staticmethod(blank),
        },
    )


def _base(offer: Offer, method: type[Selector] | type[Classifier]) -> type[MethodEstimator]:
    if issubclass(method, Regressor):
        return RegressorEstimator
    if issubclass(method, Classifier):
        return ClassifierEstimator
    return WeightedSelectorEstimator if copies_are_weights(offer, method) else SelectorEstimator


class ChainEstimator(StageEstimator):
    """Base of estimators of chains: the chain, and the parameters of its stages."""

    chain: Any
    selections_: dict[str, Selection]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; with `deep`, those of the stages too, as ``mim__top``."""
        parameters: dict[str, Any] = super().get_params(deep=False)
        return {**parameters, **stage_values(self.chain)} if deep else parameters

    def set_params(self, **params: Any) -> Self:
        """This estimator with other parameters; ``mim__top`` is that of the stage `mim`.

        Raises
        ------
        ValueError
            If there is no such parameter, or no such stage.
        """
        parameters = self.get_params(deep=False)
        super().set_params(**{k: v for k, v in params.items() if k in parameters or "__" not in k})
        nested = {name: value for name, value in params.items() if name not in parameters}
        if nested:
            self.chain = with_stage_values(self.chain, nested)
        return self

    def _chain(self) -> Chain:
        with as_value_errors():
            return chain_of(self.chain)

    def __reduce__(self) -> tuple[Any, ...]:
        return blank, (type(self), own_classes(self._chain)), self.__getstate__()

    def _task_of(self, last: Classifier | None) -> str:
        """The task of `fit` for a chain that ends with the classifier `last`, if any.

        Raises
        ------
        InvalidRequest
            If this estimator needs a chain with another end.
        """
        raise NotImplementedError

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        times: ArrayLike | None = None,
        adjust: Any = None,
    ) -> Self:
        """Run the chain and fit its classifier or regressor, if any; returns this estimator.

        Parameters
        ----------
        X : (n_samples, n_features) array or data frame
            Categorical columns of a data frame are nominal.
        y : (n_samples,)
            Classes, or a numeric target; for survival (``cox-score``, ``cox``) a structured array
            of events and times, or the times, negative for censored rows.
        sample_weight : (n_samples,) ≥ 0, optional
            A row of weight k counts as k rows (docs/data.md); stages that sample rows or permute
            labels raise an error. Fractions are accepted if every stage counts them, as filters do.
        groups : (n_samples,), optional
            Rows of equal value belong together: no resample or permutation separates them.
        times : (n_samples,) numbers or dates, optional
            Time of each row: stages that sample or permute rows keep the order, or raise an error.
        adjust : (n_samples,) or (n_samples, q) array or data frame, optional
            Covariates to adjust for, numeric, text or categorical.

        Raises
        ------
        ValueError
            If the chain or the data are invalid; also a RequestError or a DataError.
        PluginError
            If a method fails.
        """
        chain = self._chain()
        task = self._task_of(chain.classifier)
        of_rows = {"sample_weight": sample_weight, "groups": groups}
        of_rows |= {"times": times, "adjust": adjust}
        return self._fit(X, y, task, _tasks(chain), **of_rows)

    def _keep(self, selections: Sequence[Selection | None]) -> None:
        keys = stage_keys(str(self._chain()))
        self.selections_ = {
            key: selection
            for key, selection in zip(keys, selections, strict=True)
            if selection is not None
        }
        if self.selections_:
            self.selection_ = list(self.selections_.values())[-1]
        elif hasattr(self, "selection_"):
            del self.selection_

    def _warnings(self, data: Dataset) -> Iterator[str]:
        yield from data.warnings
        for key, selection in self.selections_.items():
            yield from (f"{key}: {text}" for text in selection.warnings)
        if isinstance(self, PredictsRows) and not self.fitted_.columns.size:
            yield nothing_kept(data.task)


def _tasks(chain: Chain) -> tuple[str, ...]:
    """The tasks that all stages support."""
    last = chain.classifier
    tasks = set(LABELS) if last is None else set(last.predicts())
    for stage in chain.selecting:
        if isinstance(stage.method, Selector):
            tasks &= stage.method.tasks
    # If no task is left, the stage that does not support the task refuses it.
    return tuple(sorted(tasks)) or ("classification", "regression")


class ChainSelector(Selecting, ChainEstimator):
    """Keeps the columns that a chain selects; for pipelines and grid searches.

    Parameters
    ----------
    chain : str, Chain, or list, default="immigrate"
        Such as ``"mim:top=50 immigrate"``, or a list of texts, estimators of fsframe.sklearn and
        selectors, left to right; without a classifier. Parameters of stages are parameters of this
        estimator: ``mim__top``, or ``jmi_1__top`` and ``jmi_2__top`` if a method occurs twice.
    task : {"auto", "classification", "regression"}, default="auto"
        Whether y holds classes or a numeric target; auto: as the stages require, else a target if
        the values are not all integers. More than 20 different integers, some of them once, are
        refused: they are hardly classes.
    always_keep : name or position of a column, several of them, or None, default=None
        Columns of X that every stage keeps.
    feature_groups : mapping of str to names or positions of columns, or None, default=None
        Columns of X that are kept or dropped together, by name of their group.
    random_state : int, RandomState, Generator or None, default=0
        Seed; equal seeds give bit-identical results. None draws from numpy's global state.
    n_jobs : int or None, default=None
        Number of threads of a fit, -1 for all processors; None is 1, except in a
        joblib.parallel_config. Results do not depend on it.
    memory_limit : int, str or None, default=None
        Memory limit of a fit besides the table, in bytes or as '2GB'; None is 2 GiB.

    Attributes
    ----------
    selection_ : Selection
        The result of the last stage.
    selections_ : dict of str to Selection
        The result of each stage, by its name in parameter names.
    scores_ : (n_features,) float64
        Larger is better; NaN for a feature that was not considered.
    ranking_ : (n_selected,) int
        Kept columns, best first.
    feature_importances_ : (n_features,) float64
        `scores_` without NaN.
    pairs_ : list of Pair
        Columns ``a`` and ``b`` with their ``weight``, best first, if the method weighs pairs.
    pvalues_, qvalues_ : float64 arrays
        Of the features, or of `pairs_` in a test of pairs, if the method tests them.
    n_features_in_ : int
        Number of features in `fit`.
    feature_names_in_ : (n_features_in_,) array of str
        Their names, if X was a data frame.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> selector = ChainSelector("mim:top=3,bins=2 immigrate")
    >>> selector.set_params(mim__top=4, immigrate__top=2).chain
    'mim:top=4,bins=2 immigrate:top=2'
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     selector = selector.fit(X, X[:, 1] * X[:, 3] > 0)
    >>> selector.transform(X).shape, selector.ranking_.tolist()
    ((60, 2), [1, 3])
    """

    task: str

    _settings = tuple(SETTINGS)

    __init__ = constructor("ChainSelector", {"chain": "immigrate"}, _settings, 1)

    def _task_of(self, last: Classifier | None) -> str:
        if last is not None:
            raise InvalidRequest(
                f"the chain ends with the classifier {last.method_name()}, but a ChainSelector "
                "does not predict: use ChainClassifier, or leave it out"
            )
        return self.task


class _ChainPredictor(FittedAttributes, ChainEstimator):
    """A chain that ends with a classifier or regressor."""

    _settings = tuple(name for name in SETTINGS if name != "task")
    _task: ClassVar[str]

    def _task_of(self, last: Classifier | None) -> str:
        if last is None:
            raise InvalidRequest(
                "the chain ends without a classifier: add one, as in 'immigrate margin', or use "
                "ChainSelector"
            )
        tasks = last.predicts() - {"classification"} if self._task == "regression" else {self._task}
        if not tasks & last.predicts():
            other = "ChainRegressor" if self._task == "classification" else "ChainClassifier"
            raise InvalidRequest(
                f"{last.method_name()} is not made for {self._task}: use {other}, or end the chain "
                "with another method"
            )
        return min(tasks)


class ChainClassifier(Predicting, _ChainPredictor):
    """Predicts classes with the last stage of a chain, from the columns that the others keep.

    Parameters
    ----------
    chain : str, Chain, or list, default="immigrate margin"
        As for `ChainSelector`, with a classifier at the end.
    always_keep, feature_groups, random_state, n_jobs, memory_limit
        As for `ChainSelector`.

    Attributes
    ----------
    classes_ : (n_classes,) array
        The classes, in ascending order.
    fitted_ : FittedOnColumns
        The fitted classifier.
    selection_, selections_, scores_, ranking_, feature_importances_, pairs_, pvalues_, qvalues_
        As for `ChainSelector`, of the stages before the classifier, if there are any.
    n_features_in_ : int
        Number of features in `fit`.
    feature_names_in_ : (n_features_in_,) array of str
        Their names, if X was a data frame.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((90, 4))
    >>> y = X[:, 1] * X[:, 3] > 0
    >>> ChainClassifier("immigrate margin").fit(X, y).score(X, y) > 0.95
    True
    """

    _task = "classification"

    __init__ = constructor(
        "ChainClassifier", {"chain": "immigrate margin"}, _ChainPredictor._settings, 1
    )


class ChainRegressor(PredictingNumbers, _ChainPredictor):
    """Predicts numbers with the last stage of a chain, from the columns that the others keep.

    Parameters
    ----------
    chain : str, Chain, or list, default="rrelieff knn:k=5"
        As for `ChainSelector`, ending with a method that predicts numbers: ``knn``,
        ``sklearn:estimator=…`` with a regressor, or ``cox`` for risks of times until an event.
    always_keep, feature_groups, random_state, n_jobs, memory_limit
        As for `ChainSelector`.

    Attributes
    ----------
    fitted_ : FittedOnColumns
        The fitted regressor.
    selection_, selections_, scores_, ranking_, feature_importances_, pairs_, pvalues_, qvalues_
        As for `ChainSelector`, of the stages before the regressor, if there are any.
    n_features_in_ : int
        Number of features in `fit`.
    feature_names_in_ : (n_features_in_,) array of str
        Their names, if X was a data frame.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((90, 4))
    >>> ChainRegressor("rrelieff:top=1 knn:k=3").fit(X, X[:, 2]).score(X, X[:, 2]) > 0.95
    True
    """

    _task = "regression"

    __init__ = constructor(
        "ChainRegressor", {"chain": "rrelieff knn:k=5"}, _ChainPredictor._settings, 1
    )


def fitted_selector(
    chain: str, selections: Sequence[Selection], feature_names: Sequence[str], **settings: Any
) -> ChainSelector:
    """A fitted `ChainSelector` from the selections of an existing run, left to right.

    It lacks the names of categories, which a run does not store.
    """
    made = ChainSelector(chain, **settings)
    made._keep(selections)
    made._codes = {}
    made.n_features_in_ = len(feature_names)
    made.feature_names_in_ = np.array(feature_names, dtype=object)
    return made


def unfitted_predictor(
    chains: Sequence[str], task: str, *, inner_folds: int, grouped: bool, **settings: Any
) -> ChainClassifier | ChainRegressor | GridSearchCV:
    """The estimator that a cross-validation evaluated, to be fitted on all rows.

    If the folds chose among several chains, it is a grid search over these in `inner_folds` folds,
    by accuracy, R² or the c-index; if rows were `grouped`, it takes ``fit(X, y, groups=…)``.
    """
    classes = task == "classification"
    made = (ChainClassifier if classes else ChainRegressor)(chains[0], **settings)
    if len(chains) == 1:
        return made
    if grouped:
        splitter = StratifiedGroupKFold if classes else GroupKFold
    else:
        splitter = StratifiedKFold if classes else KFold
    folds = splitter(inner_folds, shuffle=True, random_state=settings.get("random_state"))
    return GridSearchCV(made, {"chain": list(chains)}, cv=folds)
