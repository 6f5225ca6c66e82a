"""Settings that change how a method computes keep its laws; senseless ones are refused."""

from __future__ import annotations

import itertools

import attrs
import pytest

import fsframe
from fsframe.errors import RequestError
from fsframe.testing import suite_for
from tests.grids import diagonal

# What draws at random depends on the order of the table.
FIXED = [
    "immigrate:update=psd", "immigrate:prune=true,sigma=0.5", "im4e:line_search=true",
    "simba-mbiw:refresh=7,instance_scale=mean", "bim:rounds=4,start=identity",
    "mrmr:form=quotient", "jmi:form=mean",
    "jmi:estimator=knn", "anova-f:ranks=true", "relieff:k=5,ramp=[0.05,0.2]",
    "relieff:weighting=rank,k=9", "relieff:weighting=distance,k=9",
    "relieff:k=5,missing=probability",
]  # fmt: skip
DRAWING = [
    "immigrate:start=random", "immigrate:sigma=cv,folds=3", "im4e:sigma=cv,folds=3,start=random",
    "simba:order=given", "simba:passes=2", "simba-mbiw:strategy=sample",
    "simba-mbiw:strategy=normal", "bim:rounds=4", "relieff:k=5,m=20", "surf:permutations=39",
]  # fmt: skip
ORDER = [
    "order_of_columns_does_not_matter", "order_of_rows_does_not_matter", "scale_changes_nothing",
    "a_constant_column_comes_last",
]  # fmt: skip
RUNS = [
    "number_of_threads_changes_no_bit", "many_resamples_equal_one_by_one",
    "a_class_of_one_row_is_handled", "a_column_that_separates_the_classes_comes_first",
]  # fmt: skip


# Of any two in a row, one is of the order.
CHECKS = [check for pair in zip(ORDER, RUNS, strict=True) for check in pair]


@pytest.mark.parametrize(("text", "check"), diagonal([*FIXED, *DRAWING], CHECKS, width=2))
def test_a_variant_keeps_the_law(text, check):
    suite = suite_for(text)
    if check in suite.exceptions or (check in ORDER and text in DRAWING):
        pytest.skip("the method has an exception, or draws in the order of the table")
    getattr(suite(), f"test_{check}")()


# What no method can be asked for is refused by the parameter's name, before work starts


WORK = {"n", "permutations", "permuted_n", "fits", "draws", "trees", "rounds", "passes"}
WORK |= {"penalties", "repeats", "max_runs"}
"""Parameters that say how often something is done, whatever the table is like."""

# The most rounds, after which it ends if weights have not settled before.
LIMITS = {("iterative-relief", "rounds")}


def asked() -> list[tuple[str, str]]:
    return [
        (name, field.name)
        for name in sorted(fsframe.selectors)
        for field in attrs.fields(fsframe.selectors[name])
        if field.name in WORK and (name, field.name) not in LIMITS
    ]


def test_every_method_that_repeats_is_asked():
    assert len(asked()) > 25
    assert {name for _, name in asked()} == WORK


@pytest.mark.parametrize("times", [2**32, 10**18])
@pytest.mark.parametrize(("name", "parameter"), asked())
def test_four_billion_times_is_refused(name, parameter, times):
    with pytest.raises(RequestError, match=parameter):
        fsframe.selectors[name](**{parameter: times})


REQUIRED = {
    "sklearn-selector": {"estimator": "SelectKBest"},
    "sklearn": {"estimator": "GaussianNB"},
}
FREE = {"base", "classifier", "estimator"}
BELOW_ZERO = {"delta", "threshold", "impute"}
"""Parameters that are texts, and those that may be negative."""

METHODS = [
    (registry, name)
    for registry in (fsframe.selectors, fsframe.classifiers, fsframe.stability_metrics)
    for name in registry
]


@pytest.mark.parametrize(("registry", "name"), METHODS)
def test_what_is_outside_the_range_of_a_parameter_is_refused(registry, name):
    parameters = {parameter.name for parameter in registry[name].parameters()} - FREE
    wrong_values = (-1, float("nan"), float("inf"), "no such thing")
    for parameter, wrong in itertools.product(sorted(parameters), wrong_values):
        if wrong == -1 and parameter in BELOW_ZERO:
            continue
        values = REQUIRED.get(name, {}) | {parameter: wrong}
        with pytest.raises(RequestError, match=parameter):
            pytest.fail(f"{registry[name](**values)!r} was accepted")


# What contradicts itself is refused in words, before any table is looked at

