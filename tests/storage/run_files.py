"""A run record with everything the format knows; its file tampered with, damaged and opened."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from fsframe.method.pair_tests import PairTests
from fsframe.method.selection import PairWeights, Selection
from fsframe.storage import DataRecord, PairTestRecord, RunRecord, StageRecord, write_run
from fsframe.storage.spec import SEAL_BYTES, make_seal
from tests.command_line import python

ROOT = Path(__file__).resolve().parents[2]
STAGE = "stages/01-immigrate"
Edit = Callable[[h5py.File], None]


def build_record(**changes: Any) -> RunRecord:
    """A record of three stages on 40 samples × 7 features; `changes` replace fields of the run."""
    rng = np.random.default_rng(11)
    names = ["Jitter(%)", "σ", "b c", "d\x1b[2J", "", "f/g", "ünï"]
    W = rng.normal(size=(4, 4))
    scores = rng.normal(size=7)
    scores[6] = np.nan
    screening = Selection(
        selected=[2, 0, 5, 1],
        scores=scores,
        weights=rng.random(7),
        features_in=np.arange(7),
        warnings=("ties were broken by column",),
    )
    margin = Selection(
        selected=[5, 2],
        scores=np.where(np.isin(np.arange(7), [0, 1, 2, 5]), scores, np.nan),
        weights=rng.random(7),
        pair_weights=PairWeights([0, 1, 2, 5], W + W.T),
        instance_weights=rng.random(40),
        model={"W": W + W.T, "mean": rng.normal(size=4)},
        tables={
            "cost": np.array([3.0, 2.0, 1.5]),
            "bootstrap": rng.random((50, 7)) < 0.5,
            "counts": rng.integers(0, 9, size=(3, 4, 5), dtype=np.int16),
            "single": rng.normal(size=6).astype(np.float32),
            "names": np.array([["α", "longer"], ["", "x"]]),
            "empty": np.zeros((0, 3)),
            "iterations": np.int64(17),
            "naïve name": np.arange(3, dtype=np.uint8),
        },
        features_in=[0, 1, 2, 5],
        carried={"weights"},
    )
    sparse = Selection(
        selected=[5],
        scores=scores,
        pair_weights=PairWeights.from_triplets(
            [2, 5, 6], [0, 0], [1, 2], [0.5, 0.25], diagonal=[1.0, 2.0, 3.0]
        ),
        features_in=np.arange(7),
    )
    fields: dict[str, Any] = {
        "chain": "mim:top=4 immigrate:sigma=0.5 npfs stranger/knn",
        "command": "fsframe chain mim immigrate npfs stranger/knn on 'my table.csv'",
        "created": "2026-01-02T03:04:05+00:00",
        "seed": 2**127 + 1,
        "fsframe_version": "0.1.0",
        "data": DataRecord(
            name="toy",
            source="my table.csv",
            sha256="ab" * 32,
            label="class",
            n_samples=40,
            n_features=7,
            feature_names=names,
            class_names=["ill", "well"],
        ),
        "stages": [
            StageRecord(name="mim", provider="fsframe", provider_version="0.1.0",
                        params={"top": 4, "bins": None}, selection=screening, seconds=0.25,
                        seed=(0,)),
            StageRecord(name="immigrate", provider="fsframe", provider_version="0.1.0",
                        params={"sigma": 0.5, "prune": False, "grid": [4, 2.5]},
                        selection=margin, seconds=1.5, seed=(1, 3)),
            StageRecord(name="npfs", provider="fsframe", provider_version="0.1.0",
                        params={}, selection=sparse, seed=(2,)),
            StageRecord(name="stranger/knn", kind="classifier", provider="stranger",
                        provider_version="9", params={"k": 5}, features_in=[5],
                        model={"X": rng.normal(size=(40, 1))}, warnings=("few rows",)),
        ],
        "selected": [5],
        "scores": scores,
        "pair_tests": PairTestRecord(
            name="interactions",
            provider="stranger",
            provider_version="9",
            seed=(4,),
            tests=PairTests(
                columns=[0, 2, 5],
                pairs=[[0, 5], [2, 5], [1, 6]],
                p_values=[1e-300, 0.25, 1.0],
                q_values=[1e-299, 0.5, 1.0],
                n_tested=4,
                n_chosen_from=21,
                tables={"g2": np.array([900.0, 3.0, 0.0]), "freedom": np.array([4, 4, 2])},
            ),
        ),
        "warnings": ["1 column with one value only: σ"],
        "environment": {"python": "3.11", "numpy": "2", "threads": 2},
    }  # fmt: skip
    return RunRecord(**(fields | changes))


def sealed(path: Path, image: bytes, *version: int) -> Path:
    """A run file of these bytes with a seal that fits them."""
    path.write_bytes(make_seal(image, *version) + image)
    return path


def tampered(source: Path, target: Path, edit: Edit) -> Path:
    """A copy of a run file after `edit`, sealed as somebody with bad intent would."""
    target.write_bytes(source.read_bytes())
    with h5py.File(target, "r+") as file:
        edit(file)
    return sealed(target, target.read_bytes()[SEAL_BYTES:])


def flipped(source: Path, folder: Path, count: int, seed: int) -> list[str]:
    """Copies of a run file with one bit changed each, sealed again."""
    image = bytearray(source.read_bytes()[SEAL_BYTES:])
    rng = np.random.default_rng(seed)
    paths = []
    for number, place in enumerate(rng.integers(len(image), size=count).tolist()):
        bit = 1 << int(rng.integers(8))
        image[place] ^= bit
        paths.append(str(sealed(folder / f"flip-{number}.h5", bytes(image))))
        image[place] ^= bit
    return paths


def zeros(shape: tuple[int, ...], chunks: tuple[int, ...], **options: object) -> Edit:
    """A table `x` of zero bytes with the checksum, in chunks, gzip by default."""

    def edit(file: h5py.File) -> None:
        given = {"dtype": "u1", "compression": "gzip", "fletcher32": True, **options}
        data = file.create_dataset(f"{STAGE}/tables/x", shape, chunks=chunks, **given)
        block = np.zeros(chunks, dtype=data.dtype)
        for first in range(0, shape[0], chunks[0]):
            data[first : first + chunks[0]] = block[: shape[0] - first]

    return edit


OPENING = """
import json, resource, sys, time
import fsframe.storage.read
from fsframe.errors import StoreError
from fsframe.storage import load_run
with open("/proc/self/statm") as statm:
    taken = int(statm.read().split()[0]) * resource.getpagesize()
