"""What the ledger compares: chains of fsframe, and other packages with their own defaults.

Other packages are optional: `pip install Boruta ipss knockpy skrebate` (Stabl is not in the
package index). They get the columns and the label, categories as codes, and no roles, since none
of them knows groups, time or covariates. Chains without a promise stand beside packages without
one: `anova-f, top 10` keeps as many columns as SelectKBest by default.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable

import attrs
import numpy as np
from designs import Design, Table
from numpy.typing import NDArray

from fsframe import Chain

Kept = NDArray[np.intp]


@attrs.frozen(kw_only=True)
class Contender:
    """One contender and what it promises.

    Parameters
    ----------
    name : str
        The chain, or the package and its method.
    promise : {"share", "any", "fdr", "count", ""}
        What is at most `level`: the mean share of the false columns that are kept, the share of
        tables with a false column, the mean share of false columns among the kept, or the mean
        number of false columns. Empty: nothing is promised.
    promised : bool
        False where the method names a level and promises none over tables: its error is measured,
        shown for comparison and not judged.
    false_if_not : {"relevant", "causal", "interacting"}
        Which columns are not false.
    only_null : bool
        Whether the promise is made only for labels that depend on no column.
    tasks : tuple of str
    seconds : float
        Rough processor time of one table of 150 × 30, for the order of work.
    widest : int
        Not run on more columns.
    chain : callable, optional
        Of fsframe: the text of the chain for a design.
    fit : callable, optional
        Of another package: the columns kept of a table, with a seed.
    package : str
        Its distribution.
    """

    name: str
    promise: str = ""
    promised: bool = True
    level: float = 0.0
    false_if_not: str = "relevant"
    only_null: bool = False
    tasks: tuple[str, ...] = ("classification",)
    seconds: float = 1.0
    widest: int = 10_000
    chain: Callable[[Design], str] | None = None
    fit: Callable[[Table, int], Kept] | None = None
    package: str = "fsframe"

    def version(self) -> str:
        """The package and its version."""
        return f"{self.package} {importlib.metadata.version(self.package)}"

    def kept(self, design: Design, table: Table, seed: int) -> Kept:
        """The columns that it keeps."""
        if self.fit is not None:
            np.random.seed(seed)  # Two of the packages know no other seed.
            return np.asarray(self.fit(table, seed), dtype=np.intp)
        assert self.chain is not None
        return Chain.parse(self.chain(design)).select(table.dataset(), seed=seed).selected


def _screened(base: str) -> Callable[[Design], str]:
    return lambda design: ("mim:top=100 " if design.columns > 200 else "") + base


def _boruta(table: Table, seed: int) -> Kept:
    from boruta import BorutaPy
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    forest = RandomForestClassifier if table.task == "classification" else RandomForestRegressor
    found = BorutaPy(forest(n_jobs=1), n_estimators=50, max_iter=30, random_state=seed)
    return np.flatnonzero(found.fit(table.X, table.y).support_)


def _ipss(selector: str) -> Callable[[Table, int], Kept]:
    def fit(table: Table, seed: int) -> Kept:
        from ipss import ipss

        found = ipss(table.X.copy(), table.y.copy(), selector=selector)
        return np.array([j for j, q in found["q_values"].items() if q <= 0.1], dtype=np.intp)

    return fit


def _knockpy(table: Table, seed: int) -> Kept:
    from knockpy.knockoff_filter import KnockoffFilter

    found = KnockoffFilter(ksampler="gaussian", fstat="lasso")
    return np.flatnonzero(found.forward(X=table.X, y=table.y, fdr=0.2))


def _model(table: Table):  # type: ignore[no-untyped-def]
    from sklearn.linear_model import LogisticRegression, Ridge

    return LogisticRegression(max_iter=500) if table.task == "classification" else Ridge()


def _rfecv(table: Table, seed: int) -> Kept:
    from sklearn.feature_selection import RFECV
    from sklearn.preprocessing import scale

    step = 1 if table.X.shape[1] <= 100 else 0.1
    found = RFECV(_model(table), cv=5, step=step).fit(scale(table.X), table.y)
    return np.flatnonzero(found.support_)


def _l1(table: Table, seed: int) -> Kept:
    from sklearn.linear_model import LassoCV, LogisticRegressionCV
    from sklearn.preprocessing import scale

    X = scale(table.X)
    if table.task == "regression":
        return np.flatnonzero(LassoCV(cv=5, random_state=seed).fit(X, table.y).coef_)
    found = LogisticRegressionCV(
        Cs=10, cv=5, solver="liblinear", l1_ratios=(1.0,), random_state=seed, scoring="accuracy",
        use_legacy_attributes=False,
    )  # fmt: skip
    return np.flatnonzero(found.fit(X, table.y).coef_[0])


def _f_test(chooser: str, **options: float) -> Callable[[Table, int], Kept]:
    def fit(table: Table, seed: int) -> Kept:
        from sklearn import feature_selection as methods

        test = methods.f_classif if table.task == "classification" else methods.f_regression
        found = getattr(methods, chooser)(test, **options).fit(table.X, table.y)
        return np.flatnonzero(found.get_support())

    return fit


def _skrebate(table: Table, seed: int) -> Kept:
    from skrebate import ReliefF

    found = ReliefF(n_features_to_select=10, n_neighbors=10).fit(table.X, table.y)
    return np.asarray(found.top_features_[:10])


_BOTH = ("classification", "regression")
_NPFS = {"promise": "share", "level": 0.01, "only_null": True}
_BH = {"promise": "fdr", "level": 0.1, "only_null": True}
_BORUTA = {"tasks": _BOTH, "seconds": 3.0, "promise": "any", "level": 0.05}

_STUMPS = (
    'of=GradientBoostingClassifier,options={"n_estimators":50,"max_depth":1,"max_features":0.33}'
)


def _ours(name: str, base: str | Callable[[Design], str], **facts: object) -> Contender:
    chain = base if callable(base) else lambda design: str(base)
    return Contender(name=name, chain=chain, **facts)  # type: ignore[arg-type]


CONTENDERS: tuple[Contender, ...] = (
    _ours("anova-f, BH", "anova-f:alpha=0.05", tasks=_BOTH, seconds=0.01, promise="fdr",
          level=0.05),
    _ours("anova-f, Bonferroni", "anova-f:alpha=0.05,correction=bonferroni", tasks=_BOTH,
          seconds=0.01, promise="any", level=0.05),
    _ours("anova-f of ranks, BH", "anova-f:alpha=0.05,ranks=true", tasks=_BOTH, seconds=0.01,
          promise="fdr", level=0.05),
    _ours("anova-f curved, BH", "anova-f:alpha=0.05,curved=true", tasks=("regression",),
          seconds=0.01, promise="fdr", level=0.05),
    _ours("anova-f curved and spread, BH", "anova-f:alpha=0.05,curved=true,spread=true",
          tasks=("regression",), seconds=0.01, promise="fdr", level=0.05),
    _ours("chi2 of thirds, BH", "chi2:alpha=0.05,discretise=equal-frequency,bins=3", seconds=0.01,
          promise="fdr", level=0.05),
    _ours("cox-score, BH", "cox-score:alpha=0.05", tasks=("survival",), seconds=0.01,
          promise="fdr", level=0.05),
    _ours("mim npfs", _screened("mim npfs"), tasks=_BOTH, seconds=0.4, **_NPFS),
    _ours("anova-f npfs", _screened("anova-f npfs"), seconds=0.6, **_NPFS),
    _ours("relieff npfs", _screened("relieff npfs"), seconds=1.5, **_NPFS),
    _ours("rrelieff npfs", "rrelieff npfs", tasks=("regression",), seconds=3.0, **_NPFS),
    _ours("surf npfs", _screened("surf npfs"), seconds=3.0, **_NPFS),
    _ours("immigrate npfs", "immigrate npfs", seconds=30.0, widest=200, **_NPFS),
    _ours("cox-score npfs", "cox-score npfs", tasks=("survival",), seconds=1.0, **_NPFS),
    _ours("mim npfs, BH", "mim npfs:correction=bh,alpha=0.1", tasks=_BOTH, seconds=0.5, **_BH),
    _ours("relieff npfs, BH", "relieff npfs:correction=bh,alpha=0.1", seconds=2.0, **_BH),
    _ours("lasso cpss", "lasso:top=5 cpss", tasks=_BOTH, seconds=0.5,
          promise="count", level=1.0, false_if_not="causal"),
    _ours("relieff cpss", "relieff:top=5 cpss", seconds=0.2, promise="count", level=1.0),
    _ours("relieff cpss, k=7", "relieff:top=5,k=7 cpss", seconds=0.2, promise="count",
          level=1.0),
    _ours("relieff ipss", "relieff ipss", seconds=0.2, promise="fdr", level=0.1),
    _ours("lasso ipss", "lasso:top=30 ipss", tasks=_BOTH, seconds=1.0, widest=200,
          promise="fdr", level=0.1, false_if_not="causal"),
    _ours("importance ipss", 'importance:options={"n_estimators":25} ipss', tasks=_BOTH,
          seconds=6.0, promise="fdr", level=0.1),
    _ours("importance ipss, stumps", f"importance:{_STUMPS} ipss", seconds=6.0, promise="fdr",
          level=0.1),
    _ours("lasso knockoffs", "lasso:score_by=coefficient knockoffs:copies=1", tasks=_BOTH,
          seconds=0.5, widest=200, promise="fdr", level=0.2, false_if_not="causal"),
    _ours("boruta", "boruta:trees=50,max_runs=30,alpha=0.05", promised=False, **_BORUTA),
    _ours("boruta, two-step", "boruta:trees=50,max_runs=30,alpha=0.05,correction=two-step",
          promised=False, **_BORUTA),
    _ours("boruta, best-shadow",
          "boruta:trees=50,max_runs=39,alpha=0.05,correction=best-shadow", **_BORUTA),
    _ours("interactions", "interactions", tasks=_BOTH, seconds=5.0, widest=100, promise="any",
          level=0.05, false_if_not="interacting"),
    _ours("anova-f, top 10", "anova-f:top=10", tasks=_BOTH, seconds=0.01),
    _ours("relieff, top 10", "relieff:top=10", seconds=0.05),
    _ours("lasso, cross-validated", "lasso", tasks=_BOTH, seconds=0.5),
    Contender(name="BorutaPy", fit=_boruta, package="Boruta", promised=False, **_BORUTA),
    Contender(name="ipss, l1", fit=_ipss("l1"), package="ipss", tasks=_BOTH, seconds=3.0,
              promise="fdr", level=0.1, false_if_not="causal"),
    Contender(name="ipss, gb", fit=_ipss("gb"), package="ipss", tasks=_BOTH, seconds=3.0,
              promise="fdr", level=0.1, false_if_not="causal"),
    Contender(name="knockpy", fit=_knockpy, package="knockpy", tasks=_BOTH, seconds=0.3,
              widest=200, promise="fdr", level=0.2, false_if_not="causal"),
    Contender(name="SelectFdr", fit=_f_test("SelectFdr", alpha=0.05), package="scikit-learn",
              tasks=_BOTH, seconds=0.01, promise="fdr", level=0.05),
    Contender(name="SelectKBest", fit=_f_test("SelectKBest", k=10), package="scikit-learn",
              tasks=_BOTH, seconds=0.01),
    Contender(name="RFECV", fit=_rfecv, package="scikit-learn", tasks=_BOTH, seconds=0.7),
    Contender(name="L1, cross-validated", fit=_l1, package="scikit-learn", tasks=_BOTH,
              seconds=0.2),
    Contender(name="ReliefF of skrebate", fit=_skrebate, package="skrebate", seconds=0.1),
)  # fmt: skip
