"""What is written is what is read, to the last bit, with or without the plugins that made it."""

from __future__ import annotations

import hashlib
import re
import struct
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import attrs
import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fsframe.errors import StoreError
from fsframe.method.selection import Selection
from fsframe.storage import StageRecord, load_run, spec, write_run
from fsframe.storage.encoding import content_digest
from fsframe.storage.write import first_difference, run_image
from fsframe.text import printable
from tests.command_line import python
from tests.grids import examples
from tests.storage.run_files import ROOT, build_record


def plain(stage: StageRecord) -> dict[str, Any]:
    """All fields of a stage and its selection, as far as NumPy compares them."""
    return attrs.asdict(
        stage,
        value_serializer=lambda _, field, value: {**value} if isinstance(value, Mapping) else value,
    )


def test_a_record_reads_back_to_the_last_bit(record, run_file):
    loaded = load_run(run_file)
    assert first_difference(record, loaded) == ""
    for one, other in zip(record.stages, loaded.stages, strict=True):
        np.testing.assert_equal(plain(other), plain(one))
        for name, table in one.tables.items():
            assert np.atleast_1d(table).dtype.kind == other.tables[name].dtype.kind
    assert loaded.stages[3].selection is None
    assert loaded.seed == 2**127 + 1
    assert loaded.feature_names == record.feature_names
    assert loaded.warnings == record.warnings


def test_records_that_differ_in_a_warning_differ(record):
    warned = attrs.evolve(record, warnings=(*record.warnings, "few rows"))
    assert first_difference(record, warned) == "/warnings"
    first, *others = record.stages
    stage = attrs.evolve(first, warnings=(*first.warnings, "few rows"))
    warned = attrs.evolve(record, stages=(stage, *others))
    assert first_difference(record, warned) == f"{record.stage_paths()[0]}/warnings"


def test_it_opens_where_no_plugin_is_installed(run_file):
    code = (
        "import sys; sys.modules['fsframe.registry'] = None\n"
        "sys.modules['fsframe.registry.manager'] = None\n"
        "from fsframe.storage import load_run\n"
        f"print(load_run({str(run_file)!r}).stages[3].name)\n"
        "assert not [m for m in sys.modules if m.startswith('fsframe_')]"
    )
    assert python("-c", code).out.strip() == "stranger/knn"


def test_times_and_versions_enter_no_digest_but_everything_found_does(record):
    digests = record.digests()
    stage = record.stages[1]
    later = attrs.evolve(
        record,
        created="2030-01-01T00:00:00+00:00",
        command="another",
        environment={},
        stages=[attrs.evolve(s, seconds=9.0, provider_version="2") for s in record.stages],
    )
    assert later.digests() == digests
    path = "/stages/01-immigrate"
    selection = stage.selection
    # The transpose of a symmetric matrix is the same.
    turned = attrs.evolve(stage, model={"W": stage.model["W"].T, "mean": stage.model["mean"]})
    assert turned.digest() == stage.digest()
    for changed in (
        {"params": {"sigma": 0.6}},
        {"seed": (1, 4)},
        {"provider": "somebody"},
        {"kind": "classifier"},
        {"warnings": ("x",)},
        {"selection": attrs.evolve(selection, selected=[2, 5])},
        {"selection": attrs.evolve(selection, scores=np.nextafter(selection.scores, 9))},
        {"selection": attrs.evolve(selection, carried=set())},
        {"selection": attrs.evolve(selection, instance_weights=None)},
        {"tables": {**stage.tables, "more": np.zeros(1)}},
        {"tables": {**stage.tables, "cost": np.array([3.0, 2.0, 1.5], dtype=np.float32)}},
    ):
        stages = [record.stages[0], attrs.evolve(stage, **changed), *record.stages[2:]]
        result = attrs.evolve(record, stages=stages).digests()
        assert {name for name in result if result[name] != digests[name]} == {path}, changed
    assert attrs.evolve(record, selected=[2]).digests()["/result"] != digests["/result"]


