"""Entries of this plugin; imports no numerical code."""

from __future__ import annotations

from collections.abc import Iterator

from fsframe.registry.entries import ClassifierEntry, RegressorEntry, SelectorEntry
from fsframe.registry.hookspecs import hookimpl


@hookimpl
def fsframe_classifiers() -> Iterator[ClassifierEntry]:
    """Any classifier or regressor of scikit-learn."""
    yield ClassifierEntry(
        name="sklearn",
        target="fsframe_sklearn.methods.by_name:Sklearn",
        summary="Any scikit-learn classifier or regressor, by its class name",
        reference="Pedregosa et al. 2011, JMLR 12",
    )


@hookimpl
def fsframe_regressors() -> Iterator[RegressorEntry]:
    """Ridge regression, a baseline for numeric targets."""
    yield RegressorEntry(
        name="ridge",
        target="fsframe_sklearn.methods.by_name:Ridge",
        summary="Ridge regression; the penalty is chosen by leave-one-out error",
        reference="Hoerl, Kennard 1970, Technometrics 12:55",
    )


@hookimpl
def fsframe_selectors() -> Iterator[SelectorEntry]:
    """Selectors of scikit-learn, and selection by its estimators."""
    yield SelectorEntry(
        name="sklearn-selector",
        target="fsframe_sklearn.methods.by_name:SklearnSelector",
        summary="any scikit-learn selector, by its class name",
        family="scikit-learn",
        reference="Pedregosa et al. 2011, JMLR 12",
    )
    yield SelectorEntry(
        name="importance",
        target="fsframe_sklearn.methods.learners:Importance",
        summary="feature importance from any scikit-learn classifier or regressor",
        family="scikit-learn",
        reference="Breiman 2001, Mach. Learn. 45:5",
    )
    yield SelectorEntry(
        name="rfe",
        target="fsframe_sklearn.methods.elimination:Rfe",
        summary="recursive elimination of the least important features",
        family="scikit-learn",
        reference="Guyon et al. 2002, Mach. Learn. 46:389",
    )
    yield SelectorEntry(
        name="rfecv",
        target="fsframe_sklearn.methods.elimination:Rfecv",
        summary="recursive elimination; how many to keep is chosen by cross-validation",
        family="scikit-learn",
        reference="Guyon et al. 2002, Mach. Learn. 46:389",
    )
    yield SelectorEntry(
        name="sequential",
        target="fsframe_sklearn.methods.elimination:Sequential",
        summary="features added or removed one at a time, judged by cross-validation",
        family="scikit-learn",
        reference="Whitney 1971, IEEE Trans. Comput. C-20:1100",
    )
    yield SelectorEntry(
        name="lasso",
        target="fsframe_sklearn.methods.penalised:Lasso",
        summary="features in the order in which they enter the lasso path (linear or logistic)",
        family="scikit-learn",
        reference="Tibshirani 1996, J. R. Stat. Soc. B 58:267",
    )
    yield SelectorEntry(
        name="elastic-net",
        target="fsframe_sklearn.methods.penalised:ElasticNet",
        summary="as lasso, but correlated features enter together",
        family="scikit-learn",
        reference="Zou, Hastie 2005, J. R. Stat. Soc. B 67:301",
    )
    yield SelectorEntry(
        name="boruta",
        target="fsframe_sklearn.methods.boruta:Boruta",
        summary="features that a random forest finds more important than shuffled copies",
        family="scikit-learn",
        reference="Kursa, Rudnicki 2010, J. Stat. Softw. 36(11)",
    )
