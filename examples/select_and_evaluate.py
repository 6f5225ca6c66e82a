"""Selection, evaluation and stability of a chain from a program; passes `mypy --strict`.

python examples/select_and_evaluate.py
"""

from __future__ import annotations

from pathlib import Path

import fsframe

TABLE = Path(__file__).with_name("parkinsons_subjects.csv")


def answer(chain: str, data: fsframe.Dataset) -> tuple[list[str], float, float]:
    """The features that a chain keeps, its accuracy on unseen people, and its stability."""
    kept: fsframe.SelectionResult = fsframe.select(chain, data, progress=False)
    # Five folds, once: enough for an example.
    evaluation = fsframe.evaluate(chain, data, folds=5, repeats=1, progress=False)
    again: fsframe.StabilityResult = fsframe.stability(chain, data, n=10, progress=False)
    return list(kept.selected_names), evaluation.accuracy, again.values["nogueira"]


def main() -> None:
    data = fsframe.read(TABLE, groups="subject")
    names, accuracy, stable = answer("mim:top=4,bins=5", data)
    print(f"kept {', '.join(names)}; accuracy {accuracy:.3f}, stability {stable:.2f}")


if __name__ == "__main__":
    main()
