"""Runs what the conda recipe and the container file say, without conda or an engine.

    python packaging/try_packaging.py

What is committed becomes a source archive, which is unpacked; virtual environments stand for those
of conda and for images, and pip installs what conda would.

* **recipe**: in an environment with the host requirements its script makes the package; in another,
  with the run requirements and the package without dependencies, its imports and commands are run.
* **container file**: its pip command installs below a folder, which is copied over a second
  environment as the second image gets it, and its last command is run there.

What conda and engines do themselves (solver, channels, formats; base image, layers) is not tried.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RECIPE = ROOT / "packaging" / "conda" / "meta.yaml"
CONTAINER = ROOT / "packaging" / "Containerfile"
CONSTRAINT = ROOT / "tests" / "dependencies" / "lock.txt"
_NOT_OF_PIP = {"python", "pip", "__unix"}
_ARCHIVE = "import sys; from setuptools import build_meta as b; print(b.build_sdist(sys.argv[1]))"


def items(title: str, name: str) -> list[str]:
    """The items of a list in the recipe, such as ``host`` of ``requirements``.

    >>> items("test", "imports")
    ['fsframe']
    """
    body = _found(rf"^{title}:\n((?:[ #].*\n|\n)+)", RECIPE.read_text(encoding="utf-8"))
    lines = _found(rf"^  {name}:\n((?:    [#-].*\n?)+)", body).splitlines()
    return [line.strip()[2:] for line in lines if line.strip().startswith("- ")]


def recipe_script(python: Path) -> list[str]:
    """The words of the recipe's script for this Python."""
    line = _found(r"^  script: (.+)$", RECIPE.read_text(encoding="utf-8"))
    return shlex.split(line.replace("{{ PYTHON }}", str(python)))


def requirements(name: str) -> list[str]:
    """The recipe's requirements ``host`` or ``run`` that pip installs."""
    words = [line.split(maxsplit=1) for line in items("requirements", name)]
    return ["".join(word) for word in words if word[0] not in _NOT_OF_PIP]


def container_commands() -> list[str]:
    """The commands of the container file's RUN lines."""
    return re.findall(r"^RUN (.+)$", CONTAINER.read_text(encoding="utf-8"), flags=re.MULTILINE)


def _found(pattern: str, text: str) -> str:
    match = re.search(pattern, text, flags=re.MULTILINE)
    if match is None:
        raise SystemExit(f"nothing matches {pattern!r}")
    return match[1]


def run(command: Sequence[str | Path], where: Path, binaries: Path | None = None) -> None:
    """Run a command and show it; what it printed only if it fails."""
    print("$", shlex.join(str(word) for word in command), flush=True)
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PIP_CONSTRAINT")}
    environment |= {"PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    if binaries is not None:
        environment["PATH"] = f"{binaries}{os.pathsep}{environment['PATH']}"
    done = subprocess.run(
        [str(word) for word in command],
        cwd=where, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"failed with {done.returncode}:\n{done.stdout}{done.stderr}")


def environment(folder: Path, packages: Sequence[str]) -> Path:
    """The Python of a new virtual environment with these packages."""
    run([sys.executable, "-m", "venv", folder], folder.parent)
    python = folder / "bin" / "python"
    if packages:
        run([python, "-m", "pip", "install", "-q", "-c", CONSTRAINT, *packages], folder.parent)
    return python


def unpacked_archive(folder: Path, python: Path) -> Path:
    """The folder of an unpacked source archive of what is committed."""
    (folder / "committed").mkdir()
    run(["git", "archive", "-o", folder / "committed.tar", "HEAD"], ROOT)
    for archive, into in ((folder / "committed.tar", folder / "committed"), (None, folder)):
        if archive is None:
            run([python, "-c", _ARCHIVE, folder], folder / "committed")
            (archive,) = folder.glob("*.tar.gz")
        with tarfile.open(archive) as file:
            file.extractall(into, filter="data")
    return folder / archive.name.removesuffix(".tar.gz")


def try_recipe(folder: Path) -> Path:
    """The recipe's script, imports and commands; returns the unpacked source."""
    host = environment(folder / "host", requirements("host"))
    source = unpacked_archive(folder, host)
    script = recipe_script(host)
    run(script, source, host.parent)
    # The same script with the wheel as its result, which the other environment gets.
    options = [word for word in script if word.startswith("--no-")]
    run([host, "-m", "pip", "wheel", ".", *options, "-w", folder], source)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as content:
        if "fsframe/sklearn/__init__.pyi" not in content.namelist():
            raise SystemExit("the host requirements do not suffice to write the stubs")
    target = environment(folder / "run", requirements("run"))
    run([target, "-m", "pip", "install", "-q", "--no-deps", wheel], folder)
    for module in items("test", "imports"):
        run([target, "-c", f"import {module}"], folder)
    for command in items("test", "commands"):
        run(["sh", "-c", command], folder, target.parent)
    return source


def try_container(folder: Path, source: Path) -> None:
    """The commands of the container file, with folders in place of images."""
    install, last = container_commands()
    builder, image = environment(folder / "builder", []), environment(folder / "image", [])
    install = install.replace("/opt/fsframe", str(folder / "opt"))
    run(["sh", "-c", install], source, builder.parent)
    shutil.copytree(folder / "opt", folder / "image", dirs_exist_ok=True)
    # Scripts name the Python of the image that installed them, which is the same in both images.
    program = folder / "image" / "bin" / "fsframe"
    text = program.read_text(encoding="utf-8")
    program.write_text(text.replace(str(builder), str(image)), encoding="utf-8")
    table = source / "examples" / "parkinsons_subjects.csv"
    run(["sh", "-c", last.replace("/opt/parkinsons.csv", str(table))], folder, image.parent)


def main() -> None:
    """Try both in a temporary folder."""
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args()
    with tempfile.TemporaryDirectory() as name:
        source = try_recipe(Path(name))
        print("recipe: its script, imports and commands work")
        try_container(Path(name), source)
        print("container file: its commands work")


if __name__ == "__main__":
    main()
