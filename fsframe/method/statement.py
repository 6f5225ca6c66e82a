"""Statements that p-values and error rates are about, such as that a feature is relevant."""

from __future__ import annotations

from collections.abc import Sequence

import attrs


@attrs.frozen(kw_only=True)
class Statement:
    """The statement that a stage tests, or whose errors it bounds.

    Parameters
    ----------
    word : str
        Its word in the glossary.
    kind : {"marginal", "conditional"}
        Conditional: beyond what other features say about the label.
    subject : str
        Subject and verb of the tested claim.
    meaning : str
        The rest of a sentence after *whether*.

    Examples
    --------
    >>> NEEDED.sentence("knockoffs", ["age"])
    'knockoffs tests whether a feature is needed (conditional): whether it carries information \
about the label beyond all other features, given age.'
    """

    word: str
    kind: str
    subject: str
    meaning: str

    def sentence(self, stage: str, given: Sequence[str] = ()) -> str:
        """The sentence that says what `stage` tests; `given` holds the names of covariates."""
        condition = f", given {', '.join(given)}" if given else ""
        return (
            f"{stage} tests whether {self.subject} ({self.kind}): whether {self.meaning}"
            f"{condition}."
        )


RELEVANT = Statement(
    word="relevant",
    kind="marginal",
    subject="a feature is relevant",
    meaning="it carries information about the label, even if other features carry the same",
)

RELEVANT_PAIR = Statement(
    word="relevant",
    kind="marginal",
    subject="a pair is relevant",
    meaning="its weight depends on the label; its features need not interact",
)

NEEDED = Statement(
    word="needed",
    kind="conditional",
    subject="a feature is needed",
    meaning="it carries information about the label beyond all other features",
)

ADDING = Statement(
    word="adds",
    kind="conditional",
    subject="a feature adds",
    meaning="it carries information about the label beyond the features chosen before it",
)

INTERACTING = Statement(
    word="interacts",
    kind="conditional",
    subject="a pair interacts",
    meaning="two features say more about the label together than separately",
)
