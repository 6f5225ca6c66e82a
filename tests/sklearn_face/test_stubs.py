"""What editors and type checkers are told of the estimators is what the methods declare."""

from __future__ import annotations

import ast
import inspect
import re
import runpy
import shutil
from pathlib import Path

import pytest

import fsframe.sklearn
from fsframe.sklearn import offered_names

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "docs" / "make_stubs.py"


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as a wheel has it, with its stubs."""
    package = tmp_path_factory.mktemp("typed")
    for source in [ROOT / "fsframe", *ROOT.glob("plugins/fsframe_*")]:
        ignored = shutil.ignore_patterns("__pycache__", "*.pyi")
        shutil.copytree(source, package / source.name, ignore=ignored)
    runpy.run_path(str(SCRIPT))["main"]([str(package / "fsframe")])
    return package


def checked(program: Path, package: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """What mypy says of a program; it finds the package in front of all others."""
    from mypy import api

    monkeypatch.setenv("MYPYPATH", str(package))
    # As of an installed package: what is imported is believed, not checked.
    options = ["--strict", "--follow-imports=silent", "--cache-dir", str(package / "cache")]
    told, errors, _ = api.run(["--config-file", "", *options, str(program)])
    return told + errors


def test_the_stub_has_the_signatures_of_the_classes() -> None:
    tree = ast.parse(runpy.run_path(str(SCRIPT))["sklearn_stub"]())
    told = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            told[node.name] = {
                inner.name: inner.args for inner in node.body if isinstance(inner, ast.FunctionDef)
            }
    for name in [*offered_names(), "ChainSelector", "ChainClassifier"]:
        if name not in told:
            continue  # of a plugin that is not bundled
        made = getattr(fsframe.sklearn, name)
        arguments = told[name]["__init__"]
        listed = [argument.arg for argument in arguments.kwonlyargs]
        assert listed == [
            p.name
            for p in inspect.signature(made).parameters.values()
            if p.kind is inspect.Parameter.KEYWORD_ONLY
        ]
    assert {"Immigrate", "ReliefF", "MRMR", "NPFS", "WeightedKNN"} < set(told)


def test_packages_say_that_they_are_typed() -> None:
    packages = [ROOT / "fsframe", *(p.parent for p in ROOT.glob("plugins/fsframe_*/__init__.py"))]
    assert len(packages) > 5
    assert not [package.name for package in packages if not (package / "py.typed").exists()]


PROGRAM = """
import fsframe, fsframe.execution, fsframe.storage
import numpy as np
import polars
from fsframe.sklearn import ChainSelector, MRMR, ReliefF
fsframe.selectors['relieff'](k=3)
fsframe.selectors['relieff'](k='x')  # wrong
fsframe.selectors['relieff'](kk=3)  # wrong
fsframe.classifiers['knn'](k=2.5)  # wrong
ReliefF(k='x')  # wrong
name: str = 'some-plugin/method'
fsframe.selectors[name](anything=3)
fsframe.Chain.parse('mim').run('x.csv', memory='2GB')
fsframe.selectors.offer('mim').entry.family.upper()
fsframe.__version__.upper()
fsframe.evalute('mim knn', 'x.csv')  # wrong
fsframe.storage.load_rum('x.h5')  # wrong
fsframe.execution.open_engin('processes')  # wrong
X, y = np.zeros((9, 2)), np.zeros(9)
reveal_type(MRMR().fit(X, y).transform(X))
reveal_type(ChainSelector('mim').fit_transform(polars.DataFrame(X), y))
reveal_type(MRMR().get_support(indices=True))
reveal_type(ChainSelector('mim').selection_.scores)
reveal_type(ChainSelector('mim').selections_['mim'].selected)
reveal_type(fsframe.select('mim', 'table.csv').stages[0].selection)
reveal_type(fsframe.load_run('run.h5').stages[0].selection)
"""


@pytest.mark.slow
def test_a_strictly_typed_program_passes_mypy(package, monkeypatch) -> None:
    told = checked(ROOT / "examples" / "typed_estimators.py", package, monkeypatch)
    assert told.startswith("Success")


@pytest.mark.slow
def test_mypy_finds_what_is_wrong_and_knows_the_types_of_results(package, monkeypatch) -> None:
    program = package / "program.py"
    program.write_text(PROGRAM + "".join(f"fsframe.{name}\n" for name in fsframe.__all__))
    told = checked(program, package, monkeypatch)
    lines = program.read_text().splitlines()
    wrong = [number for number, line in enumerate(lines, 1) if line.endswith("# wrong")]
    errors = re.findall(r":(\d+): error: ", told)
    assert list(map(int, errors)) == wrong, told
    assert told.count("has no attribute") == 3
    result = re.findall(r'type is "(.*)"', told)
    # pandas has no stubs here, and is Any; its frames and those of polars come by `set_output`.
    dense = (
        "numpy.ndarray[tuple[Any, ...], numpy.dtype[Any]] | Any | polars.dataframe.frame.DataFrame"
    )
    assert result[:2] == [dense, dense], told
    assert "signedinteger" in result[2] and "signedinteger" in result[4]
    assert "float64" in result[3].replace("floating[_64Bit]", "float64")
    assert result[5:7] == ["fsframe.method.selection.Selection | None"] * 2


@pytest.mark.parametrize("package", [fsframe, fsframe.sklearn])
def test_dir_of_a_package_lists_its_public_names(package) -> None:
    listed = [name for name in dir(package) if not name.startswith("__")]
    assert listed == sorted(package.__all__)


def test_a_class_that_cannot_be_imported_is_left_out_of_an_import_of_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import fsframe.sklearn.generated as generated
    from fsframe.errors import FsframeWarning, PluginError

    whole = generated.estimator

    def estimator(name: str) -> object:
        if name == "mim":
            raise PluginError("no gpu")
        return whole(name)

    monkeypatch.setattr(generated, "estimator", estimator)
    names: dict[str, object] = {}
    with pytest.warns(FsframeWarning, match=r"MIM of '\w+' is left out of .*: no gpu"):
        exec("from fsframe.sklearn import *", names)
    assert "MRMR" in names and "MIM" not in names
    with pytest.raises(PluginError, match="no gpu"):
        _ = fsframe.sklearn.MIM