def test_digests_follow_the_published_rule():
    """Section 4 of the format, written out by hand for three small items."""
    by_hand = (
        b"a\0float64\0" + b"2\0" + struct.pack("<d", 1.5) + bytes.fromhex("000000000000f87f")
        + b"b\0text\0" + b"1x2\0" + (2).to_bytes(8, "little") + "σ".encode() + bytes(8)
        + b"c\0bool\0" + b"3\0" + b"\1\0\1"
    )  # fmt: skip
    items = {
        "c": np.array([True, False, True]),
        "b": np.array([["σ", ""]]),
        "a": np.array([1.5, -np.nan]),
    }
    assert content_digest(items) == hashlib.sha256(by_hand).hexdigest()


def test_equal_content_gives_equal_bytes_in_any_process(record, run_file):
    image = run_image(record)
    assert image == run_image(load_run(run_file))
    code = (
        "from tests.storage.run_files import build_record\n"
        "from fsframe.storage.write import run_image\n"
        "import hashlib; print(hashlib.sha256(run_image(build_record())).hexdigest())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        env={"PYTHONHASHSEED": "1", "PATH": "", "PYTHONPATH": str(ROOT)},
    )
    assert done.stdout.strip() == hashlib.sha256(image).hexdigest(), done.stderr


def test_any_hdf5_tool_reads_the_file(run_file):
    with h5py.File(run_file) as file:
        assert file.userblock_size == spec.SEAL_BYTES
        assert file.attrs["encoding-type"].decode() == "fsframe-run"
        assert file["data/feature_names"].asstr()[1] == "σ"
        assert file["stages/01-immigrate/tables/bootstrap"].dtype == bool
        datasets = []
        file.visititems(lambda _, node: datasets.append(node) if hasattr(node, "dtype") else None)
        assert len(datasets) > 30
        assert all(node.fletcher32 for node in datasets if node.size)
        assert not [node.name for node in datasets if h5py.check_vlen_dtype(node.dtype)]


def test_records_that_hold_nothing_are_kept_too(tmp_path, record):
    empty = attrs.evolve(
        record,
        seed=None,
        stages=[
            StageRecord(
                name="none",
                selection=Selection(selected=[], scores=np.full(7, np.nan), features_in=[]),
            )
        ],
        selected=[],
        scores=np.full(7, np.nan),
        warnings=(),
        environment={},
        data=attrs.evolve(record.data, task="regression", class_names=(), label="", source=""),
    )
    loaded = load_run(write_run(tmp_path / "empty.h5", empty))
    assert first_difference(empty, loaded) == ""
    assert (loaded.pairs, loaded.selected_names, loaded.seed) == ([], (), None)


@examples(40)
@given(
    hnp.arrays(
        dtype=st.sampled_from(["f8", "f4", "i8", "i2", "u1", "?", ">f8", "U3"]),
        shape=hnp.array_shapes(max_dims=4, max_side=4, min_side=0),
        elements=None,
    )
)
def test_every_array_survives(tmp_path_factory, array):
    if array.dtype.kind == "U" and any("\0" in text for text in array.ravel().tolist()):
        return
    record = build_record(**with_stage(tables={"t": array}))
    try:
        path = write_run(tmp_path_factory.mktemp("runs") / "r.h5", record)
    except StoreError as error:
        assert "surrogates not allowed" in str(error)
        return
    loaded = load_run(path).stages[0].tables["t"]
    assert loaded.shape == array.shape
    assert np.array_equal(loaded, array, equal_nan=array.dtype.kind == "f")


def test_large_arrays_are_compressed_and_read_back(tmp_path, record):
    rng = np.random.default_rng(0)
    boot = rng.random((2000, 3000)) < 0.1
    wide = rng.normal(size=(300, 2000))
    changed = attrs.evolve(record, **with_stage(tables={"boot": boot, "wide": wide}))
    path = write_run(tmp_path / "r.h5", changed)
    loaded = load_run(path).stages[0].tables
    assert np.array_equal(loaded["boot"], boot)
    assert loaded["wide"].tobytes() == wide.tobytes()
    assert path.stat().st_size < boot.nbytes / 2 + wide.nbytes + 100_000


