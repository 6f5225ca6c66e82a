"""The methods and sets of the IMMIGRATE and IM4E papers, and the figures published for them."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import attrs

from fsframe.table.dataset import Dataset

SKLEARN = "sklearn:estimator=sklearn."
PAIRS = "sklearn:estimator=pairwise_lasso.PairwiseLasso"
PATH = (4.0, 2.0, 1.0, 0.5, 0.25, 0.125)
"""IMMIGRATE's σ: from 4 by halves until not larger than 0.2."""

PACKAGE = "update=psd-clip,line-search=false,max-iter=10"
"""As the paper's R package: its update, no line search, ten iterations."""

METHODS = {
    "1NN": "knn:k=1,ties=index",
    "3NN": "knn:k=3,ties=index",
    "NBC": SKLEARN + "naive_bayes.GaussianNB",
    "LDA": SKLEARN + "discriminant_analysis.LinearDiscriminantAnalysis,standardize=true",
    "DT": SKLEARN + "tree.DecisionTreeClassifier",
    "SV1": SKLEARN + 'svm.SVC,standardize=true,options={"kernel":"sigmoid"}',
    "SV2": SKLEARN + "svm.SVC,standardize=true",
    "LAS": SKLEARN + "linear_model.LogisticRegressionCV,standardize=true,"
    'options={"l1_ratios":[1],"solver":"liblinear","scoring":"accuracy",'
    '"use_legacy_attributes":false}',
    "HIN": PAIRS,
    "ADB": SKLEARN + "ensemble.AdaBoostClassifier",
    "RF": SKLEARN + "ensemble.RandomForestClassifier",
    "XGB": SKLEARN + "ensemble.GradientBoostingClassifier",
    "SVM1": SKLEARN + 'svm.SVC,standardize=true,options={"kernel":"linear"}',
    "SVM2": SKLEARN + 'svm.SVC,standardize=true,options={"kernel":"poly","degree":2,"coef0":1}',
    "SVM3": SKLEARN + 'svm.SVC,standardize=true,options={"kernel":"poly","degree":3,"coef0":1}',
    "REL": "relief:top=1.0 weighted-knn:k=1,ties=index",
    "RFF": "relieff:top=1.0 weighted-knn:k={1,3,5},ties=index",
    "SIM": "simba:top=1.0 weighted-knn:k=1,ties=index",
    "LFE": "lfe:top=1.0 margin",
    "IM4": "im4e:sigma=cv,top=1.0 margin",
    "IGT": "immigrate:sigma=cv,top=1.0 margin",
    "EGT": "im4e:sigma=cv immigrate:sigma=cv,top=1.0 margin",
    "BIM": "bim-vote",
    "B4G": "im4e:sigma=cv bim-vote",
    "LOGO": "logo:sigma={1,0.5,0.25,0.125,0.0625,0.03125},top=1.0 weighted-knn:k=3,ties=index",
    "GFP": "gflip knn:k=1,ties=index",
    # Other ways to what was printed under one name (VARIANTS).
    "IGR": f"immigrate:sigma=cv,{PACKAGE},top=1.0 margin",
    "IG1": f"immigrate:sigma=1,{PACKAGE},top=1.0 margin",
    "IGP": "immigrate:prototypes=2000,sigma=cv,top=1.0 margin",
    "BIP": "bim-vote:update=psd-clip,line-search=false",
    "BI3": "bim-vote:rounds=3,sigma-min=0.02,update=psd-clip,line-search=false",
    "IM1": "im4e:sigma=1,max-iter=10,top=1.0 margin",
    "IMF": "im4e:sigma=cv,top=1.0 margin",
    "RE1": "relief:m=1,top=1.0 weighted-knn:k=1,ties=index",
    "RES": "relief knn:k=1,ties=index",
    "RFS": "relieff knn:k={1,3,5},distance=manhattan,ties=index",
    "LOM": "logo:top=1.0 margin",
    "GFZ": "gflip:utility=zero-one knn:k=1,ties=index",
    "LDE": SKLEARN + "discriminant_analysis.LinearDiscriminantAnalysis,standardize=true,"
    'options={"priors":[0.5,0.5]}',
    "HIP": PAIRS + ',options={"squares":false}',
    "DTR": SKLEARN + 'tree.DecisionTreeClassifier,options={"min_samples_split":20,'
    '"min_samples_leaf":7,"ccp_alpha":0.005}',
}
VARIANTS = {
    "IGT": ("IGR", "IG1", "IGP"), "BIM": ("BIP", "BI3"), "IM4": ("IM1", "IMF"),
    "REL": ("RE1", "RES"), "RFF": ("RFS",), "LOGO": ("LOM",), "DT": ("DTR",), "GFP": ("GFZ",),
    "LDA": ("LDE",), "HIN": ("HIP",),
}  # fmt: skip
VARIANT_OF = {variant: method for method, many in VARIANTS.items() for variant in many}
YARDSTICKS = ("1NN", "3NN", "NBC", "LDA", "DT")
"""Methods with no setting worth a word: they tell whether data and folds are the papers'."""

SMALL = [
    "CRY", "BRC", "WIN", "LYM", "GLA", "BCW", "PAR", "STA", "HMS", "MON", "parkinsons", "heart",
    "VC", "PID", "URB", "HR", "IMM", "ECO", "USE", "CUS", "SMR", "ION", "ionosphere", "WQ_red",
]  # fmt: skip
WIDE, LONG = ["COL", "GLI", "BRE", "PRO"], ["WAV", "ELE", "CRO"]
SCREEN = "anova-f:top=500"
UNSCREENED = ("IMF",)

