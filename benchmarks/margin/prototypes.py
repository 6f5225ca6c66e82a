"""Many rows: learning from prototypes compared with learning from all rows.

    python benchmarks/margin/prototypes.py --rows 20000 [--method im4e]
    python benchmarks/margin/prototypes.py --data ELE.csv.gz
    python benchmarks/margin/prototypes.py --rows 100000 --draws       a minute: draws alone
    python benchmarks/margin/prototypes.py --rows 100000 --continued   half an hour of a processor

The error of a draw is the largest difference of any feature's share Σ_b W_ab² (w of `im4e`); five
draws of each size. With --draws the reference is the mean of the draws of the largest size. With
--continued the descent over all rows starts from what 8000 and then 30,000 prototypes found and
goes on in pieces of two updates, until a piece changes no share by more than 0.0003; the changes
printed for the pieces show how far the limit can be.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from worker import measured

AGAINST_ALL = (8000, 4000, 2000, 1000, 500)
AMONG_THEMSELVES = (4000, 2000, 1000)
FIRST = (8000, 30_000)
SETTLED = 3e-4


def all_rows(common: dict[str, Any], method: str) -> tuple[np.ndarray, set[int]]:
    """Shares and kept features from all rows, in one descent."""
    found = measured({**common, "method": method})
    if "failed" in found:
        raise SystemExit(found["failed"])
    shares = np.array(found["shares"])
    print(
        f"all rows: {found['processor-seconds']:.0f} processor s, peak {found['peak']:.0f} MB, "
        f"{found['iterations']} updates, kept {found['kept']}, largest share {shares.max():.3f}",
        flush=True,
    )
    return shares, set(found["selected"])


def continued(common: dict[str, Any]) -> tuple[np.ndarray, set[int]]:
    """As `all_rows`, starting from the result of the prototypes."""
    task = {**common, "what": "continued", "first": FIRST, "settled": SETTLED}
    found = measured(task, watch=True)
    if "failed" in found:
        raise SystemExit(found["failed"])
    shares = np.array(found["shares"])
    print(
        f"all rows, from {FIRST[-1]} prototypes: {found['processor-seconds']:.0f} processor s, "
        f"peak {found['peak']:.0f} MB, kept {len(found['selected'])}, largest share "
        f"{shares.max():.3f}; largest change of a share in each piece: "
        + ", ".join(f"{change:.5f}" for change in found["changes"]),
        flush=True,
    )
    return shares, set(found["selected"])


def draws(
    common: dict[str, Any],
    method: str,
    sizes: tuple[int, ...],
    truth: tuple[np.ndarray, set[int]] | None,
) -> None:
    """Five draws of each size, compared with the reference, or with the mean of the first size."""
    for m in sizes:
        runs = [
            measured({**common, "method": f"{method}:prototypes={m}", "seed": seed})
            for seed in range(5)
        ]
        shares = np.array([run["shares"] for run in runs])
        if truth is None:
            mean = shares.mean(axis=0)
            truth = mean, set(np.flatnonzero(mean > 1 / len(mean)).tolist())
        errors = np.abs(shares - truth[0]).max(axis=1)
        same = sum(set(run["selected"]) == truth[1] for run in runs)
        print(
            f"{m:5} prototypes: {np.mean([r['processor-seconds'] for r in runs]):.2f} processor s, "
            f"peak {max(r['peak'] for r in runs):5.0f} MB; largest error of a share, five draws: "
            f"mean {errors.mean():.4f}, worst {errors.max():.4f}; same features kept in {same}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="a table")
    parser.add_argument("--rows", type=int, default=20_000, help="of a simulated table, 20 columns")
    parser.add_argument("--method", default="immigrate", choices=["immigrate", "im4e"])
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--draws", action="store_true", help="no run over all rows")
    way.add_argument("--continued", action="store_true", help="all rows, from prototypes")
    options = parser.parse_args()
    if options.continued and options.method != "immigrate":
        parser.error("--continued goes with immigrate only: im4e does not start from what arrives")
    table = {"data": options.data} if options.data else {"rows": options.rows, "columns": 20}
    common = {"what": "select", "memory": 2 << 30, "shares": True, **table}
    print(f"{options.method}, {table}", flush=True)
    if options.draws:
        draws(common, options.method, AMONG_THEMSELVES, None)
        return
    if options.continued:
        draws(common, options.method, AMONG_THEMSELVES, continued(common))
    else:
        draws(common, options.method, AGAINST_ALL, all_rows(common, options.method))


if __name__ == "__main__":
    main()
