"""What people and programs read of an algorithm: every learner registers itself with a card.

What a learner is stands here, beside its class, once. The service, the adapters, the benchmarks, the command line, the
docs and the dashboard read the card; no other room names a learner. The table of all cards is here too, for the
terminal, for programs and for the docs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from smidgen.errors import InvalidArgument
from smidgen.learners.sizes import vectors
from smidgen.theory import theorems

if TYPE_CHECKING:
    from rich.console import RenderableType


class Loop(StrEnum):
    """What goes out; one name everywhere."""

    RANK = "rank"
    CHOOSE = "choose"
    LABEL = "label"
    FILTER = "filter"
    TUNE = "tune"
    DRAFT = "draft"


class Feedback(StrEnum):
    """What comes back; one name everywhere."""

    BETTER = "better"
    CLICKS = "clicks"
    EDIT = "edit"
    BIT = "bit"
    LABEL = "label"
    REWARD = "reward"
    RELEVANCE = "relevance"
    LOSS = "loss"
    GRADIENT = "gradient"


#: The same for people.
IN_WORDS = {
    Feedback.BETTER: "a better object",
    Feedback.CLICKS: "clicks",
    Feedback.EDIT: "the edited text",
    Feedback.BIT: "right or wrong",
    Feedback.LABEL: "the true label",
    Feedback.REWARD: "a reward for what was shown",
    Feedback.RELEVANCE: "relevant or not",
    Feedback.LOSS: "the loss there",
    Feedback.GRADIENT: "the gradient there",
}


@dataclass(frozen=True, kw_only=True)
class Recommended:
    """For what a learner is the one to begin with.

    Where several are, the strongest is taken: a better learner takes over by its own card.
    """

    feedback: str
    """What comes back."""
    strength: int = 1
    """The strongest is taken."""
    up_to: int | None = None
    """How many features there may be; it then must be known how many there are."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings for this case, beyond `Card.first`."""

    def suits(self, feedback: str, dim: int | None) -> bool:
        """Whether it is meant for this."""
        return self.feedback == feedback and (self.up_to is None or (dim is not None and dim <= self.up_to))


@dataclass(frozen=True, kw_only=True)
class Card:
    """What a person or a program wants to know of an algorithm before choosing it.

    Examples
    --------
    >>> import smidgen
    >>> card = smidgen.PreferencePerceptron.card
    >>> [str(loop) for loop in card.loops], [str(kind) for kind in card.kinds]
    (['rank', 'choose'], ['better', 'clicks'])
    """

    loop: str | tuple[str, ...]
    """The loop it serves, or all of them: some of `Loop`."""
    feedback: str | tuple[str, ...]
    """The kinds of feedback that it learns from: some of `Feedback`."""
    paper: str = ""
    """Where it is described."""
    bound: str = ""
    """How its average regret is bounded, in words; left out, as the theorem has it, if there is one."""
    cost: str = ""
    """Operations per round, N features, n candidates."""
    example: Mapping[str, Any] = field(default_factory=dict)
    """Arguments (beyond ``seed``) that make a small one, for demonstrations and for the laws."""
    first: Mapping[str, Any] = field(default_factory=dict)
    """Settings to begin with, of those that it cannot do without, as JSON can say them: what a form starts from."""
    recommended: tuple[Recommended, ...] = ()
    """For which feedback it is the one to begin with."""
    theorem: str | Callable[[Mapping[str, Any], int], float] | None = None
    """What theory promises of it: the name of a theorem that `smidgen.theory` states, or a function of the settings and
    the rounds that bounds the average regret."""
    size: Callable[[Mapping[str, Any]], int] = vectors
    """Bytes of state for given settings (of `smidgen.learners.sizes`, or one of yours): exact, or safely above. The
    service refuses what is too large before it is made."""
    draws: bool = False
    """Whether it draws at random, so that the number of a decision matters."""
    order_free: bool = False
    """Whether the weights depend only on the set of decisions learnt, not on their order."""
    shows_pairs: bool = False
    """Whether it puts a rival of its own beside its choice, and learns which of the two was better."""
    unit_rows: Callable[[Mapping[str, Any]], bool] | None = None
    """Whether, with given settings, its decisions hold rows that were scaled to unit length."""
    averaged: bool = False
    """Whether `predict` goes by the mean of all weights, ``mean_weights``, and `decide` by the present ones."""
    not_served: str = ""
    """Why the service does not offer it; empty if it does."""

    def __post_init__(self) -> None:
        loops = (*Loop, *sorted(guest_loops))
        for name, given, known in (("loop", self.loops, loops), ("feedback", self.kinds, tuple(Feedback))):
            if not given or (unknown := set(given) - set(known)):
                told = sorted(map(str, unknown)) if given else "nothing"
                raise InvalidArgument(f"the card's {name} is {told}", f"choose among {', '.join(known)}")
        theorem = theorems.find(self.theorem) if isinstance(self.theorem, str) else None
        if not self.bound:
            object.__setattr__(self, "bound", theorem.formula if theorem is not None else "none is known")
        if unknown := {case.feedback for case in self.recommended} - set(self.kinds):
            raise InvalidArgument(
                f"it is recommended for {sorted(unknown)}, which is not among its feedback", "name the kinds it takes"
            )

    @cached_property
    def loops(self) -> tuple[str, ...]:
        """All loops it serves."""
        return (self.loop,) if isinstance(self.loop, str) else tuple(self.loop)

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """All kinds of feedback it learns from."""
        return (self.feedback,) if isinstance(self.feedback, str) else tuple(self.feedback)

    @property
    def feedback_in_words(self) -> str:
        """What it learns from, for people."""
        return ", or ".join(IN_WORDS[Feedback(kind)] for kind in self.kinds)


