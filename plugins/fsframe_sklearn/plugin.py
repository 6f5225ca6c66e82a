"""Entries of this plugin; imports no numerical code."""

from __future__ import annotations

from collections.abc import Iterator

from fsframe.registry.entries import (
    NEEDED_QUESTION,
    RELEVANT_QUESTION,
    TOGETHER_QUESTION,
    ClassifierEntry,
    ProposalEntry,
    RegressorEntry,
    SelectorEntry,
)
from fsframe.registry.hookspecs import hookimpl

_PEDREGOSA = (
    "Pedregosa et al. 2011, Scikit-learn: machine learning in Python, J. Mach. Learn. Res. "
    "12:2825-2830, arXiv:1201.0490"
)
_GUYON = (
    "Guyon, Weston, Barnhill, Vapnik 2002, Gene selection for cancer classification using support "
    "vector machines, Mach. Learn. 46:389-422, doi:10.1023/A:1012487302797"
)


@hookimpl
def fsframe_classifiers() -> Iterator[ClassifierEntry]:
    """Any classifier or regressor of scikit-learn."""
    yield ClassifierEntry(
        name="sklearn",
        target="fsframe_sklearn.methods.by_name:Sklearn",
        summary="Any scikit-learn classifier or regressor, by its class name",
        reference=_PEDREGOSA,
        known_as={
            "forest": "sklearn:estimator=RandomForestClassifier",
            "random-forest": "sklearn:estimator=RandomForestClassifier",
            "rf": "sklearn:estimator=RandomForestClassifier",
            "logistic": "sklearn:estimator=LogisticRegression,standardize=true",
            "logistic-regression": "sklearn:estimator=LogisticRegression,standardize=true",
            "lr": "sklearn:estimator=LogisticRegression,standardize=true",
            "svc": "sklearn:estimator=SVC,standardize=true",
            "svm": "sklearn:estimator=SVC,standardize=true",
            "naive-bayes": "sklearn:estimator=GaussianNB",
            "nb": "sklearn:estimator=GaussianNB",
            "lda": "sklearn:estimator=LinearDiscriminantAnalysis",
            "decision-tree": "sklearn:estimator=DecisionTreeClassifier",
            "linear-regression": "sklearn:estimator=LinearRegression",
            "svr": "sklearn:estimator=SVR,standardize=true",
        },
    )


@hookimpl
def fsframe_regressors() -> Iterator[RegressorEntry]:
    """Ridge regression, a baseline for numeric targets."""
    yield RegressorEntry(
        name="ridge",
        target="fsframe_sklearn.methods.by_name:Ridge",
        summary="Ridge regression; the penalty is chosen by leave-one-out error",
        reference="Hoerl, Kennard 1970, Ridge regression: biased estimation for nonorthogonal "
        "problems, Technometrics 12(1):55-67, doi:10.1080/00401706.1970.10488634",
    )


