"""What lies beside a table in parts decides nothing unless this user has written it."""

from __future__ import annotations

import io
import json
import os
import secrets
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import polars
import pytest

import fsframe
from fsframe.table import kept_folders
from fsframe.table.kept_folders import arrays_as_bytes, arrays_in_bytes, seal, user_key
from fsframe.table.parts import CACHE_FOLDER
from tests.same_process import fsframe as command

CHAIN = "mim:top=1"


@pytest.fixture(autouse=True)
def _own_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    kept_folders._note.cache_clear()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A table whose label is f0, with what one run keeps beside it."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 4, (600, 4), dtype=np.uint8)
    folder = tmp_path / "parts"
    folder.mkdir()
    frame = polars.DataFrame({f"f{k}": X[:, k] for k in range(4)})
    frame.with_columns(y=(X[:, 0] > 1).astype(int)).write_parquet(folder / "0.parquet")
    assert answer(folder) == ("f0",)
    return folder


def answer(folder: Path) -> tuple[str, ...]:
    return fsframe.select(CHAIN, fsframe.read(folder)).selected_names


def computed_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> bool:
    """Whether the answer is right, and it is said once that something kept is not used."""
    return answer(folder) == ("f0",) and capsys.readouterr().err.count("is computed again") == 1


def kept(folder: Path, name: str) -> Path:
    pattern = "*/facts-*/index" if name == "facts" else f"*/codes-*/{name}"
    (found,) = (folder / CACHE_FOLDER).glob(pattern)
    return found


def body(path: Path) -> bytes:
    return path.read_bytes().split(b"\n", 1)[1]


def swapped(folder: Path) -> tuple[Path, bytes]:
    """The index, and its content with the counts of f0 and f3 exchanged."""
    path = kept(folder, "index")
    listing, packed = body(path).split(b"\n", 1)
    arrays = arrays_in_bytes(packed)
    counts = arrays["counts"]
    m = len(counts) // 4
    counts[:m], counts[3 * m :] = counts[3 * m :].copy(), counts[:m].copy()
    return path, listing + b"\n" + arrays_as_bytes(arrays)


def purpose_of(path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The purpose for which a file is opened, as its owner knows it."""
    found: list[str] = []
    real = kept_folders.open_sealed

    def opened(where: Path, purpose: str, most: int) -> bytes | None:
        found.extend([purpose] * (where == path))
        return real(where, purpose, most)

    with monkeypatch.context() as patch:
        patch.setattr("fsframe.table.kept_folders.open_sealed", opened)
        answer(path.parents[3])
    return found[0]


def test_forged_counts_change_no_answer(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path, content = swapped(folder)
    head = path.read_bytes().split(b"\n", 1)[0]
    with monkeypatch.context() as patch:
        patch.setattr("fsframe.table.kept_folders.user_key", lambda: secrets.token_bytes(32))
        of_another = seal(content, "index")
    for forged in (head + b"\n" + content, of_another, content):
        kept_folders._note.cache_clear()
        path.write_bytes(forged)
        assert computed_again(folder, capsys)
        assert answer(folder) == ("f0",)
        assert not capsys.readouterr().err


def test_folder_of_another_user_is_not_opened(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it comes with a table from somebody: sealed by a key, but not by this user's."""
    (before,) = (folder / CACHE_FOLDER).iterdir()
    for path in before.rglob("*"):
        if path.is_file():
            path.chmod(0)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "of-another"))
    monkeypatch.setattr("os.access", lambda *given, **options: True)
    assert answer(folder) == ("f0",)
    assert len(list((folder / CACHE_FOLDER).iterdir())) == 2


