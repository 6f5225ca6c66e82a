"""Run files made to harm, sealed so that they pass as whole: each is refused in one sentence.

All are opened in one process of its own with 256 MiB of memory, so that a crash of the HDF5 library
would be seen as such, and files that unpack to more than they are worth too.
"""

from __future__ import annotations

import zlib

import h5py
import numpy as np
import pytest

from fsframe.errors import StoreError
from fsframe.storage import load_run
from fsframe.storage.checked_tables import CheckedArrays
from fsframe.storage.spec import Limits
from tests.storage.run_files import STAGE, Edit, needs_statm, opened_cases, zeros


def swap(path: str, **options) -> Edit:
    """Put another dataset in the place of one."""

    def edit(file: h5py.File) -> None:
        if path in file:
            del file[path]
        file.create_dataset(path, **options)

    return edit


def array(path: str, values) -> Edit:
    """Put an array in the place of a dataset, in one chunk with the checksum of the format."""
    data = np.asarray(values)
    return swap(path, data=data, chunks=data.shape, fletcher32=True)


def attribute(owner: str, name: str, value, dtype=None) -> Edit:
    def edit(file: h5py.File) -> None:
        text = isinstance(value, str)
        kind = h5py.string_dtype("utf-8", max(1, len(value.encode()))) if text else dtype
        data = np.array(value.encode(), dtype=kind) if text else value
        file[owner].attrs.create(name, data, dtype=kind)

    return edit


def text(path: str, *texts: str) -> Edit:
    width = max([len(t.encode()) for t in texts] + [1])
    data = np.array([t.encode() for t in texts], dtype=h5py.string_dtype("utf-8", width))
    return array(path, data)


def link(path: str, target) -> Edit:
    def edit(file: h5py.File) -> None:
        if path in file:
            del file[path]
        file[path] = target(file) if callable(target) else target

    return edit


def virtual(file: h5py.File) -> None:
    layout = h5py.VirtualLayout(shape=(7,), dtype="f8")
    layout[:] = h5py.VirtualSource("/etc/passwd", "x", shape=(7,))
    del file["result/scores"]
    file.create_virtual_dataset("result/scores", layout)


def committed_type(file: h5py.File) -> None:
    file[f"{STAGE}/tables/type"] = np.dtype("f8")


def references(file: h5py.File) -> None:
    data = np.array([file.ref], dtype=h5py.ref_dtype)
    file.create_dataset(f"{STAGE}/tables/ref", data=data, chunks=(1,), fletcher32=True)


def variable_text(file: h5py.File) -> None:
    del file["warnings"]
    file.create_dataset("warnings", data=["x"], dtype=h5py.string_dtype(), chunks=(1,))


def bad_truth(file: h5py.File) -> None:
    dataset = file[f"{STAGE}/tables/bootstrap"]
    raw = np.full(dataset.shape, 7, dtype=np.uint8)
    dataset.id.write(h5py.h5s.ALL, h5py.h5s.ALL, raw.view(bool))


def compact(file: h5py.File) -> None:
    del file["result/scores"]
    plan = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plan.set_layout(h5py.h5d.COMPACT)
    space = h5py.h5s.create_simple((7,))
    h5py.h5d.create(file["result"].id, b"scores", h5py.h5t.IEEE_F64LE, space, plan)


def many(group: str, count: int) -> Edit:
    def edit(file: h5py.File) -> None:
        for number in range(count):
            file[group].create_group(f"x{number}")

    return edit


def nested(file: h5py.File) -> None:
    group = file[f"{STAGE}/tables"]
    for _ in range(500):
        group = group.create_group("deeper")


def bytes_name(file: h5py.File) -> None:
    h5py.h5g.create(file[f"{STAGE}/tables"].id, b"\xff\xfe")


def long_name(file: h5py.File) -> None:
    h5py.h5g.create(file[f"{STAGE}/tables"].id, b"n" * 5000)


def delete(path: str) -> Edit:
    return lambda file: file.__delitem__(path)


def delete_attribute(owner: str, name: str) -> Edit:
    return lambda file: file[owner].attrs.__delitem__(name)


