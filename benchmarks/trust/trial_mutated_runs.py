"""Run files of each version with one thing changed, and digests and seal made good after it."""

from __future__ import annotations

import io
import os
import random
import resource
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from trials import Trial, command, small_table

from fsframe.storage import spec
from fsframe.storage.guarded_hdf5 import open_image
from fsframe.storage.read import record_and_digests
from fsframe.storage.spec import SEAL_BYTES, Limits, make_seal
from fsframe.table.files.hdf5 import no_hdf5_plugins

CHAINS = (
    "chain mim:top=3 knn on small.csv",
    "chain jmi:top=2 npfs:n=6,null=published on small.csv",
    "evaluate mim:top=2 knn on small.csv --folds 2 --repeats 1",
    "stability anova-f:top=2 on small.csv --n 3",
    "chain immigrate:max_iter=3,top=2 margin on small.csv",
    "chain impute:method=neighbours,k=2 mim:top=2 on gaps.csv",
    "chain interactions:calibrate=3,draws=20 on small.csv",
    "chain anova-f:top=3 ensemble:n=3,base=mim ridge on number.csv",
)
"""Runs to change, of as many kinds of tables in a run file; those of old versions hold less."""
COMMANDS = (
    "show run.h5", "show run.h5 --json", "verify run.h5", "report run.h5 --overwrite",
    "table run.h5", "audit run.h5", "resume run.h5", "inspect run.h5",
    "predict run.h5 on small.csv", "apply run.h5 on small.csv -o applied.csv --overwrite",
    "table run.h5 --pairs", "plot scores run.h5 -o plot.svg --overwrite",
)  # fmt: skip
MOST_MB = 400
"""Memory beyond that of the first commands that no small file may take."""
WORDS = (
    "", "mim", "knn", "npfs", "sklearn:estimator=os.system", "[]", "{}", "[0]", "null", "NaN",
    "{" * 60, "a" * 5000, "<script>", "\x1b[2J", "../../x", "/dev/zero", "-1", "9" * 400,
    "selector", "classifier", "weights", "regression", '{"top":1e9}', '{"top":-1}',
    '{"n":4294967296}', "mim:top=1 knn", "ensemble:base=(ensemble:base=(mim))",
)  # fmt: skip


def as_version(content: bytes, version: int) -> bytes | None:
    """The file as one of that version, None if it holds what that version cannot."""
    held = io.BytesIO(content[SEAL_BYTES:])
    with h5py.File(held, "r+") as file:
        found: list[str] = [key for key in ("pair_tests",) if key in file]
        file.visititems(lambda name, _: found.append(name.rpartition("/")[2]))
        if any(spec.SINCE.get(name, 1) > version for name in found):
            return None
        file.attrs["encoding-version"] = np.int64(version)
    return sealed(held.getvalue(), version)


def sealed(image: bytes, version: int) -> bytes:
    return make_seal(image, version) + image


