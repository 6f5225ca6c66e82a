"""Mutated files of every kind are read or refused in a sentence: no traceback, no hang.

The long form, ten thousand files of each kind: ``pytest -m slow tests/table/test_mutated.py``.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fsframe.errors import FsframeError
from fsframe.table.read import read, read_table

TEXT = (
    b"a,b,class\n1,2.5,ill\n3,-4e2,well\n5,6,ill\n7,8,well\n",
    b'"a";"b c";class\r\n"1,5";2;x\r\n3;4;y\r\n5;6;x\r\n7;8;y\r\n',
    b"1,2,0\n3,4,1\n0,0,0\n5,5,1\n",
    b",u,v,k\nr1, 1 ,NA,0.5\nr2,nan,3e4,1\nr3,?,-.5,2\nr4,+1,5.,1\n",
    b"x\ty\tz\n1\t2\ta\n1\t\tb\n3\t4\ta\n5\t6\tb\n",
    b'a,b,class\n"1","2","x"\n"3","4","y"\n"5","""6""","x"\n 7 , "8" ,y\n',
    b"a b  class\n 1 2 x\n3  4 y \n5 6 x\n7 8 y\n",
    "ä|b|k\n1|2|é\n3|4|é\n5|6|ß\n7|8|ß\n".encode(),
)
TOKENS = (b",", b"\n", b'"', b";", b"\t", b" ", b"NA", b"nan", b"inf", b"\r", b"\0", b"\xff")
TOKENS += (b"\xef\xbb\xbf", b'""', b"1e999", b"-999", b"\x1f", b"\x1e", b"|", b"9" * 400)


def _written(write, *given, **arrays) -> bytes:
    out = io.BytesIO()
    write(out, *given, **arrays)
    return out.getvalue()


def _hdf5(out) -> None:
    with h5py.File(out, "w") as file:
        file.create_dataset("X", data=np.arange(80.0).reshape(40, 2), compression="gzip")
        file["y"], file["feature_names"] = np.arange(40) % 2, ["a", "b"]


def _zip(out) -> None:
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("t.csv", TEXT[0])


X = np.arange(8.0).reshape(4, 2)
PACKED = (gzip.compress(TEXT[0]), bz2.compress(TEXT[0]), lzma.compress(TEXT[0]), _written(_zip))
NAMED_NPZ = _written(np.savez_compressed, X=X, y=["u", "v"] * 2, feature_names=["a", "b"])
STORED_NPZ = _written(np.savez, X=X.astype(int), y=np.arange(4) % 2)
BASES = {
    "text": TEXT,
    "packed": PACKED,
    "npz": (NAMED_NPZ, STORED_NPZ),
    "hdf5": (_written(_hdf5),),
}

_EDIT = st.tuples(
    st.integers(0, 1 << 16),
    st.integers(0, 3),
    st.one_of(st.sampled_from(TOKENS), st.binary(min_size=1, max_size=4)),
)
_OPTIONS = st.sampled_from(
    [
        {},
        {"categorical": True},
        {"label": 0},
        {"header": False},
        {"header": True},
        {"decimal": ",", "delimiter": ";"},
        {"na": -999},
        {"encoding": "latin-1"},
        {"encoding": "utf-16"},
        {"delimiter": "space"},
    ]
)


def mutated(base: bytes, edits: list[tuple[int, int, bytes]]) -> bytes:
    """`base` with bytes put in, replaced and taken out, or cut short."""
    content = bytearray(base)
    for place, kind, token in edits:
        at = place % (len(content) + 1)
        if kind == 0:
            content[at:at] = token
        elif kind == 1:
            content[at : at + len(token)] = token
        elif kind == 2:
            del content[at : at + len(token)]
        else:
            content[at : at + 1] = bytes([token[0]])
    return bytes(content)


def check(folder, kind, which, edits, options):
    path = folder / "table"
    path.write_bytes(mutated(BASES[kind][which % len(BASES[kind])], edits))
    try:
        data = read(path, **options)
        assert data.X.dtype == np.float64 and data.n_classes != 1 and len(data.sha256) == 64
    except FsframeError as error:
        assert str(error)
    form = {k: v for k, v in options.items() if k not in ("label", "categorical")}
    try:
        table = read_table(path, **form)
        rows = list(table.rows(range(len(table.names))))
        assert len(rows) == table.n_rows
    except FsframeError as error:
        assert str(error)


def check_many(folder, kind, **chosen):
    @settings(database=None, **chosen)
    @given(st.integers(0, 99), st.lists(_EDIT, max_size=6), _OPTIONS)
    def run(which, edits, options):
        check(folder, kind, which, edits, options)

    run()


@pytest.mark.parametrize("kind", BASES)
def test_a_mutated_file_is_read_or_refused(tmp_path, kind):
    check_many(
        tmp_path, kind, max_examples=60, deadline=None, derandomize=True,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kind", BASES)
def test_ten_thousand_mutated_files_are_read_or_refused(tmp_path, kind):
    check_many(tmp_path, kind, max_examples=10_000, deadline=10_000)
