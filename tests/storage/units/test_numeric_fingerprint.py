"""Units of another processor, or of other numerical libraries, are refused or told."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fsframe.chains.request import Request
from fsframe.cli import main
from fsframe.errors import StoreError
from fsframe.storage import load_run
from fsframe.storage.checkpoint import units_folder
from fsframe.storage.encoding import (
    NUMERIC_LIBRARIES,
    NUMERIC_PARTS,
    fingerprint,
    numeric_differences,
)
from fsframe.storage.unit_files import Manifest, Unit
from tests.storage.units.interrupted import CHAIN, Stop, stop_late, table

ELSEWHERE = {**fingerprint(), "blas": "openblas 0.3.30 Haswell"}


def runs_on(monkeypatch: pytest.MonkeyPatch, numerics: dict[str, str]) -> None:
    monkeypatch.setattr("fsframe.storage.unit_files.fingerprint", lambda: numerics)


@pytest.fixture
def begin(tmp_path: Path) -> Callable[[dict[str, str]], Path]:
    """Begins a run where the numerical libraries are these."""

    def run(numerics: dict[str, str]) -> Path:
        with pytest.MonkeyPatch.context() as patched:
            runs_on(patched, numerics)
            with pytest.raises(Stop):
                CHAIN.run(table(), out=tmp_path / "run.h5", listener=stop_late)
        return tmp_path / "run.h5"

    return run


@pytest.fixture
def begun_elsewhere(begin: Callable[[dict[str, str]], Path]) -> Path:
    return begin(ELSEWHERE)


def test_a_fingerprint_names_its_parts_and_is_that_of_this_process():
    found = fingerprint()
    assert set(found) == {*NUMERIC_PARTS, *NUMERIC_LIBRARIES}
    assert all(found[name] for name in ("blas", "simd", "kernels", "numpy", "scipy", "numba"))
    assert found["numpy"] == np.__version__
    assert numeric_differences(found, found) == []


@pytest.mark.parametrize(
    ("variable", "value", "part"),
    [
        ("OPENBLAS_CORETYPE", "Nehalem", "blas"),
        ("NPY_DISABLE_CPU_FEATURES", None, "simd"),
        ("NUMBA_CPU_NAME", "generic", "kernels"),
    ],
)
def test_what_makes_libraries_compute_otherwise_changes_the_fingerprint(variable, value, part):
    if part == "blas" and "openblas" not in fingerprint()["blas"]:
        pytest.skip("another BLAS")
    if part == "kernels" and fingerprint()["kernels"].startswith("generic"):
        pytest.skip("this LLVM does not know the processor: kernels are generic already")
    if value is None:
        extensions = np.show_config(mode="dicts").get("SIMD Extensions", {})
        value = " ".join(extensions.get("found", ()))
        if not value:
            pytest.skip("NumPy has nothing to choose here")
    code = "from fsframe.storage.encoding import fingerprint; print(dict(fingerprint()))"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env={**os.environ, variable: value},
        capture_output=True,
        text=True,
        check=True,
    )
    there = eval(done.stdout)
    assert [name for name in there if there[name] != fingerprint()[name]] == [part]


@pytest.mark.parametrize(
    ("part", "there"), [("blas", "openblas 0.3.30 Haswell"), ("numpy", "1.9.0")]
)
def test_a_run_begun_elsewhere_is_refused_and_nothing_of_it_is_lost(begin, part, there):
    out = begin({**fingerprint(), part: there})
    before = sorted(os.listdir(units_folder(out)))
    with pytest.raises(StoreError, match=f"started with {part} '{re.escape(there)}', not") as told:
        CHAIN.run(table(), out=out)
    assert "--mixed" in str(told.value) and "--restart" in str(told.value)
    assert sorted(os.listdir(units_folder(out))) == before
    record = CHAIN.run(table(), out=out, mixed=True)
    assert f"{part} '{there}'" in record.environment["mixed"]


def test_an_accepted_one_is_marked_wherever_it_is_shown(begun_elsewhere, capsys):
    record = CHAIN.run(table(), out=begun_elsewhere, mixed=True)
    mixed = load_run(begun_elsewhere).environment["mixed"]
    assert mixed.startswith("blas 'openblas 0.3.30 Haswell', not ")
    assert any(mixed in warning for warning in record.all_warnings())
    for command in ("show", "verify"):
        with pytest.raises(SystemExit):
            main([command, str(begun_elsewhere)])
        assert "openblas 0.3.30 Haswell" in capsys.readouterr().out
    # The data are whole numbers: here the bits do not differ.
    assert record.digests() == CHAIN.run(table()).digests()


def test_other_reasons_are_not_accepted_with_it(begun_elsewhere):
    with pytest.raises(StoreError, match="its seed is 0, not 1") as told:
        CHAIN.run(table(), 1, begun_elsewhere, mixed=True)
    assert "--mixed" not in str(told.value)


def keep_a_unit(out: Path) -> None:
    with Request(chain=CHAIN, data=table(), out=out, mixed=True).checkpoint() as checkpoint:
        checkpoint.commit(Unit("9~ab", 0, 1), b"unit")


def test_the_manifest_says_which_units_are_of_which(begun_elsewhere):
    before = sum(name.startswith("units-") for name in os.listdir(units_folder(begun_elsewhere)))
    keep_a_unit(begun_elsewhere)
    manifest = Manifest.read(units_folder(begun_elsewhere) / "manifest")
    assert dict(manifest.numerics) == dict(fingerprint())
    ((last, numerics),) = manifest.earlier
    assert (last, dict(numerics)) == (before, ELSEWHERE)


def test_a_mixed_run_continues_in_either_place_and_stays_mixed(begun_elsewhere, monkeypatch):
    keep_a_unit(begun_elsewhere)
    runs_on(monkeypatch, ELSEWHERE)
    CHAIN.run(table(), out=begun_elsewhere)
    assert "not 'openblas 0.3.30 Haswell'" in load_run(begun_elsewhere).environment["mixed"]


def test_a_run_that_was_accepted_but_left_no_units_is_not_mixed(begun_elsewhere, monkeypatch):
    Request(chain=CHAIN, data=table(), out=begun_elsewhere, mixed=True).checkpoint().close()
    runs_on(monkeypatch, ELSEWHERE)
    CHAIN.run(table(), out=begun_elsewhere)
    assert "mixed" not in load_run(begun_elsewhere).environment


def test_a_run_file_says_where_it_was_computed(tmp_path):
    CHAIN.run(table(), out=tmp_path / "run.h5")
    environment = load_run(tmp_path / "run.h5").environment
    assert {name: environment[name] for name in fingerprint()} == dict(fingerprint())
    assert "mixed" not in environment
