"""Drawn instances against all rows of a table in parts: any division, and nearly memory's bits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest

import fsframe
from fsframe import Chain
from fsframe.errors import DataError, RequestError
from fsframe.method.run import Run
from fsframe_relief.engine import part_scores
from tests.plugins.shared import CODES, divided, mixed_table

WITHOUT = ("kind", "person", "gap", "near")


@pytest.mark.parametrize(
    "text", ["relieff:m=20", "relief:m=30", "relieff:m=15,weighting=distance,k=15"]
)
def test_codes_as_bytes_give_the_bits_of_numbers(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, chain = divided(mixed_table(*CODES, twins=30), tmp_path / "p", (150,)), Chain.parse(text)
    found = chain.select(data).scores
    monkeypatch.setattr(part_scores._Rows, "as_bytes", False)
    assert chain.select(data).scores.tobytes() == found.tobytes()


def test_equal_rows_beyond_the_lists_are_found_in_longer_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = mixed_table(*CODES, twins=30)
    data = divided(polars.concat([frame] * 3), tmp_path / "p", (150,))
    chain = Chain.parse("relieff:m=50,k=1")
    monkeypatch.setattr(part_scores, "MOST_LISTED", 1)
    lost: list[int] = []
    real = part_scores.near_rows

    def near_rows(*given: Any) -> Any:
        found = real(*given)
        lost.append(int(found.lost.sum()))
        return found

    monkeypatch.setattr(part_scores, "near_rows", near_rows)
    found = chain.select(data).scores
    assert lost[0] > 0
    assert lost[-1] == 0
    monkeypatch.undo()
    assert chain.select(data).scores.tobytes() == found.tobytes()


@pytest.mark.parametrize("more", [0, 240])
def test_shuffled_rows_give_the_same_bits(tmp_path: Path, more: int) -> None:
    """With many columns, the rows of a part are in two tiles."""
    frame = mixed_table(*WITHOUT, twins=30)
    noise = np.random.default_rng(2).normal(size=(len(frame), more))
    frame = frame.hstack([polars.Series(f"n{k}", noise[:, k]) for k in range(more)])
    method = fsframe.selectors["relieff"](m=60)
    expected = method.select(divided(frame, tmp_path / "a", (150,), label="y"))
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=3)
    found = method.select(divided(shuffled, tmp_path / "b", (10, 150), label="y"))
    assert found.scores.tobytes() == expected.scores.tobytes()


def test_weights_that_arrive_count_as_in_memory(tmp_path: Path) -> None:
    frame = mixed_table(*WITHOUT, "code", twins=30)
    rng = np.random.default_rng(1)
    from fsframe.method.selection import Selection

    whole = fsframe.read(frame)
    before = Selection(
        selected=np.arange(whole.n_features),
        scores=np.ones(whole.n_features),
        instance_weights=rng.random(len(frame)),
    )
    method = fsframe.selectors["relieff"](m=60)
    expected = method.select(whole, before)
    found = method.select(divided(frame, tmp_path / "a", (150,)), before)
    np.testing.assert_allclose(found.scores, expected.scores, rtol=0, atol=1e-13)


def test_what_needs_all_instances_is_advised_to_draw_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = mixed_table(*WITHOUT, twins=30)
    monkeypatch.setenv("FSFRAME_TABLE_MEMORY", str(8 * len(frame) * 4))
    data = divided(frame, tmp_path / "p", (150,))
    for text in ("relieff:m=100", "relief:m=7"):
        Chain.parse(text).check_request(data)
    with pytest.raises(DataError, match="or use m=1000"):
        Chain.parse("relieff").check_request(data)
    for text in ("relieff:m=9,ties=index", "relieff:m=9,ramp=[0.1,0.5]", "multisurf:m=9",
                 "relieff:m=9,permutations=99"):  # fmt: skip
        with pytest.raises(DataError, match="needs its table in memory") as told:
            Chain.parse(text).check_request(data)
        assert "m=1000" not in str(told.value)
    with pytest.raises(RequestError, match="160 bytes for each of 545 rows"):
        fsframe.selectors["relieff"](m=10).select(data, run=Run(memory=100 * len(frame)))
