"""A later version of the format leaves files of earlier versions readable."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest

from fsframe.errors import StoreError
from fsframe.storage import load_run, read, spec, write_run
from fsframe.storage.read import first_difference
from fsframe.storage.spec import SEAL_BYTES, make_seal

ARCHIVE = Path(__file__).resolve().parents[1] / "data" / "archives" / "run-v1.h5"


NEXT = spec.ENCODING_VERSION + 1


@pytest.fixture
def next_version(monkeypatch):
    """The program as it will be when the format has one more version."""
    monkeypatch.setattr(spec, "ENCODING_VERSION", NEXT)


@pytest.mark.usefixtures("next_version")
def test_an_archived_file_is_sound_after_the_version_is_raised(tmp_path):
    archived = load_run(ARCHIVE)
    newer = write_run(tmp_path / "newer.h5", archived)
    assert newer.read_bytes().startswith(f"fsframe-run {NEXT}\n".encode())
    assert first_difference(load_run(newer), archived) == ""


@pytest.mark.usefixtures("next_version")
def test_an_old_file_that_has_changed_is_still_told(tmp_path):
    content = bytearray(ARCHIVE.read_bytes())
    content[-1] ^= 1
    changed = tmp_path / "changed.h5"
    changed.write_bytes(content)
    with pytest.raises(StoreError, match="changed after it was written"):
        load_run(changed)


@pytest.mark.usefixtures("next_version")
def test_seal_and_content_must_be_of_one_version(tmp_path):
    image = ARCHIVE.read_bytes()[SEAL_BYTES:]
    path = tmp_path / "mixed.h5"
    path.write_bytes(make_seal(image, NEXT) + image)
    with pytest.raises(StoreError, match="encoding-version is 1, the seal says otherwise"):
        load_run(path)


@pytest.mark.usefixtures("next_version")
@pytest.mark.parametrize(
    ("owner", "schema"),
    [
        ("RunRecord", spec.ROOT_ATTRIBUTES),
        ("DataRecord", spec.DATA_ATTRIBUTES),
        ("StageRecord", spec.STAGE_ATTRIBUTES),
    ],
)
def test_a_new_field_takes_its_record_and_the_schema_only(owner, schema, monkeypatch, tmp_path):
    old = getattr(read, owner)
    longer = attrs.make_class(
        owner,
        {"power_supply": attrs.field(default="")},
        bases=(old,),
        frozen=True,
        kw_only=True,
        eq=False,
        repr=False,
    )
    monkeypatch.setattr(read, owner, longer)
    monkeypatch.setitem(schema, "power-supply", str)
    monkeypatch.setitem(spec.SINCE, "power-supply", NEXT)

    def with_value(run, value):
        if owner == "RunRecord":
            return attrs.evolve(run, power_supply=value)
        if owner == "DataRecord":
            return attrs.evolve(run, data=attrs.evolve(run.data, power_supply=value))
        first = attrs.evolve(run.stages[0], power_supply=value)
        return attrs.evolve(run, stages=(first, *run.stages[1:]))

    archived = load_run(ARCHIVE)
    newer = load_run(write_run(tmp_path / "newer.h5", with_value(archived, "mains")))
    assert first_difference(newer, with_value(archived, "mains")) == ""
    assert first_difference(newer, archived).endswith("power_supply")