def rename(old: str, new: str) -> Edit:
    return lambda file: file.move(old, new)


def twice_packed(file: h5py.File) -> None:
    """256 MiB of zeros in a few hundred bytes: gzip upon gzip."""
    plan = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plan.set_chunk((1 << 24,))
    plan.set_deflate(9)
    plan.set_deflate(9)
    plan.set_fletcher32()
    space = h5py.h5s.create_simple((1 << 28,))
    group = file[f"{STAGE}/tables"].id
    h5py.h5d.create(group, b"x", h5py.h5t.STD_U8LE, space, plan)
    file[f"{STAGE}/tables/x"][: 1 << 24] = 0


def swollen_chunk(file: h5py.File) -> None:
    """A chunk that declares 1 MiB and unpacks to 128 MiB."""
    data = file.create_dataset(
        f"{STAGE}/tables/x",
        (1 << 20,),
        "u1",
        chunks=(1 << 20,),
        compression="gzip",
        fletcher32=True,
    )
    packing = zlib.compressobj(9)
    raw = b"".join(packing.compress(bytes(1 << 20)) for _ in range(128)) + packing.flush()
    data.id.write_direct_chunk((0,), raw + b"\0\0\0\0")


def without_checksum(file: h5py.File) -> None:
    data = file.create_dataset(f"{STAGE}/tables/x", (4,), "u1", chunks=(4,), fletcher32=True)
    data.id.write_direct_chunk((0,), b"\0\1\2\3", filter_mask=1)


def one_byte_texts(file: h5py.File) -> None:
    file.create_dataset(
        f"{STAGE}/tables/x", data=np.zeros(3_000_000, dtype="S1"), chunks=(1 << 20,),
        compression="gzip", fletcher32=True,
    )  # fmt: skip


def one_long_text(file: h5py.File) -> None:
    texts = np.array([b"a"] * 9_999 + [b"b" * 4_000])
    file.create_dataset(
        f"{STAGE}/tables/x", data=texts, chunks=(1_000,), compression="gzip", fletcher32=True
    )


def long_json(file: h5py.File) -> None:
    del file[f"{STAGE}/params"]
    text = b'{"a":' + b"[" * 4 + b"[]," * 3_000_000 + b"[]" + b"]" * 4 + b"}"
    file.create_dataset(
        f"{STAGE}/params", data=np.array([text]), chunks=(1,), compression="gzip", fletcher32=True
    )


def half_written(file: h5py.File) -> None:
    data = file.create_dataset(
        f"{STAGE}/tables/x", (400_000,), "u1", chunks=(100_000,), fletcher32=True
    )
    data[:300_000] = 1


