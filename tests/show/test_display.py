"""Results on a terminal: pairs under the name of their weight, and tables that line up."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from fsframe.chains.chain import Chain
from fsframe.show.display import protocol_csv, protocol_object, result_lines, result_object
from fsframe.table.dataset import Dataset
from fsframe.text import printable, shown_width, table_lines


def shifted_table() -> Dataset:
    """Two correlated columns whose difference tells the classes apart (IMMIGRATE, §4.1)."""
    rng = np.random.default_rng(0)
    shape = np.array([[1.0, 0.5], [0.5, 1.0]])
    rows = [rng.multivariate_normal(centre, shape, 100) for centre in ((4, 2), (6, 0))]
    return Dataset.from_arrays(np.vstack(rows), np.repeat([0, 1], 100), ["f1", "f2"])


def test_a_negative_weight_is_printed_with_its_sign() -> None:
    record = Chain.parse("lfe:top=2").run(shifted_table())
    assert record.pairs[0].weight < -0.3 and record.n_pairs == 1
    lines = list(result_lines(record, None))
    at = next(i for i, line in enumerate(lines) if line.startswith("Pairs by"))
    assert lines[at] == "Pairs by metric weight (relevance of both together, not interaction):"
    assert f"{record.pairs[0].weight:.4g}" in lines[at + 2]
    assert result_object(record, None)["pairs"][0][2] == record.pairs[0].weight


def test_weights_that_travelled_keep_the_name_of_their_maker() -> None:
    record = Chain.parse("lfe:top=2 mim:top=2").run(shifted_table())
    stage = record.pair_stage
    assert stage is not None and stage.name == "lfe"
    assert any("Pairs by metric weight" in line for line in result_lines(record, None))


def test_a_kept_feature_is_shown_with_those_that_it_represents() -> None:
    table = shifted_table()
    X = np.column_stack([table.X, table.X[:, 0] * 2])
    record = Chain.parse("correlation").run(Dataset.from_arrays(X, table.y, ["a", "b", "c"]))
    lines = list(result_lines(record, None))
    at = lines.index("correlation: features that represent a cluster")
    assert [line.split() for line in lines[at + 1 :]][:2] == [["feature", "represents"], ["a", "c"]]


@pytest.mark.parametrize("name", ["遺伝子", "ge\u0301ne", "ｗｉｄｅ", "ε\u200d2", ""])
def test_columns_line_up_in_cells_of_the_terminal(name: str) -> None:
    rows = [["plain name", "1"], [name, "22"]]
    header, first, second = table_lines(["feature", "score"], rows, right={1})
    assert shown_width(first) == shown_width(second) == shown_width(header)
    # A joiner without a width of its own is written as an escape, and lined up as such.
    cell = printable(name)
    assert second == cell + " " * (len("plain name") - shown_width(cell)) + "     22"


def test_a_stability_study_is_written_by_metric_and_set_size(tmp_path: Path) -> None:
    X = np.random.default_rng(0).standard_normal((30, 4))
    metrics = "[nogueira,spearman,'nogueira:level=0.9,clip=true']"
    chain = Chain.parse(f"stability-study:base='mim:top=2',n=4,metric={metrics}")
    record = chain.run(Dataset.from_arrays(X, np.arange(30) % 2), seed=1)
    protocol_csv(record, tmp_path / "s.csv", overwrite=False)
    head, *lines = (tmp_path / "s.csv").read_text().splitlines()
    assert head == "metric,k,value,low,high"
    # A name with a comma is one cell.
    assert {len(row) for row in csv.reader(lines)} == {5}
    told = protocol_object(record, None)["stability"]
    whole, *by_size = (line.split(",") for line in lines if line.startswith("nogueira,"))
    assert whole[:2] == ["nogueira", ""]
    assert [float(cell) for cell in whole[2:]] == [
        told["nogueira"]["value"],
        *told["nogueira"]["interval"],
    ]
    assert [row[1] for row in by_size] == ["1", "2", "3", "4"]
    assert float(by_size[1][2]) == told["nogueira"]["by_size"][1]
    # A metric of rankings has no sizes.
    assert [line.split(",")[1] for line in lines if line.startswith("spearman")] == [""]


def test_an_effect_within_its_error_beside_a_small_p_is_explained() -> None:
    # The class depends on whether both are far from 0, on either side: no product shows that.
    X = np.random.default_rng(0).standard_normal((300, 2))
    y = (np.abs(X[:, 0]) > 0.7) ^ (np.abs(X[:, 1]) > 0.7)
    record = Chain.parse("interactions").run(Dataset.from_arrays(X, y.astype(int)), seed=1)
    effect, error = record.pair_tests.tests.values_of(0, 1, ("effect", "standard_error"))
    assert record.pair_tests.tests.p_values[0] < 1e-4 and abs(effect) < 2 * error
    shown = " ".join(" ".join(result_lines(record, None)).split())
    assert "p is from a test over bins, which detects any shape" in shown