#: Loops of others, which cards may name too.
guest_loops: set[str] = set()


COLUMNS = ("loop", "feedback", "paper", "bound", "cost")
TITLES = {"bound": "average regret", "cost": "cost per round"}
WIDE = 140


def in_order(cards: Mapping[str, Card], loop: str | None = None) -> dict[str, Card]:
    """The algorithms (of one loop) in the order of their papers."""
    known = [str(each) for each in Loop]
    place = {each: i for i, each in enumerate(known)}  # loops of others come last
    rows = sorted(cards.items(), key=lambda row: (place.get(row[1].loops[0], len(known)), row[1].paper))
    return {name: card for name, card in rows if loop is None or loop in card.loops}


def learner_table(cards: Mapping[str, Card], width: int) -> RenderableType:
    """The algorithms for a terminal: a table if it is wide, else one paragraph each."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    if width < WIDE:
        paragraphs: list[RenderableType] = []
        for name, card in cards.items():
            fields = Table.grid(padding=(0, 2))
            for column in COLUMNS:
                fields.add_row(f"  [dim]{TITLES.get(column, column)}[/dim]", _cell(card, column))
            paragraphs += [Text(name, style="bold", no_wrap=True, overflow="ignore"), fields]
        return Group(*paragraphs)
    table = Table(title=f"{len(cards)} learners", title_justify="left", show_lines=True)
    table.add_column("learner", style="bold", no_wrap=True)
    for column in COLUMNS:
        table.add_column(TITLES.get(column, column))
    for name, card in cards.items():
        table.add_row(name, *(_cell(card, column) for column in COLUMNS))
    return table


def learner_json(cards: Mapping[str, Card]) -> str:
    """The algorithms as a JSON array."""
    rows = [{"learner": name} | {column: _cell(card, column) for column in COLUMNS} for name, card in cards.items()]
    return msgspec.json.format(msgspec.json.encode(rows), indent=2).decode()


def learner_markdown(cards: Mapping[str, Card]) -> str:
    """The algorithms as a Markdown table."""
    lines = ["| learner | " + " | ".join(COLUMNS) + " |", "|---" * (len(COLUMNS) + 1) + "|"]
    lines += [
        f"| `{name}` | " + " | ".join(_cell(card, column).replace("|", "\\|") for column in COLUMNS) + " |"
        for name, card in cards.items()
    ]
    return "\n".join(lines)


def _cell(card: Card, column: str) -> str:
    if column == "loop":
        return ", ".join(card.loops)
    return card.feedback_in_words if column == "feedback" else str(getattr(card, column))
