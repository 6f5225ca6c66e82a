"""What a run leaves beside its run file, and when another run may go on from it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

from fsframe.chains.chain import Chain
from fsframe.chains.request import Request
from fsframe.errors import StoreError
from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.resampling.resamples import select_resamples
from fsframe.storage import load_run
from fsframe.storage.checkpoint import Checkpoint, units_folder
from fsframe.storage.unit_files import Manifest, Unit, call_key
from tests.storage.units.interrupted import CHAIN, MANIFEST, Stop, stop_late, table


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "run.h5"


@pytest.fixture
def interrupted(out: Path) -> Path:
    with pytest.raises(Stop):
        CHAIN.run(table(), out=out, listener=stop_late)
    assert units_folder(out).is_dir()
    return out


def ends(out: Path, chain: Chain = CHAIN, **how: Any) -> None:
    """A run ends with the bits of one that was never interrupted, and leaves its file alone."""
    record = chain.run(table(), out=out, **how)
    assert load_run(out).digests() == record.digests() == chain.run(table()).digests()
    assert os.listdir(out.parent) == ["run.h5"]


@pytest.mark.parametrize("restart", [False, True])
def test_a_finished_run_leaves_the_run_file_alone(out, restart):
    ends(out, restart=restart)


def test_a_run_without_a_run_file_touches_no_disk(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("fsframe.chains.request.Checkpoint", None)
    CHAIN.run(table())
    assert os.listdir(tmp_path) == []


def test_a_run_that_fails_before_anything_is_finished_leaves_nothing(out):
    def stop(progress):
        raise Stop

    chain = Chain.parse("npfs:base=mim,n=8,permutations=2,alpha=0.2")
    with pytest.raises(Stop):
        chain.run(table(), out=out, listener=stop)
    assert os.listdir(out.parent) == []


def test_an_interrupted_run_continues_and_gives_the_same_bits(interrupted):
    seen = Request(chain=CHAIN, data=table(), out=interrupted).checkpoint()
    assert seen.n_parts > 6
    seen.close()
    ends(interrupted)


def test_finished_resamples_are_not_computed_again(interrupted, monkeypatch):
    computed = []
    import fsframe.resampling.resamples as resampling

    real = resampling.compute

    def counting(base, data, counts, *rest):
        computed.append(len(counts))
        return real(base, data, counts, *rest)

    monkeypatch.setattr(resampling, "compute", counting)
    with Request(chain=CHAIN, data=table(), out=interrupted).checkpoint() as checkpoint:
        resamples = checkpoint.n_parts - 1
    CHAIN.run(table(), out=interrupted)
    assert sum(computed) == 8 * 3 - resamples


def test_finished_stages_are_not_computed_again(out, monkeypatch):
    chain = Chain.parse("mim:top=5 mrmr:top=3 npfs:n=8,permutations=2,alpha=0.2")
    with pytest.raises(Stop):
        chain.run(table(), out=out, listener=stop_late)
    expected = chain.run(table())
    monkeypatch.setattr(type(chain.stages[0].method), "select", None)
    with Request(chain=chain, data=table(), out=out).checkpoint() as checkpoint:
        stages = [call for call in checkpoint._places if call.startswith(("0~", "1~"))]
        assert len(stages) >= 2
    # Selecting on the whole table would fail now; resampling does not need it.
    assert chain.run(table(), out=out).digests() == expected.digests()


@pytest.mark.parametrize(
    ("chain", "data", "seed", "reason"),
    [
        ("mim:top=4 npfs:n=8,permutations=2,alpha=0.2", table(), 0, "its chain is"),
        (str(CHAIN), table(6), 0, "its data have SHA-256"),
        (str(CHAIN), table(), 1, "its seed is 0, not 1"),
    ],
)
def test_another_run_does_not_go_on_from_it_and_says_why(interrupted, chain, data, seed, reason):
    with pytest.raises(StoreError, match=reason) as caught:
        Chain.parse(chain).run(data, seed, interrupted)
    assert "fsframe resume" in str(caught.value)
    assert "--restart" in str(caught.value)
    # Nothing of the first run is hurt.
    ends(interrupted)


def test_another_version_of_a_library_or_plugin_is_refused(interrupted, monkeypatch):
    import fsframe.storage.unit_files as module

    real = module.software
    monkeypatch.setattr(module, "software", lambda chain: real(chain) | {"plugin npfs": "9.9"})
    with pytest.raises(StoreError, match=r"started with plugin npfs .*, not 9\.9"):
        CHAIN.run(table(), out=interrupted)


def test_restart_throws_the_units_away(interrupted):
    ends(interrupted, Chain.parse("mim:top=4 npfs:n=8,permutations=2,alpha=0.2"), restart=True)


def test_a_damaged_unit_file_is_reported_and_computed_again(interrupted):
    files = sorted(units_folder(interrupted).glob("units-*"))
    content = bytearray(files[-1].read_bytes())
    content[-1] ^= 4
    files[-1].write_bytes(content)
    checkpoint = Request(chain=CHAIN, data=table(), out=interrupted).checkpoint()
    [note] = checkpoint.notes
    assert files[-1].name in note
    assert "computed again" in note
    ends(interrupted, checkpoint=checkpoint)


def test_units_of_which_nothing_says_of_what_are_refused_and_left(interrupted):
    folder = units_folder(interrupted)
    units = sorted(folder.glob("units-*"))
    manifest = folder / "manifest"
    manifest.write_bytes(manifest.read_bytes()[:-1])
    with pytest.raises(StoreError, match=r"is damaged.*--restart"):
        CHAIN.run(table(), out=interrupted)
    manifest.unlink()
    with pytest.raises(StoreError, match=f"holds {len(units)} files? of finished units"):
        CHAIN.run(table(), out=interrupted)
    assert sorted(folder.glob("units-*")) == units
    ends(interrupted, restart=True)


def test_a_damaged_manifest_without_a_unit_is_in_nobodys_way_and_replaced(out):
    folder = units_folder(out)
    folder.mkdir()
    (folder / "manifest").write_bytes(b"nothing")
    with Checkpoint.open(out, MANIFEST):
        assert Manifest.read(folder / "manifest") == MANIFEST
    folder.mkdir(exist_ok=True)
    (folder / "manifest").write_bytes(b"nothing")
    ends(out)


def test_a_second_run_on_one_run_file_learns_who_holds_it(out):
    told = []

    def meanwhile(progress):
        if progress.done and not told:
            with pytest.raises(StoreError) as caught:
                CHAIN.run(table(), out=out)
            told.append(str(caught.value))

    record = CHAIN.run(table(), out=out, listener=meanwhile)
    assert "in use by another run of this process" in told[0]
    assert record.digests() == load_run(out).digests()


def test_a_file_where_the_folder_should_be_is_reported(out):
    units_folder(out).write_text("mine")
    with pytest.raises(StoreError, match="not a folder"):
        CHAIN.run(table(), out=out)


def test_what_strangers_put_into_the_folder_is_left_there(interrupted):
    (units_folder(interrupted) / "notes.txt").write_text("mine")
    CHAIN.run(table(), out=interrupted)
    assert os.listdir(units_folder(interrupted)) == ["notes.txt"]


def test_what_a_killed_writer_left_beside_goes_and_what_looks_alike_stays(interrupted):
    folder = interrupted.parent
    (folder / ".run.h5.123-0a1b2c3d.partial").write_text("")
    (units_folder(interrupted) / ".units-000009.123-0a1b2c3d.partial").write_text("")
    (folder / ".other.h5.123-0a1b2c3d.partial").write_text("")
    CHAIN.run(table(), out=interrupted)
    assert sorted(os.listdir(folder)) == [".other.h5.123-0a1b2c3d.partial", "run.h5"]


def test_units_that_finish_soon_after_each_other_share_a_file(out):
    with Checkpoint.open(out, MANIFEST, every=1e9) as checkpoint:
        for start in range(100):
            checkpoint.commit(Unit("a", start, start + 1), b"x")
        assert checkpoint.n_parts == 0
    assert len(list(units_folder(out).glob("units-*"))) == 1
    with Checkpoint.open(out, MANIFEST) as again:
        assert again.n_parts == 100
        assert [unit.start for unit in again.units("a")] == list(range(100))
        assert again.load(Unit("a", 3, 4)) == b"x"


def test_units_that_overlap_are_used_once(out):
    with Checkpoint.open(out, MANIFEST, every=0) as checkpoint:
        for start, stop in [(4, 6), (0, 4), (2, 5), (6, 7)]:
            checkpoint.commit(Unit("a", start, stop), b"x")
        found = [(unit.start, unit.stop) for unit in checkpoint.units("a")]
    assert found == [(0, 4), (4, 6), (6, 7)]


def test_after_it_is_closed_nothing_is_committed(out):
    checkpoint = Checkpoint.open(out, MANIFEST, every=0)
    checkpoint.close()
    checkpoint.commit(Unit("a", 0, 1), b"x")
    checkpoint.flush()
    assert os.listdir(out.parent) == []


def changes() -> list[tuple[str, dict]]:
    data = table()
    other_X = data.matrix.copy()
    other_X[0, 0] += 1
    return [
        ("run", {"run": Run(key=(1, 3))}),
        ("part", {"run": Run(key=(1, 2), first=4)}),
        ("seed", {"run": Run(key=(1, 2), entropy=9)}),
        ("table", {"data": attrs.evolve(data, matrix=other_X)}),
        ("label", {"data": data.with_labels(data.y[::-1])}),
        ("categorical", {"data": attrs.evolve(data, categorical=~data.categorical)}),
        ("counts", {"counts": np.full((2, 40), 2)}),
        ("text", {"text": "jmi"}),
        ("what", {"what": "predict"}),
        ("parts", {"parts": {"scores"}}),
        ("upstream", {"upstream": Selection(selected=[0], scores=np.zeros(9))}),
    ]


@pytest.mark.parametrize(("name", "change"), changes())
def test_units_are_filed_under_everything_that_their_result_depends_on(name, change):
    usual = {
        "what": "select",
        "text": "mim",
        "data": table(),
        "run": Run(key=(1, 2)),
        "counts": np.ones((2, 40), dtype=np.int64),
        "parts": (),
    }
    again = {**usual, "data": table(), "counts": np.ones((2, 40), dtype=np.int8)}
    assert call_key(**usual) == call_key(**again)
    assert call_key(**usual) != call_key(**{**usual, **change})


def test_a_unit_whose_content_is_unsound_is_refused_not_used(out):
    """Files that pass their SHA-256 may still come from a stranger."""
    data, counts = table(), np.ones((2, 40), dtype=np.int64)
    chain, run = Chain.parse("mim:top=2"), Run(key=(0,))
    with Checkpoint.open(out, MANIFEST, every=0) as checkpoint:
        call = call_key("select", "mim:top=2", data, run, counts=counts, parts=("scores",))
        checkpoint.commit(Unit(call, 0, 2), b"\x80\x04N.")
        selections = select_resamples(
            chain, data, counts, attrs.evolve(run, checkpoint=checkpoint), parts=("scores",)
        )
        with pytest.raises(StoreError, match="not a packet"):
            list(selections)
