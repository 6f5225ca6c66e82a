"""Builds the package with its stubs: what each bundled method takes, for editors and type checkers.

They are written by importing the package, so `pip wheel . --no-build-isolation` with the
dependencies installed has them; a build without the dependencies leaves them out and says so.
"""

import os
import subprocess
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithStubs(build_py):
    """Copies the modules, then writes the stubs among them."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        built = Path(self.build_lib).resolve()
        done = subprocess.run(
            [sys.executable, "docs/make_stubs.py", str(built / "fsframe")],
            # The entry points of the plugins stand in the metadata that was just made here.
            # Bytecode beside the modules would be packed with them.
            env={
                **os.environ,
                "PYTHONPATH": f"{built}{os.pathsep}{Path.cwd()}",
                "PYTHONDONTWRITEBYTECODE": "1",
            },
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            reason = (done.stderr.strip() or "no message").splitlines()[-1]
            self.warn(f"built without the stubs of the methods: {reason}")


setup(cmdclass={"build_py": BuildWithStubs})