CONTRADICTIONS = {
    "npfs:null=published,permutations=5": "permutations is for",
    "npfs:null=published,compare=own": "compare is for",
    "npfs:bias=0.1": "bias",
    "npfs:null=shards,fraction=0.5": "fraction is for bootstraps",
    "npfs:null=shards,stratify=false": "stratify is for bootstraps",
    "npfs:null=shards,settle=0.01": "settle is for bootstraps",
    "npfs:fits=5000": "fits limits what settle adds",
    "npfs:fits=5000,settle=0.1,null=published": "fits limits what settle adds",
    "npfs:fits=1000000000000,settle=0.1": "at most 1e.08 are allowed",
    "npfs:permuted_n=5,null=published": "permuted_n is for null=permutation",
    "npfs:permuted_n=50,n=20": "permuted_n=50 is more than n=20",
    "cpss:permutations=9": "permutations is for bound=permutation",
    "cpss:threshold=0.4,bound=unimodal": r"needs a threshold above 0\.5",
    "ipss:level=0.05,bound=permutation,permutations=18": r"kept at 0\.05; at least 19 are",
    "surf:permutations=10,level=0.05": "at least 19 are needed",
    "surf:level=0.05": "level needs permutations",
    "surf:permutations=99,missing=probability": "missing=skip",
    "surf:ramp=[0.3,0.1]": "equal < different",
    "vls:permutations=99": "permutations are not supported",
    "vls:level=0.05": "level needs permutations",
    "iterative-relief:permutations=99": "permutations are not supported",
    "iterative-relief:level=0.05": "level needs permutations",
    "relieff:permutations=4294967296": r"4294967296 means 4.* fits, and 800",
    "mim:discretise=edges": "needs edges",
    "mim:edges=[1.0]": "edges are used with discretise=edges only",
    "mim:discretise=edges,edges=[2.0,1.0]": "ascend",
    "mim:given=[a],exclude=[a]": "cannot be both given and excluded",
    "mim:estimator=knn,missing=level": "no distances",
    "mrmr:estimator=knn,stop=significant": "stop=significant tests counts",
    "jmi:estimator=knn,pairs=joint": "pairs are counted",
    "immigrate:l1=0.1,update=psd": "l1 has a closed-form update",
    "immigrate:l1=0.1,prune=true": "set one of l1 and prune",
    "bim:sigma_max=0.1,sigma_min=1": "sigma_min",
    "im4e:margins=true,prototypes=10": "margins reports on every row",
    "importance:of=os.system": "FSFRAME_SKLEARN_ALLOW",
    "importance:of=RandomForestClasifier": "Did you mean `RandomForestClassifier`",
    "importance:of=SelectKBest": "classifiers and regressors",
    "importance:of=KMeans": "classifiers and regressors",
    'importance:options={"depth": 3}': "does not accept its options",
    'importance:options={"n_jobs": 2}': "n_jobs",
    "importance:options=[1]": "JSON object",
    "importance:measure=own,scoring=r2": "scoring is for measure=held-out",
    "importance:measure=held-out,scoring=r3": "not one of",
    "sklearn-selector:estimator=SVC": "own selectors",
    'sklearn-selector:estimator=SelectKBest,options={"score_func": "os"}': "score_func",
    'sklearn-selector:estimator=RFE,options={"estimator": "os.system"}': "scikit-learn's own",
    'sklearn-selector:estimator=RFE,options={"estimator": [1]}': "must be a name or",
    "sklearn-selector:estimator=SelectFromModel": "does not accept its options",
    'boruta:options={"depth": 3}': "does not accept its options",
    'boruta:options={"n_estimators": 3}': "use trees instead",
    "boruta:correction=best-shadow,alpha=0.05,max_runs=18": "takes max_runs=19 or more",
    "rfecv:scoring=nothing": "not one of",
    "sklearn:estimator=sklearn.nowhere.Thing": "not one of scikit-learn's own",
    "sklearn:estimator=sklearn.svm.Nothing": "not one of scikit-learn's own",
    "sklearn:estimator=sklearn.preprocessing.StandardScaler": "not one of scikit-learn's own",
    "sklearn:estimator=SVX": "Did you mean `SVR`",
    'sklearn:estimator=SVC,options={"depth": 3}': "does not accept its options",
    'sklearn:estimator=SVC,options={"C": -1}': "does not accept its options",
    "sklearn:estimator=SVC,options=[1]": "must be a JSON object",
    "sklearn:estimator=SVC,options='{'": "is not JSON",
}


@pytest.mark.parametrize("stage", CONTRADICTIONS)
def test_settings_that_contradict_each_other_are_refused_with_the_reason(stage):
    with pytest.raises(RequestError, match=CONTRADICTIONS[stage]):
        fsframe.Chain.parse(stage)
