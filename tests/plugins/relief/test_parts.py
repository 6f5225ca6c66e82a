"""Drawn instances against all rows of a table in parts: any division, and nearly memory's bits."""

from __future__ import annotations

import itertools
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
from tests.plugins.shared import divided, selected_in_parts

N = 200


def table(kind: str) -> polars.DataFrame:
    rng = np.random.default_rng(7)
    y = rng.integers(0, 3, N)
    columns: dict[str, np.ndarray] = {}
    if kind != "codes":
        columns |= {f"real{k}": rng.normal(size=N) + 0.4 * k * y for k in range(4)}
        columns["half"] = rng.integers(0, 9, N) / 2
        columns["wide"] = rng.integers(0, 5000, N).astype(float)
    if kind != "numbers":
        columns |= {f"code{k}": np.where(rng.random(N) < 0.2 * k, y, rng.integers(0, 3, N))
                    for k in range(4)}  # fmt: skip
    columns["same"] = np.ones(N)
    frame = polars.DataFrame({**columns, "y": y})
    # Copies of rows, of their own class and of others: neighbours at distance zero, and ties.
    twins = frame[:30].with_columns(y=polars.Series(rng.integers(0, 3, 30)))
    return polars.concat([frame, twins, frame[:20]])


CHAINS = (
    "relieff:m=20", "relieff:m=20,k=3", "relief:m=30", "relieff:m=15,weighting=rank,k=20",
    "relieff:m=15,weighting=distance,k=15", "relieff:m=5000,k=2", "relieff:m=10,k=400",
    "relieff:m=10,discrete_features=none", "relieff:m=10,discrete_features=all,top=3",
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "kind"),
    [*((text, "both") for text in CHAINS), *itertools.product(CHAINS[:3], ["numbers", "codes"])],
)
def test_any_division_threads_and_memory_give_the_same_bits(
    text: str, kind: str, tmp_path: Path
) -> None:
    frame, chain = table(kind), Chain.parse(text)
    expected = chain.select(fsframe.read(frame))
    # With the least memory nearly every instance takes a pass of its own.
    scarce = (160 if text == CHAINS[0] else 500) * len(frame)
    ways = [((), 1, 1 << 30), ((1, 2, 180), 2, 1 << 30), ((160,), 3, scarce)]
    found = selected_in_parts(chain, frame, tmp_path, ways)
    for each in found:
        assert each.scores.tobytes() == found[0].scores.tobytes()
        np.testing.assert_array_equal(each.selected, found[0].selected)
        np.testing.assert_allclose(each.scores, expected.scores, rtol=0, atol=1e-13)
        assert each.warnings == expected.warnings


@pytest.mark.parametrize("text", CHAINS)
def test_codes_as_bytes_give_the_bits_of_numbers(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, chain = divided(table("codes"), tmp_path / "p", (150,)), Chain.parse(text)
    found = chain.select(data).scores
    monkeypatch.setattr(part_scores._Rows, "as_bytes", False)
    assert chain.select(data).scores.tobytes() == found.tobytes()


def test_equal_rows_beyond_the_lists_are_found_in_longer_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = table("codes")
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


def test_shuffled_rows_give_the_same_bits(tmp_path: Path) -> None:
    frame = table("both")
    method = fsframe.selectors["relieff"](m=60)
    expected = method.select(divided(frame, tmp_path / "a", (150,)))
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=3)
    found = method.select(divided(shuffled, tmp_path / "b", (10, 150)))
    assert found.scores.tobytes() == expected.scores.tobytes()


def test_weights_that_arrive_count_as_in_memory(tmp_path: Path) -> None:
    frame = table("numbers")
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
    frame = table("both")
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
    with pytest.raises(RequestError, match="160 bytes for each of 250 rows"):
        fsframe.selectors["relieff"](m=10).select(data, run=Run(memory=100 * len(frame)))