def test_audit_computes_from_the_values(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even where the user's own seal is on the wrong counts."""
    path, content = swapped(folder)
    path.write_bytes(seal(content, purpose_of(path, monkeypatch)))
    run = str(tmp_path / "run.h5")
    words = ["chain", *CHAIN.split(), "on", str(folder), "--out", run]
    command(*words, code=0)
    assert fsframe.load_run(run).selected_names == ("f3",), "the forgery does not work"
    assert "DIFFERS" in command("audit", run, "on", str(folder), code=5).out
    path.unlink()
    command(*words, "--overwrite", code=0)
    assert "same bits" in command("audit", run, "on", str(folder), code=0).out
    assert not list((folder / CACHE_FOLDER).glob(".*")), "the audit has left its folder"


def test_folder_that_others_can_write_to_is_not_used(folder: Path) -> None:
    for place in (folder / CACHE_FOLDER, next((folder / CACHE_FOLDER).iterdir())):
        place.chmod(0o777)
        data = fsframe.read(folder)
        assert any("can be written to by everybody" in each for each in data.warnings)
        assert CACHE_FOLDER + "/" not in str(data.matrix.cache_folder)
        assert fsframe.select(CHAIN, data).selected_names == ("f0",)
        place.chmod(0o755)
    moved = folder / CACHE_FOLDER
    moved.rename(folder / "elsewhere")
    moved.symlink_to("elsewhere")
    assert any("is a link" in each for each in fsframe.read(folder).warnings)


def to_another(path: Path) -> None:
    """A link to a file of the right content."""
    other = path.with_name(f"{path.name}-moved")
    other.write_bytes(b"fsframe-kept 1 " + b"0" * 64 + b"\n")
    path.symlink_to(other)


INSTEAD: dict[str, Callable[[Path], object]] = {
    "a pipe": lambda path: os.mkfifo(path),
    "an endless file": lambda path: path.symlink_to("/dev/zero"),
    "a link": to_another,
    "a huge file": lambda path: [path.touch(), os.truncate(path, 1 << 40)],
    "an empty file": Path.touch,
    "a folder": Path.mkdir,
}


@pytest.mark.parametrize("name", ["facts", "index", "000000.shard"])
@pytest.mark.parametrize("put", INSTEAD.values(), ids=INSTEAD)
def test_what_is_no_regular_file_of_the_right_size_is_not_read(
    folder: Path, name: str, put: Callable[[Path], object], capsys: pytest.CaptureFixture[str]
) -> None:
    path = kept(folder, name)
    path.unlink()
    put(path)
    assert computed_again(folder, capsys)


@pytest.mark.parametrize("name", ["facts", "index", "000000.shard"])
def test_link_is_replaced_and_what_it_points_to_left_alone(
    folder: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Such as one that comes with a table; what has been found was written to its target."""
    target = tmp_path / "mine.txt"
    target.write_text("mine")
    path = kept(folder, name)
    path.unlink()
    path.symlink_to(target)
    assert answer(folder) == ("f0",)
    assert target.read_text() == "mine"
    assert kept(folder, name).is_file() and not kept(folder, name).is_symlink()
    capsys.readouterr()
    assert answer(folder) == ("f0",)
    assert not capsys.readouterr().err
    assert not list((folder / CACHE_FOLDER).rglob(".*"))


def changed(name: str, make: Callable[[Any], Any]) -> Callable[[bytes], bytes]:
    """A change of one array of an NPZ."""

    def change(packed: bytes) -> bytes:
        arrays = arrays_in_bytes(packed)
        return arrays_as_bytes({**arrays, name: np.asarray(make(arrays[name]))})

    return change


def _huge_array(_: bytes) -> bytes:
    """Arrays that declare 3 GB and hold nothing."""
    content = io.BytesIO()
    np.savez(content, counts=np.zeros(1000, np.int64))
    return content.getvalue().replace(b"(1000,)", b"(99999999999,)"[:7])


SENSELESS = {
    "facts": {
        "no zip": lambda packed: b"PK" + packed[5:],
        "huge": _huge_array,
        "a rank": changed("low", lambda values: values[None]),
        "objects": lambda packed: packed.replace(b"'<f8'", b"'|O8'"),
        "negative rows": changed("n_samples", lambda n: -1),
        "many rows": changed("n_samples", lambda n: 10**15),
        "negative counts": changed("missing", lambda values: values - 5),
        "other columns": changed("whole", lambda values: values[:2]),
        "another type": changed("low", lambda values: values.astype("f4")),
    },
    "index": {
        "no zip": lambda packed: packed[:50],
        "huge": _huge_array,
        "a rank": changed("sizes", lambda values: values[0]),
        "many rows": changed("sizes", lambda values: values * 10**15),
        "negative counts": changed("counts", lambda values: -values),
        "huge counts": changed("counts", lambda values: values * 10**12),
        "few counts": changed("counts", lambda values: values[1:]),
        "decreasing": changed("bins_offsets", lambda values: values[::-1]),
        "no bins": changed("bins_thresholds", lambda values: values[:-1]),
        "a foreign column": changed("binned", lambda values: [10**6]),
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "wrong"), [(name, wrong) for name in SENSELESS for wrong in SENSELESS[name]]
)
def test_senseless_content_under_the_right_seal_is_computed_again(
    folder: Path, name: str, wrong: str, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    path = kept(folder, name)
    purpose, content = purpose_of(path, monkeypatch), body(path)
    listing, packed = content.split(b"\n", 1)
    other = SENSELESS[name][wrong](packed)
    assert other != packed
    path.write_bytes(seal(listing + b"\n" + other, purpose))
    assert computed_again(folder, capsys)


@pytest.mark.parametrize(
    "listing",
    [
        b"[" * 200_000,
        b"[]",
        json.dumps({"../../../../etc/passwd": (1, "0")}).encode(),
        json.dumps({"/dev/zero": (1, "0")}).encode(),
        json.dumps({"000000.shard": 7}).encode(),
        json.dumps({"000000.shard": (-1, "0"), "000001.shard": (0, "")}).encode(),
    ],
)
def test_listing_names_expected_files_only(
    folder: Path, listing: bytes, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    path = kept(folder, "index")
    packed = body(path).split(b"\n", 1)[1]
    path.write_bytes(seal(listing + b"\n" + packed, purpose_of(path, monkeypatch)))
    assert computed_again(folder, capsys)


def test_index_larger_than_the_memory_of_a_run_is_not_read(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home,) = (folder / CACHE_FOLDER).glob("*/codes-*")
    assert kept_folders.read_index(home, "another key", 100) is None
    assert "is larger than 100 bytes" in capsys.readouterr().err


def test_key_is_made_once_and_belongs_to_its_user(tmp_path: Path) -> None:
    path = tmp_path / "cache" / "fsframe" / "parts.key"
    assert not path.exists()
    key = user_key()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert key == path.read_bytes() and len(key) == 32
    kept_folders._key_in.cache_clear()
    assert user_key() == key
    for spoil in (lambda: path.chmod(0o644), lambda: path.write_bytes(b"short")):
        spoil()
        kept_folders._key_in.cache_clear()
        other = user_key()
        assert other not in (None, key) and other == path.read_bytes()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_without_a_place_for_the_key_nothing_is_kept(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    before = sorted((folder / CACHE_FOLDER).iterdir())
    assert answer(folder) == ("f0",)
    assert sorted((folder / CACHE_FOLDER).iterdir()) == before
    assert "nothing is kept beside tables" in capsys.readouterr().err


def test_time_of_modification_set_back_does_not_hide_a_change(tmp_path: Path) -> None:
    path = tmp_path / "0.h5"
    X = np.random.default_rng(0).integers(0, 3, (4000, 100), dtype=np.uint8)
    with h5py.File(path, "w") as file:
        file["X"], file["y"] = X, np.arange(4000) % 2
        place = file["X"].id.get_offset()
    first, state = fsframe.read([path]), path.stat()
    with path.open("r+b") as file:
        file.seek(place + X.size // 2)
        file.write(bytes(1000))
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert path.stat().st_size == state.st_size
    assert fsframe.read([path]).sha256 != first.sha256