@hookimpl
def fsframe_selectors() -> Iterator[SelectorEntry]:
    """Selectors of scikit-learn, and selection by its estimators."""
    yield SelectorEntry(
        name="sklearn-selector",
        target="fsframe_sklearn.methods.by_name:SklearnSelector",
        summary="any scikit-learn selector, by its class name",
        family="scikit-learn",
        reference=_PEDREGOSA,
    )
    yield SelectorEntry(
        name="importance",
        target="fsframe_sklearn.methods.learners:Importance",
        summary="feature importance from any scikit-learn classifier or regressor",
        family="scikit-learn",
        reference="Breiman 2001, Random forests, Mach. Learn. 45:5-32, doi:10.1023/A:1010933404324",
        known_as={
            "forest": "importance",
            "random-forest": "importance",
            "rf": "importance",
            "permutation-importance": "importance:measure=held-out",
        },
    )
    yield SelectorEntry(
        name="rfe",
        target="fsframe_sklearn.methods.elimination:Rfe",
        summary="recursive elimination of the least important features",
        family="scikit-learn",
        reference=_GUYON,
        known_as={
            "recursive-feature-elimination": "rfe",
            "svm-rfe": "rfe",
        },
    )
    yield SelectorEntry(
        name="rfecv",
        target="fsframe_sklearn.methods.elimination:Rfecv",
        summary="recursive elimination; how many to keep is chosen by cross-validation",
        family="scikit-learn",
        reference=_GUYON,
    )
    yield SelectorEntry(
        name="sequential",
        target="fsframe_sklearn.methods.elimination:Sequential",
        summary="features added or removed one at a time, judged by cross-validation",
        family="scikit-learn",
        reference="Whitney 1971, A direct method of nonparametric measurement selection, "
        "IEEE Trans. Comput. C-20(9):1100-1103, doi:10.1109/T-C.1971.223410",
        known_as={
            "forward-selection": "sequential",
            "sfs": "sequential",
            "stepwise": "sequential",
            "backward-elimination": "sequential:direction=backward",
        },
    )
    yield SelectorEntry(
        name="lasso",
        target="fsframe_sklearn.methods.penalised:Lasso",
        summary="features in the order in which they enter the lasso path (linear or logistic)",
        family="scikit-learn",
        compiles=True,
        reference="Tibshirani 1996, Regression shrinkage and selection via the lasso, "
        "J. R. Stat. Soc. B 58(1):267-288, doi:10.1111/j.2517-6161.1996.tb02080.x",
        known_as={
            "glmnet": "lasso",
            "l1": "lasso",
        },
    )
    yield SelectorEntry(
        name="elastic-net",
        target="fsframe_sklearn.methods.penalised:ElasticNet",
        summary="as lasso, but correlated features enter together",
        family="scikit-learn",
        compiles=True,
        reference="Zou, Hastie 2005, Regularization and variable selection via the elastic net, "
        "J. R. Stat. Soc. B 67(2):301-320, doi:10.1111/j.1467-9868.2005.00503.x",
        known_as={
            "enet": "elastic-net",
        },
    )
    yield SelectorEntry(
        name="boruta",
        target="fsframe_sklearn.methods.boruta:Boruta",
        summary="features that a random forest finds more important than shuffled copies",
        family="scikit-learn",
        reference="Kursa, Rudnicki 2010, Feature selection with the Boruta package, "
        "J. Stat. Softw. 36(11):1-13, doi:10.18637/jss.v036.i11",
    )


_STUMPS = (
    'of=GradientBoostingClassifier,options={"n_estimators":50,"max_depth":1,"max_features":0.33}'
)
"""Boosted stumps, each on a third of the columns, as in the package of the authors of integrated
path stability selection (with half of its trees)."""


@hookimpl
def fsframe_proposals() -> Iterator[ProposalEntry]:
    """Proposals for tables on which tests of single columns find less: heavy tails, a numeric
    target, correlated columns."""
    yield ProposalEntry(
        name="heavy-tails-of-classes",
        question=RELEVANT_QUESTION,
        place=45,
        tables="classes, none of them rare, at most 60 columns that are not correlated, and heavy "
        "tails in most of these",
        when={"heavy-tails", "classification"},
        unless={"rare-class", "correlated", "nominal", "gaps"},
        most_columns=60,
        most_hours=0.1,
        chain=f"importance:{_STUMPS} ipss",
        gaps=f"impute importance:{_STUMPS} ipss",
        promise="on average, at most 10% of the kept features are false",
        designs=("heavy-tails",),
    )
    yield ProposalEntry(
        name="together-target",
        question=TOGETHER_QUESTION,
        place=97,
        tables="a numeric target, at most 50 columns and at least 10 rows a column",
        when={"regression"},
        rows_per_column=10,
        most_columns=50,
        chain='importance:options={"n_estimators":25} ipss',
        promise="on average, at most 10% of the kept features are false",
        designs=("curved",),
    )
    # With top=5 of fewer than 25 columns, no share of the halves gives the promised bound.
    yield ProposalEntry(
        name="needed",
        question=NEEDED_QUESTION,
        place=100,
        tables="25 to 60 columns, some of them correlated and none a copy of another",
        when={"correlated"},
        unless={"heavy-tails"},
        fewest_columns=25,
        most_columns=60,
        chain="lasso:top=5 cpss",
        gaps="impute lasso:top=5 cpss",
        promise="on average, at most one kept feature is not needed",
        designs=("blocks", "genotypes"),
    )
