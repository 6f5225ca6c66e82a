"""Digests of forty chains, to show that a reorganisation changed no bit of any result.

    python benchmarks/digests/chains.py --out before.json      # on one checkout
    python benchmarks/digests/chains.py --against before.json  # on the other

Each chain runs on every fourth row of examples/parkinsons.csv with seed 1. A digest covers the
names, parameters and arrays of every stage, not times or versions. Exit status 1 if one differs.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np

import fsframe

TABLE = Path(__file__).resolve().parents[2] / "examples" / "parkinsons.csv"

CHAINS = (
    "immigrate",
    "immigrate:update=psd-clip,line_search=false",
    "immigrate:sigma=cv",
    "immigrate:prune=true",
    "immigrate:screen=8,top=5",
    "im4e immigrate",
    "im4e:sigma=cv",
    "bim:rounds=10",
    "im4e bim-vote:rounds=10",
    "simba",
    "gflip",
    "irelief",
    "lfe",
    "logo",
    "mbiw simba-mbiw weighted-knn",
    "simba-mbiw:strategy=order",
    "relief",
    "relieff:k=7",
    "relieff:missing=probability",
    "surf",
    "surfstar",
    "multisurf",
    "multisurfstar",
    "swrfstar",
    "iterative-relief",
    "relieved-f",
    "vls",
    "relieff turf",
    "mim:top=5",
    "mim:pairs=synergy",
    "mrmr:top=5",
    "jmi:top=5",
    "cmim:top=5",
    "disr:top=5",
    "fcbf",
    "anova-f",
    "symmetric-uncertainty:top=5",
    "mim:top=8 npfs:n=12,permutations=4,alpha=0.2",
    "relieff:top=5 ensemble:n=10",
    "cross-validation:base=(mim:top=3 knn),folds=3,repeats=2",
)


def main() -> int:
    """Run the chains and print, write or compare their digests."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, help="write the digests here")
    parser.add_argument("--against", type=Path, help="compare with digests written before")
    asked = parser.parse_args()
    whole = fsframe.read(TABLE)
    rows = np.arange(0, whole.n_samples, 4)
    data = fsframe.Dataset.from_arrays(
        whole.X[rows],
        [whole.classes[code] for code in whole.y[rows]],
        feature_names=whole.feature_names,
        name="parkinsons",
    )
    found = {}
    for text in CHAINS:
        began = time.perf_counter()
        found[text] = fsframe.Chain.parse(text).run(data, seed=1).digests()
        print(f"{found[text]['/result'][:16]}  {time.perf_counter() - began:6.2f} s  {text}")
    if asked.out:
        asked.out.write_text(json.dumps(found, indent=1))
    if asked.against:
        before = json.loads(asked.against.read_text())
        differing = [text for text in CHAINS if before.get(text) != found[text]]
        print(f"{len(CHAINS) - len(differing)} of {len(CHAINS)} chains have equal digests")
        for text in differing:
            print(f"differs: {text}")
        return int(bool(differing))
    return 0


if __name__ == "__main__":
    sys.exit(main())
