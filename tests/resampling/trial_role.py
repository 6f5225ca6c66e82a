"""A role that fsframe does not have, declared as its own are, and a method that honours it.

Runs ``fsframe`` with both, with each of the lists of arguments that it is given as JSON, and prints
exit code and output of each as a line of JSON: `test_a_new_role` counts what a new role takes.
"""

from __future__ import annotations

import json
import sys
from typing import Any, ClassVar

import numpy as np

import fsframe
from fsframe.method.ranking import rank_by_score
from fsframe.table.roles import Role, declare

DOSE = Role(
    name="dose", given="name", side=True, of_rows=True, word="dose", being="is the dose",
    verb="be the dose", fact="by the dose {}", metavar="NAME", help="Column of the dose given.",
)  # fmt: skip

# As a program only: whoever imports this, to look for doctests, gets no role.
if __name__ == "__main__":
    from tests.same_process import fsframe as command

    declare(DOSE)

    @fsframe.register
    class Dosed(fsframe.Selector):
        """Correlation of each feature with the dose."""

        honours: ClassVar[frozenset[str]] = frozenset({"dose"})

        def _select(self, data: Any, upstream: Any, run: Any) -> fsframe.Selection:
            dose = data.sides["dose"].values[:, 0]
            scores = np.abs(np.corrcoef(data.X.T, dose)[-1, :-1])
            return fsframe.Selection(selected=rank_by_score(scores)[: self.top or 1], scores=scores)

    for words in json.loads(sys.argv[1]):
        done = command(*words)
        print(json.dumps([done.code, done.out + done.err]))