HUGE = {"shape": (1 << 40,), "dtype": "f8", "chunks": (1 << 16,), "fletcher32": True}
CASES: dict[str, tuple[Edit, str]] = {
    "external link": (link("result", h5py.ExternalLink("/etc/passwd", "/")), "link to elsewhere"),
    "soft link": (link("result", h5py.SoftLink("/data")), "link to elsewhere"),
    "soft link to a dataset": (
        link(f"{STAGE}/tables/x", h5py.SoftLink("/result/scores")), "link to elsewhere"),
    "dangling link": (link(f"{STAGE}/model/x", h5py.SoftLink("/nowhere")), "link to elsewhere"),
    "one dataset twice": (
        link(f"{STAGE}/tables/x", lambda f: f["result/scores"]), "under several names"),
    "a loop of groups": (link("stages/04-loop", lambda f: f["/"]), "under several names"),
    "a table that is a loop": (
        link(f"{STAGE}/tables/loop", lambda f: f[STAGE]), "under several names"),
    "virtual dataset": (virtual, "virtual"),
    "external storage": (
        swap("result/scores", shape=(7,), dtype="f8", external=[("/etc/passwd", 0, 56)]),
        "in another file"),
    "object reference": (references, "type that is not allowed in a run file"),
    "variable-length text": (variable_text, "type that is not allowed in a run file"),
    "variable-length numbers": (
        swap("result/scores", shape=(7,), dtype=h5py.vlen_dtype("f8"), chunks=(7,)), "type that"),
    "compound": (array(f"{STAGE}/tables/x", np.zeros(2, "i4,f8")), "type that"),
    "complex": (array(f"{STAGE}/tables/x", np.zeros(2, "c16")), "type that"),
    "opaque": (swap(f"{STAGE}/tables/x", data=np.zeros(2, "V8"), chunks=(2,)), "type that"),
    "half floats": (array(f"{STAGE}/tables/x", np.zeros(2, "f2")), "type that"),
    "big-endian": (array("result/scores", np.zeros(7, ">f8")), "type that"),
    "other enumeration": (
        swap(f"{STAGE}/tables/x", shape=(2,), dtype=h5py.enum_dtype({"A": 0, "B": 1}), chunks=(2,)),
        "type that"),
    "truth values of seven": (bad_truth, "other than 0 and 1"),
    "committed type": (committed_type, "not a dataset"),
    "a filter from a plugin": (
        swap("result/scores", data=np.zeros(7), compression="lzf", fletcher32=True), "no filter"),
    "no checksum": (swap("result/scores", data=np.zeros(7), chunks=(7,)), "fletcher32"),
    "contiguous": (swap("result/scores", data=np.zeros(7)), "not stored in chunks"),
    "compact": (compact, "not stored in chunks"),
    "huge and empty": (swap("result/scores", **HUGE), "declares"),
    "huge text": (
        swap("warnings", **{**HUGE, "dtype": h5py.string_dtype("utf-8", 1000)}), "declares"),
    "huge fill value": (swap(f"{STAGE}/tables/x", **HUGE, fillvalue=1.0), "declares"),
    "beyond 64 bits": (
        swap(f"{STAGE}/tables/x", shape=(1 << 31, 1 << 31, 1 << 31), dtype="f8", chunks=(1, 1, 64),
             fletcher32=True), "declares"),
    "chunks larger than the data": (
        swap("result/scores", data=np.zeros(7), maxshape=(None,), chunks=(1 << 20,),
             fletcher32=True), "chunks larger"),
    "a scalar": (swap(f"{STAGE}/tables/x", data=1.0), "dimensions"),
    "nine dimensions": (array(f"{STAGE}/tables/x", np.zeros((1,) * 9)), "9 dimensions"),
    "deep nesting": (nested, "not a dataset"),
    "a thousand and one members": (many(f"{STAGE}/tables", 1001), "members"),
    "a hundred and one stages": (many("stages", 101), "stages"),
    "a name that is not UTF-8": (bytes_name, "not UTF-8"),
    "a name of 5000 bytes": (long_name, "5000 bytes"),
    "a strange group": (many("/", 1), "does not know: x0"),
    "a strange name with an escape": (
        lambda f: f.create_group("\x1b[2Jx"), r"does not know: \x1b[2Jx"),
    "a missing group": (delete("result"), "lacks result"),
    "a missing dataset": (delete("data/feature_names"), "lacks feature_names"),
    "a missing attribute": (delete_attribute("/", "chain"), "attributes"),
    "another attribute in its place": (
        lambda f: (f.attrs.__delitem__("chain"), attribute("/", "chaim", "x")(f)), "lacks the"),
    "a strange attribute": (attribute("/", "note", "x"), "attributes"),
    "a strange attribute on stages": (attribute("stages", "note", "x"), "attributes"),
    "an attribute as an array": (
        attribute("data", "n_samples", np.zeros(3, "i8")), "not a single value"),
    "an attribute of another type": (attribute("data", "n_samples", 40.0), "not of type int64"),
    "variable-length attribute": (
        attribute("/", "chain", b"x".decode() and np.array("x", dtype=object),
                  h5py.string_dtype()), "fixed length"),
    "an attribute of 64 kB": (attribute("/", "chain", "x" * 64_000), "64000 bytes"),
    "an attribute with a NUL": (attribute("/", "chain", "a\0b"), "NUL"),
    "an attribute that is not UTF-8": (
        lambda f: f.attrs.create("chain", np.array(b"\xff", dtype="S1")), "not UTF-8"),
    "text that is not UTF-8": (array("warnings", [b"\xff"]), "not UTF-8"),
    "a text in two dimensions": (array("warnings", [[b"x"]]), "not a list of texts"),
    "another encoding": (attribute("/", "encoding-type", "anndata"), "encoding-type is 'anndata'"),
    "a version the seal does not say": (attribute("/", "encoding-version", 1), "version is 1"),
    "an unfinished run": (attribute("/", "status", "running"), "did not finish"),
    "a seed of letters": (attribute("/", "seed", "12x"), "not a whole number"),
    "a seed of 5000 digits": (attribute("/", "seed", "9" * 5000), "not a whole number"),
    "a stage seed of text": (attribute(STAGE, "seed", '["a"]'), "list of whole numbers"),
    "a negative stage seed": (attribute(STAGE, "seed", "[-1]"), "list of whole numbers"),
    "deep JSON": (text(f"{STAGE}/params", "[" * 100_000), "not JSON"),
    "deep JSON that closes": (
        text(f"{STAGE}/params", '{"a":' * 50_000 + "1" + "}" * 50_000), "not JSON"),
    "JSON that is no object": (text(f"{STAGE}/params", "[1]"), "not a JSON object"),
    "JSON with NaN": (text(f"{STAGE}/params", '{"a":NaN}'), "not JSON"),
    "JSON with an endless number": (
        text(f"{STAGE}/params", '{"a":' + "9" * 9000 + "}"), "not JSON"),
    "two texts of JSON": (text(f"{STAGE}/params", "{}", "{}"), "not one"),
    "a name too many": (text("data/feature_names", *"abcdefgh"), "8 names for 7"),
    "a feature name of 5000 bytes": (
        text("data/feature_names", *"abcdef", "x" * 5000), "more than 4096"),
    "negative sizes": (attribute("data", "n_samples", -1), "negative size"),
    "an unknown task": (attribute("data", "task", "clustering"), "task"),
    "an unknown kind of stage": (attribute(STAGE, "kind", "virus"), "kind"),
    "a stage out of order": (rename("stages/02-npfs", "stages/07-npfs"), "not 02-NAME"),
    "a stage of another name": (rename("stages/02-npfs", "stages/02-other"), "says it is 'npfs'"),
    "a stage without a number": (rename("stages/02-npfs", "stages/npfs"), "not"),
    "columns beyond the table": (array("result/selected", [9]), "outside 0 … 6"),
    "a column twice": (array("result/selected", [1, 1]), "different columns"),
    "too few scores": (array("result/scores", np.zeros(3)), "shape (3,)"),
    "infinite scores": (array("result/scores", np.full(7, np.inf)), "infinite"),
    "selected as floats": (array("result/selected", [1.0]), "float64, not int64"),
    "scores without selection": (delete(f"{STAGE}/selected"), "no selected columns"),
    "selection without scores": (delete(f"{STAGE}/scores"), "no scores"),
    "negative weights": (array(f"{STAGE}/weights", np.full(7, -1.0)), "negative"),
    "pairs that are not symmetric": (
        array(f"{STAGE}/pair_weights/matrix", np.arange(16.0).reshape(4, 4)), "not symmetric"),
    "pairs of another size": (array(f"{STAGE}/pair_weights/matrix", np.zeros((3, 3))), "shape"),
    "pairs in both forms": (array(f"{STAGE}/pair_weights/i", np.zeros(1, int)), "neither"),
    "pairs in neither form": (delete(f"{STAGE}/pair_weights/matrix"), "neither"),
    "pairs beyond their columns": (array("stages/02-npfs/pair_weights/j", [1, 3]), "outside"),
    "pairs of columns beyond the table": (
        array("stages/02-npfs/pair_weights/columns", [2, 5, 70]), "outside"),
    "pairs in two dimensions": (array("stages/02-npfs/pair_weights/i", np.zeros((2, 1), int)), ""),
    "another score than the digest says": (array("result/scores", np.arange(7.0)), "/result"),
    "another parameter than the digest says": (
        text(f"{STAGE}/params", '{"sigma":1}'), "/stages/01-immigrate does not have the digest"),
    "another digest": (attribute(STAGE, "digest", "00" * 32), "does not have the digest"),
    "axes that are no object": (text(f"{STAGE}/model_columns", "[0]"), "not a JSON object"),
    "axes of an array that is not there": (
        text(f"{STAGE}/model_columns", '{"' + "x" * 9000 + '":[0]}'), "axes of arrays in model"),
    "axes that are no lists": (text(f"{STAGE}/model_columns", '{"W":0}'), "axes of arrays in"),
    "axes of text": (text(f"{STAGE}/model_columns", '{"W":["0"]}'), "axes of arrays in model"),
    "a negative axis": (text(f"{STAGE}/model_columns", '{"W":[-1]}'), "axes of arrays in model"),
    "an axis beyond the array": (text(f"{STAGE}/model_columns", '{"W":[2]}'), "gives 'W'"),
    "an axis twice": (text(f"{STAGE}/model_columns", '{"W":[0,0]}'), "gives 'W'"),
    "axes of a classifier": (
        text("stages/03-knn/model_columns", '{"X":[1]}'), "no selected columns"),
    "a model that is a dataset": (array(f"{STAGE}/model", np.zeros(3)), "not a group"),
    # Small files that would cost much.
    "96 MiB of zeros": (zeros((3 << 25,), (1 << 22,), shuffle=True), "bytes in all"),
    "gzip upon gzip": (twice_packed, "no filter besides"),
    "a chunk that swells": (swollen_chunk, "does not decompress to its declared size"),
    "a chunk without its checksum": (without_checksum, "without its checksum"),
    "chunks of one element": (zeros((300,), (1,)), "too many for its size"),
    "chunks that are missing": (half_written, "has 3 chunks, not 4"),
    "texts of one byte": (one_byte_texts, "bytes in all"),
    "texts as wide as the longest": (one_long_text, "bytes in all"),
    "JSON of nine megabytes": (long_json, "too long"),
    "an infinite parameter": (text(f"{STAGE}/params", '{"sigma":1e999}'), "not a JSON number here"),
}  # fmt: skip


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory) -> dict[str, str]:
    return opened_cases(tmp_path_factory.mktemp("hostile"), CASES)