most = taken + (256 << 20)
resource.setrlimit(resource.RLIMIT_AS, (most, most))
for path in json.load(sys.stdin):
    print(json.dumps([path, "the process died", 0]), flush=True)
    start = time.process_time()
    try:
        load_run(path)
        outcome = "read"
    except StoreError as error:
        outcome = str(error)
    print(json.dumps([path, outcome, time.process_time() - start]), flush=True)
"""

needs_statm = pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="the address space is read there"
)


def opened(paths: list[str]) -> dict[str, tuple[str, float]]:
    """What opening each came to in 256 MiB beyond the libraries', and the processor seconds.

    In a process of its own, so that a crash of the HDF5 library would be seen as such.
    """
    done = python("-c", OPENING, given=json.dumps(paths), cwd=ROOT)
    lines = [json.loads(line) for line in done.out.splitlines()]
    return {path: (outcome, seconds) for path, outcome, seconds in lines}


def opened_cases(folder: Path, cases: dict[str, tuple[Edit, str]]) -> dict[str, str]:
    """What opening a sound file, and one after each edit, came to."""
    sound = write_run(folder / "sound.h5", build_record())
    paths = {"sound": str(sound)}
    for number, (name, (edit, _)) in enumerate(cases.items()):
        paths[name] = str(tampered(sound, folder / f"{number}.h5", edit))
    result = opened(list(paths.values()))
    return {name: result[path][0] for name, path in paths.items()}
