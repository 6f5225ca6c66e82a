"""Use fsframe in a program: pick methods from the registry, run them, read the result."""

from __future__ import annotations

from pathlib import Path

import fsframe


def main() -> None:
    data = fsframe.read(Path(__file__).with_name("parkinsons.csv"))

    # The registry maps names to classes and their providers. A class is imported when it is used.
    print("selectors:", ", ".join(fsframe.selectors))
    print("immigrate comes from", fsframe.selectors.offer("immigrate").provider)

    # One selector.
    immigrate = fsframe.selectors["immigrate"](sigma=0.5, top=5)
    selection = immigrate.select(data)
    print("immigrate:", ", ".join(data.feature_names[column] for column in selection.selected))
    for a, b, weight in selection.pair_weights.top(3):
        print(f"  {data.feature_names[a]} with {data.feature_names[b]}: {weight:.3f}")

    # A chain, run with a seed: the same seed gives the same bits.
    record = fsframe.Chain.parse("immigrate npfs").run(data, seed=1)
    print("immigrate npfs:", ", ".join(record.selected_names))

    # How similar are the answers on ten different halves of the data?
    import numpy as np

    rng = np.random.default_rng(0)
    kept = np.zeros((10, data.n_features), dtype=bool)
    for run in kept:
        half = rng.permutation(data.n_samples)[: data.n_samples // 2]
        run[immigrate.select(data.take_rows(half)).selected] = True
    kuncheva = fsframe.stability_metrics["kuncheva"]()
    print(f"Kuncheva index of ten halves: {float(kuncheva(kept)):.2f}")


if __name__ == "__main__":
    main()
