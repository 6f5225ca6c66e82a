"""Plots that plugins add, where results draw them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from fsframe.show import comparison_results
from fsframe.show.plots import Kind


@pytest.mark.parametrize(("options", "given"), [(("metric",), "auc"), ((), None)])
def test_a_plot_of_a_plugin_gets_the_measure_of_the_comparison_if_it_takes_one(
    monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], given: str | None
) -> None:
    kind = Kind(target="", shows="bars", needs="runs", several=True, options=options)
    drawn: dict[str, Any] = {}

    def draw(name: str, runs: Any, **asked: Any) -> None:
        drawn.update(asked, name=name)

    monkeypatch.setattr(comparison_results, "known_kinds", lambda: {"bars": kind})
    monkeypatch.setattr(comparison_results, "draw", draw)
    monkeypatch.setattr(comparison_results, "shown_picture", lambda picture, _: picture)
    compared: Any = SimpleNamespace(
        comparison=SimpleNamespace(metric="auc"), chains=(), data=("t",), record=None
    )
    comparison_results.ComparisonResult.plot(compared, "bars")
    assert (drawn["name"], drawn["metric"]) == ("bars", given)
