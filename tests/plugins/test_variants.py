"""Settings that change how a method computes keep the laws to which its defaults are held."""

from __future__ import annotations

import pytest

from fsframe.testing import suite_for

# What draws at random depends on the order of the table.
FIXED = [
    "immigrate:update=psd", "immigrate:prune=true,sigma=0.5", "im4e:line_search=true",
    "simba-mbiw:refresh=7,instance_scale=mean", "bim:rounds=4,start=identity",
    "im4e:loss=logistic", "mrmr:form=quotient", "jmi:form=mean",
    "jmi:estimator=knn", "anova-f:ranks=true", "relieff:k=5,ramp=[0.05,0.2]",
]  # fmt: skip
DRAWING = [
    "immigrate:start=random", "immigrate:sigma=cv,folds=3", "im4e:sigma=cv,folds=3,start=random",
    "simba:order=given", "simba:passes=2", "simba-mbiw:strategy=sample",
    "simba-mbiw:strategy=normal", "bim:rounds=4",
]  # fmt: skip
ORDER = [
    "order_of_columns_does_not_matter", "order_of_rows_does_not_matter", "scale_changes_nothing",
    "a_constant_column_comes_last",
]  # fmt: skip
RUNS = [
    "number_of_threads_changes_no_bit", "many_resamples_equal_one_by_one",
    "a_class_of_one_row_is_handled", "a_column_that_separates_the_classes_comes_first",
]  # fmt: skip


@pytest.mark.parametrize("check", [*ORDER, *RUNS])
@pytest.mark.parametrize("text", [*FIXED, *DRAWING])
def test_a_variant_keeps_the_law(text: str, check: str) -> None:
    suite = suite_for(text)
    if check in suite.exceptions or (check in ORDER and text in DRAWING):
        pytest.skip("the method has an exception, or draws in the order of the table")
    getattr(suite(), f"test_{check}")()