def with_stage(**parts: object) -> dict[str, list[StageRecord]]:
    """One stage without a selection, as a change of the record."""
    return {"stages": [StageRecord(name="x", features_in=[], **parts)]}


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"selected": [7]}, "selected has columns outside"),
        ({"selected": [1, 1]}, "different columns"),
        ({"scores": np.zeros(3)}, "scores have shape (3,)"),
        ({"stages": [StageRecord(name="x", features_in=[3, 2])]}, "features_in"),
        (with_stage(tables={"a/b": np.zeros(1)}), "a/b"),
        (with_stage(tables={"": np.zeros(1)}), "named ''"),
        (with_stage(tables={"z": np.zeros(1, "c16")}), "complex128"),
        (with_stage(model={"o": np.array([{}])}), "dict among its texts"),
        (with_stage(params={"p": float("nan")}), "param"),
        (with_stage(params={"p": object()}), "object"),
        ({"chain": "x" * 70_000}, "60000 bytes"),
        ({"command": "a\0b"}, "NUL"),
        ({"environment": {"x": float("inf")}}, "environment"),
        ({"warnings": ["a\0b"]}, "NUL"),
    ],
)
def test_what_does_not_fit_the_format_is_refused_without_a_file(tmp_path, change, part):
    with pytest.raises(StoreError) as caught:
        write_run(tmp_path / "r.h5", build_record(**change))
    assert part in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_names_are_printed_without_steering_the_terminal(record):
    shown = [printable(name) for name in record.feature_names]
    assert shown[3] == r"d\x1b[2J"
    assert shown[1] == "σ"
    assert all(text.isprintable() for text in shown)
    assert printable("a\u202eb\u2028c\\d") == r"a\u202eb\u2028c\\d"


def test_the_specification_names_exactly_what_the_code_knows():
    text = (ROOT / "docs" / "file-format.md").read_text(encoding="utf-8")
    layout = text[text.index("## 3. Layout") : text.index("## 4. Digests")]
    sections = dict(re.findall(r"### `([^`]+)`.*?\n(.*?)(?=\n### |\Z)", layout, re.DOTALL))
    rows = {
        name: set(re.findall(r"`([\w-]+)`", " ".join(re.findall(r"^\| ([^|]+) \|", body, re.M))))
        for name, body in sections.items()
    }
    assert rows["/"] == set(spec.ROOT_ATTRIBUTES)
    assert rows["/data"] == {*spec.DATA_ATTRIBUTES, *spec.DATA_MEMBERS}
    assert rows["/stages/NN-name"] == {
        *spec.STAGE_ATTRIBUTES, *spec.STAGE_ARRAYS, *spec.STAGE_TEXTS, *spec.STAGE_GROUPS
    }  # fmt: skip
    assert rows["/result"] == {*spec.RESULT_ATTRIBUTES, *spec.RESULT_ARRAYS}
    assert rows["/pair_tests"] == {
        *spec.PAIR_TEST_ATTRIBUTES, *spec.PAIR_TEST_ARRAYS, *spec.PAIR_TEST_GROUPS
    }  # fmt: skip
    optional = set(
        re.findall(r"\*`(\w+)`\*", sections["/stages/NN-name"].split("`pair_weights` holds")[0])
    )
    known = {*spec.STAGE_ARRAYS, *spec.STAGE_TEXTS, *spec.STAGE_GROUPS}
    assert optional == known - set(spec.STAGE_REQUIRED)
    pairs = sections["/stages/NN-name"].split("`pair_weights` holds")[1]
    assert set(re.findall(r"`(\w+)`, (?:int|float)64|`(i)`", pairs)) and all(
        f"`{name}`" in pairs for name in spec.PAIR_ARRAYS
    )
    limits = text[text.index("## 5.") : text.index("## 6.")]
    declared = spec.Limits()
    for number, unit in ((declared.file_bytes, 1024**3), (declared.array_bytes, 1024**3)):
        assert f"{number // unit} GiB" in limits
    for name in ("attribute_bytes", "name_bytes", "members", "expansion"):
        assert f"{getattr(declared, name):,}" in limits
    assert f"| {declared.stages} |" in limits and f"| {declared.dimensions} |" in limits
