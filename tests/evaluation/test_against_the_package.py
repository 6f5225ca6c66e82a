"""A fold as the R package does it: its own predictions of rows that were held out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fsframe.evaluation.folds import FoldTask
from fsframe.table.dataset import Dataset

REFERENCES = Path(__file__).parents[1] / "plugins" / "margin" / "references.npz"
# Classes that Immigrate 0.2.1 (R 4.2.2) predicts for the rows 0, 3, 6, … when it learns from the
# others: one.Immigrate from W = I/√A with its own stopping rule, then its predict. Neither table is
# standardised again.
HELD_OUT = {
    ("park", 0.5): "11011011110011000011001111111111111111111111111111111100000110010",
    ("park", 1.0): "11011011110011000011001111111111111111111111111111111100000110010",
    ("park", 4.0): "11011111110011000011001111111111111111111111011111111100000111010",
    ("syn_xor", 0.5): "01110110111100110100",
    ("syn_xor", 1.0): "00110110111100110100",
    ("syn_xor", 4.0): "00110010110100110100",
}
PACKAGE = (
    "immigrate:sigma={},update=psd-clip,line-search=false,max-iter=10,standardize=false,"
    "start=identity,top=1.0 margin:standardize=false"
)


@pytest.mark.parametrize(("name", "sigma"), sorted(HELD_OUT))
def test_a_fold_predicts_what_the_r_package_predicts(name, sigma):
    with np.load(REFERENCES) as held:
        data = Dataset.from_arrays(held[f"{name}/X"], held[f"{name}/y"])
    tested = np.arange(data.n_samples) % 3 == 0
    found = FoldTask(base=PACKAGE.format(sigma)).select(data.with_counts((~tested).astype(int)))
    assert "".join(map(str, found.tables["predicted"])) == HELD_OUT[name, sigma]