@np.errstate(all="ignore")
def other_array(array: Any, draw: random.Random) -> Any:
    """What stands in the place of an array."""
    if array.dtype.kind in "SO":
        texts = [
            draw.choice(WORDS).encode() for _ in range(draw.choice((1, max(1, array.size), 3)))
        ]
        return np.array(texts, dtype=h5py.string_dtype("utf-8", max(1, *map(len, texts))))
    number = draw.choice((0, -1, 1, 10**9, 2**62, -(2**63), np.nan, np.inf, 1e308, 5e-324))
    one = array.copy().ravel()
    if one.size and (np.isfinite(number) or one.dtype.kind == "f"):
        one[draw.randrange(one.size)] = np.array(float(number)).astype(one.dtype)
    return draw.choice((
        one.reshape(array.shape), one.reshape(array.shape), array[::-1], array[:1], array[None],
        array.ravel()[: array.size // 2], np.concatenate([array.ravel()] * 3),
        np.zeros((0,) * max(1, array.ndim)), array.astype("f4"), array.astype("i8"),
        np.zeros((3, 3), "i1"), np.full(array.shape, number if np.isfinite(number) else -7.0),
    ))  # fmt: skip


def mutate(file: h5py.File, draw: random.Random) -> str:
    """Change one dataset, attribute or name; say which."""
    items: list[str] = []
    file.visit(items.append)
    path = draw.choice(items)
    node, kind = file[path], draw.random()
    if kind < 0.06:
        del file[path]
        return f"without {path}"
    if kind < 0.12:
        file.move(path, f"{path.rpartition('/')[0]}/{draw.choice(('x', '00-mim', 'tables', 'W'))}")
        return f"renamed {path}"
    if isinstance(node, h5py.Dataset) and kind < 0.85:
        new = np.ascontiguousarray(other_array(node[()], draw))
        if new.dtype.kind == "b":
            new = new.astype(bool)
        del file[path]
        summed = {"fletcher32": True, "chunks": new.shape} if new.size else {}
        file.create_dataset(path, data=new, **summed)
        return f"{path} is {new.dtype} {new.shape} {str(new)[:60]}"
    while not len(node.attrs):
        node = file[draw.choice(["/", "data", "result", *items])]
    name = draw.choice(sorted(node.attrs))
    if isinstance(node.attrs[name], np.integer | np.floating):
        value: Any = draw.choice((-1, 0, 1, 2, 10**12, 2**62))
        node.attrs[name] = type(node.attrs[name])(value)
    else:
        value = draw.choice(WORDS)
        text = value.encode()
        node.attrs.create(name, text, dtype=h5py.string_dtype("utf-8", max(1, len(text))))
    return f"{node.name}@{name} is {str(value)[:60]!r}"


def made_good(image: bytes, version: int) -> tuple[bytes, bool]:
    """A file with digests that are those of its content, where its content has any."""
    held = io.BytesIO(image)
    try:
        with no_hdf5_plugins():
            handle, root = open_image(sealed(image, version), Limits())
            try:
                record, _ = record_and_digests(root, Limits(), version)
            finally:
                handle.close()
            computed = record.digests()
    except Exception:
        # What `load_run` turns into a refusal of the file.
        return sealed(image, version), False
    with h5py.File(held, "r+") as file:
        for path, digest in computed.items():
            if path in file:
                kind = h5py.string_dtype("utf-8", len(digest))
                file[path].attrs.create("digest", digest.encode(), dtype=kind)
    return sealed(held.getvalue(), version), True


def sources(folder: Path, version: int) -> list[bytes]:
    """The archived file of a version, and runs of today as that version writes them."""
    os.chdir(folder)
    small_table(folder / "small.csv")
    lines = (folder / "small.csv").read_text().splitlines()
    gaps = [line.replace(line.split(",")[2], "", 1) if k % 7 == 3 else line
            for k, line in enumerate(lines)]  # fmt: skip
    (folder / "gaps.csv").write_text("\n".join(gaps) + "\n")
    numbers = [line.rpartition(",")[0] + ("," + str(k * 0.37 % 5) if k else ",y")
               for k, line in enumerate(lines)]  # fmt: skip
    (folder / "number.csv").write_text("\n".join(numbers) + "\n")
    archive = Path(__file__).parents[2] / f"tests/data/archives/run-v{version}.h5"
    found = [archive.read_bytes()]
    for line in CHAINS:
        code, said = command(*line.split(), "-q", "--overwrite", "-o", "run.h5", seconds=120)
        assert code == 0, said
        old = as_version((folder / "run.h5").read_bytes(), version)
        found += [old] if old else []
    return found


def mutated(version: int, trial: Trial) -> None:
    draw = random.Random(version)
    files = sources(trial.folder, version)
    for words in COMMANDS:
        command(*words.split(), seconds=120)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    valid = number = 0
    while valid < trial.times:
        content = draw.choice(files)
        held = io.BytesIO(content[SEAL_BYTES:])
        with h5py.File(held, "r+") as file:
            try:
                what = mutate(file, draw)
            except (ValueError, OverflowError, OSError, KeyError):
                continue
        number += 1
        whole, good = made_good(held.getvalue(), version)
        valid += good
        (trial.folder / "run.h5").write_bytes(whole)
        # What is refused when it is read is so in every command.
        tried = 2 if good else 1
        for k in range(tried):
            words = COMMANDS[(number * tried + k) % len(COMMANDS)]
            code, said = command(*words.split())
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            clear = code in (0, 1, 2, 4, 5) or (code == 3 and "of plugin `" not in said)
            if peak - before > MOST_MB * 1000:
                clear, before, said = False, peak, f"{peak - before} kB more memory; {said}"
            trial.expect(clear, f"{what}: `{words}`: {code}: {said[-700:]}", f"exit {code}")
    trial.outcomes |= {"files": number, "of these with digests made good": valid}


TRIALS: dict[str, tuple[Callable[[Trial], None], int, str]] = {
    f"mutated-v{version}": (
        partial(mutated, version), 2000,
        f"commands on files of version {version} with one dataset, attribute or name changed; "
        "seal and digests recomputed; 2 of 12 commands on each that still can be read, within 10 s "
        f"and {MOST_MB} MB",
    )
    for version in (1, 2, 3)
}  # fmt: skip