LEARNED_FROM = {
    **{
        (method, name): ("immigrate", 500)
        for method in ("IGT", "IGR", "IG1", "EGT")
        for name in LONG
    },
    # On WAV these take all rows; on ELE and CRO tuning IM4E alone would take hours a repetition.
    **{
        (method, name): (stage, 2000)
        for name in ("ELE", "CRO")
        for method, stage in (("IM4", "im4e"), ("BIM", "bim-vote"))
    },
}
"""Where a method learns from prototypes: which of its stages, and how many."""

ONLY_ON = {"IMF": WIDE, "IGP": LONG}
"""Ways to a figure that make sense on these sets only."""

# What the IM4E paper calls methods and sets in its own tables.
IM4E_NAMES = {
    "IM4E": "IM4", "IB1": "1NN", "IB3": "3NN", "NBC": "NBC", "RLF": "REL", "RFF": "RFF",
    "SIM": "SIM", "LOGO": "LOGO", "GFP": "GFP", "SVM1": "SVM1", "SVM2": "SVM2", "SVM3": "SVM3",
    "SVMR": "SV2",
}  # fmt: skip
IM4E_SETS = {
    "GI": "GLA", "HS": "HMS", "SH": "heart", "LYM": "LYM", "PARK": "parkinsons", "VC": "VC",
    "WPBC": "BCW", "Breast": "BRE", "Colon": "COL", "GLI": "GLI", "EC": "ECO",
    "IONO": "ionosphere", "WQ": "WQ_red", "Prostate": "PRO",
}  # fmt: skip
# Printed for other data, or for another procedure: they say nothing of a method.
NOT_THE_SAME = ("GI", "BRE", "Breast")
# Tables 2 and 3, last rows: wins, ties, losses of IGT (of BIM) over 20 sets; Table 1: of B4G, 5.
PRINTED_WTL = {
    ("IGT", "SV2"): "16,2,2", ("IGT", "DT"): "16,3,1", ("IGT", "NBC"): "19,1,0",
    ("IGT", "1NN"): "17,2,1", ("IGT", "3NN"): "18,2,0", ("IGT", "REL"): "19,1,0",
    ("IGT", "RFF"): "19,1,0", ("IGT", "SIM"): "19,1,0", ("IGT", "LFE"): "18,2,0",
    ("IGT", "LDA"): "15,4,1", ("IGT", "IM4"): "19,0,1", ("BIM", "ADB"): "17,3,0",
    ("BIM", "RF"): "11,8,1", ("B4G", "SV2"): "4,0,1", ("B4G", "DT"): "5,0,0",
    ("B4G", "NBC"): "5,0,0", ("B4G", "1NN"): "5,0,0", ("B4G", "3NN"): "4,0,1",
    ("B4G", "RF"): "3,1,1", ("B4G", "IM4"): "3,1,1",
}  # fmt: skip


@attrs.frozen
class Printed:
    """One printed accuracy, in percent: where it is printed, our names of its method and set."""

    table: str
    printed_set: str
    name: str
    method: str
    accuracy: float


def published(path: Path) -> Iterator[Printed]:
    """The printed accuracies, once for each of our methods that corresponds to one."""
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            if row["paper"].startswith("IMMIGRATE"):
                name, method = row["dataset"], row["method"]
            elif row["paper"] == "IM4E":
                name = IM4E_SETS.get(row["dataset"], row["dataset"])
                method = IM4E_NAMES.get(row["method"], "")
            else:
                continue
            table = f"{row['paper'].replace('_', ' ')} Table {row['table']}"
            for ours in (method, *VARIANTS.get(method, ())):
                if ours in METHODS and name in ONLY_ON.get(ours, (name,)):
                    yield Printed(table, row["dataset"], name, ours, float(row["accuracy"]))


def chain_of(method: str, name: str) -> str:
    """The chain for a method: with a screen on wide sets, with prototypes on long ones."""
    base = METHODS[method]
    if name in WIDE and method not in UNSCREENED:
        return f"{SCREEN} {base}"
    learner, n = LEARNED_FROM.get((method, name), ("", 0))
    stages = base.split(" ")
    for place, stage in enumerate(stages):
        selector, colon, rest = stage.partition(":")
        if selector == learner:
            stages[place] = f"{selector}:prototypes={n}" + (f",{rest}" if colon else "")
    return " ".join(stages)


def fixed(sigma: float, prune: bool, update: str = "") -> str:
    """IMMIGRATE with fixed values of the parameters that are tuned otherwise."""
    text = f"immigrate:sigma={sigma:g},prune={str(prune).lower()},top=1.0"
    return f"{text},{update} margin" if update else f"{text} margin"


def guess(method: str, table: Dataset) -> float:
    """Estimated seconds of a first repetition; later ones are measured."""
    wide = table.n_features > 1000 and method not in UNSCREENED
    n, p = min(table.n_samples, 10_000), 500 if wide else table.n_features
    price = {
        "IM4": 20e-6, "IMF": 20e-6, "IGT": 15e-6, "IGP": 15e-6, "IGR": 5e-6, "EGT": 30e-6,
        "BIM": 15e-6, "BIP": 15e-6, "BI3": 5e-7, "B4G": 25e-6, "LOGO": 30e-6, "GFP": 10e-6,
        "IG1": 1e-6,
    }  # fmt: skip
    if method in ("HIN", "HIP"):
        return 5e-5 * n * p * p + 2.0
    if n > 3000 and method in ("IGT", "IGR", "IG1", "IGP"):
        n = 3600 if method == "IGP" else 900
    return price.get(method, 5e-7) * n * n * p + 0.1
