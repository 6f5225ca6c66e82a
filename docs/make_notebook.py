"""Runs examples/notebook.ipynb and keeps what its cells show; without a kernel, in this process.

    python docs/make_notebook.py

Like a kernel it shows the value of a cell's last expression: its picture, its HTML, its text.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).resolve().parents[1] / "examples" / "notebook.ipynb"


def executed(notebook: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The notebook with the outputs of its cells, run one after the other in `folder`."""
    space: dict[str, Any] = {"__name__": "__main__"}
    cells, number = [], 0
    before = os.getcwd()
    os.chdir(folder)
    try:
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                number += 1
                cell = {**cell, "execution_count": number, "outputs": _outputs(cell, space, number)}
            cells.append(cell)
    finally:
        os.chdir(before)
    return {**notebook, "cells": cells}


def _outputs(cell: dict[str, Any], space: dict[str, Any], number: int) -> list[dict[str, Any]]:
    tree = ast.parse("".join(cell["source"]))
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"cell {number}", "exec"), space)
        value = None
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), space)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        text = printed.getvalue().splitlines(keepends=True)
        outputs.append({"output_type": "stream", "name": "stdout", "text": text})
    if value is not None:
        outputs.append(
            {
                "output_type": "execute_result",
                "execution_count": number,
                "metadata": {},
                "data": _shown(value),
            }
        )
    return outputs


def _shown(value: Any) -> dict[str, Any]:
    data: dict[str, Any] = {}
    picture = getattr(value, "_repr_png_", lambda: None)()
    page = None if picture else getattr(value, "_repr_html_", lambda: None)()
    if picture:
        data["image/png"] = base64.b64encode(picture).decode()
    if page:
        data["text/html"] = page.splitlines(keepends=True)
    text = "<Figure>" if picture else repr(value)
    return {**data, "text/plain": text.splitlines(keepends=True)}


if __name__ == "__main__":
    notebook = executed(json.loads(NOTEBOOK.read_text(encoding="utf-8")), NOTEBOOK.parent)
    NOTEBOOK.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
