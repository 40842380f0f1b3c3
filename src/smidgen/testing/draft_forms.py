"""What the laws of the draft loop need: texts to choose from, and texts that people make of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from smidgen.decision import Decision
from smidgen.structures import Choice, Drafts, Edit
from smidgen.testing.forms import Form

_SAID = (
    "Hello Ann thanks for the note it ships on Friday I think perhaps we can move that to Monday please let me know "
    "if this works 12 boxes of Käse! really? ... — (soon) regards, Tom\n\n- one\n- two 🙂 don't"
)
_WORDS = _SAID.split(" ")


def _text(rng: np.random.Generator, most: int = 30) -> str:
    return " ".join(rng.choice(_WORDS, size=int(rng.integers(0, most))))


@dataclass(frozen=True)
class Drafting(Form):
    """Show one of several drafts, and hear what was made of it."""

    def contexts(self, seed: int, n: int, *, as_csr: bool = False) -> list[Any]:
        """Drafts of random words, some with features of the app's."""
        rng = np.random.default_rng(seed)
        made = []
        for _ in range(n):
            texts = [_text(rng) for _ in range(int(rng.integers(1, 5)))]
            said = [{"model": f"m{rng.integers(3)}", "cost": float(rng.normal())} for _ in texts]
            made.append(Drafts(texts, said if rng.random() < 0.5 else None))
        return made

    def feedback(self, learner: Any, decision: Decision, seed: int) -> Any:
        """Another text, the same one, or another of the drafts."""
        rng = np.random.default_rng([seed, decision.number])
        kind = rng.integers(4)
        if kind == 0:
            return int(rng.integers(len(decision.context)))
        if kind == 1:
            return Edit(decision.context.texts[decision.action])
        return Edit(_text(rng))

    def answer(self, learner: Any, context: Any, seed: int) -> Any:
        """A text that would have been right."""
        return Edit(_text(np.random.default_rng([seed, 98])))

    def impossible(self, learner: Any, decision: Decision) -> Iterator[Any]:
        """What is neither a text that was made of a draft nor a draft."""
        yield from super().impossible(learner, decision)
        yield from (-1, len(decision.context), 0.5, [0], b"text")

    def unusable(self) -> Iterator[Any]:
        """What is no structure, and rows of another length."""
        yield from (None, 3, "a text", ["a", "b"], Choice(np.zeros((2, self.dim + 1))))