@needs_statm
def test_the_file_that_the_cases_start_from_is_sound(outcomes):
    assert outcomes["sound"] == "read"


@needs_statm
@pytest.mark.parametrize("name", CASES)
def test_a_hostile_file_is_refused(outcomes, name):
    outcome = outcomes[name]
    assert outcome != "read"
    assert "is not a valid run file" in outcome
    assert CASES[name][1] in outcome
    assert "Traceback" not in outcome and "\x1b" not in outcome


@pytest.mark.parametrize(
    ("limits", "part"),
    [
        (Limits(file_bytes=1000), "a run file has at most 1000"),
        (Limits(array_bytes=1000), "more than 1000 bytes in all"),
        (Limits(attribute_bytes=10), "bytes long"),
        (Limits(name_bytes=3), "name is 4 bytes long"),
        (Limits(stages=3), "has 4 stages; at most 3 are"),
        (Limits(members=5), "at most 5 are"),
        (Limits(dimensions=2), "3 dimensions; 1 to 2"),
        (Limits(expansion=0), "declares"),
    ],
)
def test_every_limit_is_held(run_file, limits, part):
    with pytest.raises(StoreError) as caught:
        load_run(run_file, limits=limits)
    assert part in str(caught.value)


def test_a_file_may_reach_its_limits(run_file):
    assert len(load_run(run_file, limits=Limits(stages=4, dimensions=3)).stages) == 4


@pytest.mark.parametrize(
    ("shape", "told"),
    [((4,), r"has shape \(3,\), not 4"), ((3, None), r"has shape \(3,\), not 3 × any")],
)
def test_a_table_of_another_shape_is_refused(shape, told):
    tables = CheckedArrays({"place": np.zeros(3, dtype=int)}, "/stages/0-mim")
    with pytest.raises(StoreError, match=f"/stages/0-mim: the table place {told}"):
        tables.integers("place", shape, 0, 5)
    assert tables.integers("place", (3,), 0, 5).tolist() == [0, 0, 0]
