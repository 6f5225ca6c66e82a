"""What editors and type checkers are told of the estimators is what the methods declare."""

from __future__ import annotations

import ast
import inspect
import runpy
import shutil
from pathlib import Path

import pytest

import fsframe.sklearn
from fsframe.sklearn import offered_names

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "docs" / "make_stubs.py"


@pytest.fixture
def typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The package as a wheel has it, with its stubs, in front of all others for mypy."""
    for source in [ROOT / "fsframe", *ROOT.glob("plugins/fsframe_*")]:
        ignored = shutil.ignore_patterns("__pycache__", "*.pyi")
        shutil.copytree(source, tmp_path / "typed" / source.name, ignore=ignored)
    runpy.run_path(str(SCRIPT))["main"]([str(tmp_path / "typed" / "fsframe")])
    monkeypatch.setenv("MYPYPATH", str(tmp_path / "typed"))
    return tmp_path


def checked(program: Path, typed: Path) -> tuple[str, str, int]:
    """What mypy says of a program."""
    from mypy import api

    # As of an installed package: what is imported is believed, not checked.
    options = ["--strict", "--follow-imports=silent", "--cache-dir", str(typed / "cache")]
    return api.run(["--config-file", "", *options, str(program)])


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


@pytest.mark.slow
def test_a_strictly_typed_program_passes_mypy(typed: Path) -> None:
    program = ROOT / "examples" / "typed_estimators.py"
    told, errors, code = checked(program, typed)
    assert code == 0, told + errors


@pytest.mark.slow
def test_a_wrong_parameter_is_found_by_mypy(typed: Path) -> None:
    program = typed / "program.py"
    program.write_text(
        "import fsframe\nfrom fsframe.sklearn import ReliefF\n"
        "fsframe.selectors['relieff'](k=3)\n"
        "fsframe.selectors['relieff'](k='x')\n"
        "fsframe.selectors['relieff'](kk=3)\n"
        "fsframe.classifiers['knn'](k=2.5)\n"
        "ReliefF(k='x')\n"
        "name: str = 'some-plugin/method'\n"
        "fsframe.selectors[name](anything=3)\n"
    )
    told, _, _ = checked(program, typed)
    found = [
        line.split(": ")[0].rpartition(":")[2] for line in told.splitlines() if "error" in line
    ]
    assert found[:4] == ["4", "5", "6", "7"] and "Found 4 errors" in told, told


@pytest.mark.slow
def test_a_program_with_a_path_a_size_and_a_family_passes_mypy(typed: Path) -> None:
    program = typed / "program.py"
    program.write_text(
        "import fsframe\n"
        "fsframe.Chain.parse('mim').run('x.csv', memory='2GB')\n"
        "fsframe.selectors.offer('mim').entry.family.upper()\n"
        "fsframe.__version__.upper()\n"
    )
    told, errors, code = checked(program, typed)
    assert code == 0, told + errors


@pytest.mark.slow
def test_a_misspelt_name_is_found_by_mypy(typed: Path) -> None:
    program = typed / "program.py"
    names = "".join(f"fsframe.{name}\n" for name in fsframe.__all__)
    program.write_text(
        "import fsframe, fsframe.execution, fsframe.storage\n"
        "fsframe.evalute('mim knn', 'x.csv')\n"
        "fsframe.storage.load_rum('x.h5')\n"
        f"fsframe.execution.open_engin('processes')\n{names}"
    )
    told, _, _ = checked(program, typed)
    assert told.count("has no attribute") == 3 and "Found 3 errors" in told, told


@pytest.mark.slow
def test_results_have_types(typed: Path) -> None:
    program = typed / "program.py"
    program.write_text(
        "import fsframe\nimport numpy as np\nimport polars\n"
        "from fsframe.sklearn import ChainSelector, MRMR\n"
        "X, y = np.zeros((9, 2)), np.zeros(9)\n"
        "reveal_type(MRMR().fit(X, y).transform(X))\n"
        "reveal_type(ChainSelector('mim').fit_transform(polars.DataFrame(X), y))\n"
        "reveal_type(MRMR().get_support(indices=True))\n"
        "reveal_type(ChainSelector('mim').selection_.scores)\n"
        "reveal_type(ChainSelector('mim').selections_['mim'].selected)\n"
        "reveal_type(fsframe.select('mim', 'table.csv').stages[0].selection)\n"
        "reveal_type(fsframe.load_run('run.h5').stages[0].selection)\n"
    )
    told, errors, code = checked(program, typed)
    assert code == 0, told + errors
    found = [line.partition('type is "')[2].rstrip('"') for line in told.splitlines()]
    # pandas has no stubs here, and is Any; its frames and those of polars come by `set_output`.
    dense = (
        "numpy.ndarray[tuple[Any, ...], numpy.dtype[Any]] | Any | polars.dataframe.frame.DataFrame"
    )
    assert found[:2] == [dense, dense], told
    assert "signedinteger" in found[2] and "float64" in found[3].replace(
        "floating[_64Bit]", "float64"
    )
    assert "signedinteger" in found[4]
    assert found[5:7] == ["fsframe.method.selection.Selection | None"] * 2


def test_dir_of_the_package_lists_its_public_names() -> None:
    listed = [name for name in dir(fsframe) if not name.startswith("__")]
    assert listed == sorted(fsframe.__all__)


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
