"""Metadata of an algorithm for people and programs: every learner registers itself with a card.

A learner's metadata is defined here, next to its class, once. The service, the adapters, the benchmarks, the command
line, the docs and the dashboard read it; no other package names a learner. This module also prints the table of all
learners, for the terminal, for programs and for the docs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from smidgen import checks
from smidgen.errors import InvalidArgument
from smidgen.learners.sizes import vectors
from smidgen.theory import theorems

if TYPE_CHECKING:
    from rich.console import RenderableType


class Loop(StrEnum):
    """Kind of action; one name everywhere."""

    RANK = "rank"
    CHOOSE = "choose"
    LABEL = "label"
    FILTER = "filter"
    TUNE = "tune"
    DRAFT = "draft"


class Feedback(StrEnum):
    """Kind of feedback; one name everywhere."""

    BETTER = "better"
    CLICKS = "clicks"
    EDIT = "edit"
    BIT = "bit"
    LABEL = "label"
    REWARD = "reward"
    RELEVANCE = "relevance"
    LOSS = "loss"
    GRADIENT = "gradient"


#: Feedback in words.
IN_WORDS = {
    Feedback.BETTER: "the preferred item",
    Feedback.CLICKS: "clicks",
    Feedback.EDIT: "the edited text",
    Feedback.BIT: "correct or incorrect",
    Feedback.LABEL: "the true label",
    Feedback.REWARD: "a reward for what was shown",
    Feedback.RELEVANCE: "relevant or not",
    Feedback.LOSS: "the loss at the point",
    Feedback.GRADIENT: "the gradient at the point",
}


@dataclass(frozen=True, kw_only=True)
class Recommended:
    """For what a learner is the one to begin with.

    Where several are, the strongest is taken: a better learner takes over by its own card.
    """

    feedback: str
    """Kinds of feedback."""
    strength: int = 1
    """The strongest is taken."""
    up_to: int | None = None
    """Maximum number of features; with it, the number must be known in advance."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings for this case, beyond `Card.first`."""

    def suits(self, feedback: str, dim: int | None) -> bool:
        """True if it is meant for this."""
        return self.feedback == feedback and (self.up_to is None or (dim is not None and dim <= self.up_to))


@dataclass(frozen=True, kw_only=True)
class Card:
    """Metadata to read before you choose an algorithm.

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
    """Paper that describes it."""
    bound: str = ""
    """Bound on its average regret, in words; by default that of the theorem, if there is one."""
    cost: str = ""
    """Operations per round, N features, n candidates."""
    example: Mapping[str, Any] = field(default_factory=dict)
    """Arguments (beyond ``seed``) that make a small one, for demonstrations and for the laws."""
    first: Mapping[str, Any] = field(default_factory=dict)
    """Settings to begin with, of those that it cannot do without, as JSON can say them: what a form starts from."""
    recommended: tuple[Recommended, ...] = ()
    """For which feedback it is the one to begin with."""
    theorem: str | Callable[[Mapping[str, Any], int], float] | None = None
    """Theorem about it: the name of one that `smidgen.theory` states, or a function of the settings and
    the rounds that bounds the average regret."""
    size: Callable[[Mapping[str, Any]], int] = vectors
    """Bytes of state for given settings (of `smidgen.learners.sizes`, or one of yours): exact, or safely above. The
    service refuses what is too large before it is made."""
    draws: bool = False
    """True if it draws at random, so that the number of a decision matters."""
    order_free: bool = False
    """True if the weights depend only on the set of learned decisions, not on their order."""
    shows_pairs: bool = False
    """True if it shows a rival next to its choice, and learns which of the two was preferred."""
    unit_rows: Callable[[Mapping[str, Any]], bool] | None = None
    """True if its decisions, with given settings, hold rows that were scaled to unit length."""
    averaged: bool = False
    """True if `predict` uses the mean of all weights, ``mean_weights``, and `decide` the present ones."""
    not_served: str = ""
    """Why the service does not offer it; empty if it does."""

    def __post_init__(self) -> None:
        loops = (*Loop, *sorted(plugin_loops))
        for name, given, known in (("loop", self.loops, loops), ("feedback", self.kinds, tuple(Feedback))):
            if not given or (unknown := set(given) - set(known)):
                listed = sorted(map(str, unknown)) if given else "nothing"
                raise InvalidArgument(
                    f"the card's {name} is {listed}, which is not known", checks.suggest(listed, known)
                )
        theorem = theorems.find(self.theorem) if isinstance(self.theorem, str) else None
        if not self.bound:
            object.__setattr__(self, "bound", theorem.formula if theorem is not None else "none is known")
        if unknown := {case.feedback for case in self.recommended} - set(self.kinds):
            raise InvalidArgument(
                f"the learner is recommended for {sorted(unknown)}, which it does not accept",
                "name kinds of feedback that it accepts",
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
        """Kind of feedback, for people."""
        return ", or ".join(IN_WORDS[Feedback(kind)] for kind in self.kinds)


#: Loops of others, which cards may name too.
plugin_loops: set[str] = set()


COLUMNS = ("loop", "feedback", "paper", "bound", "cost")
TITLES = {"bound": "average regret", "cost": "cost per round", "recommended": "recommended for"}
WIDE = 140


def in_order(cards: Mapping[str, Card], loop: str | None = None) -> dict[str, Card]:
    """Return the learners (of one loop) in the order of their papers."""
    known = [str(each) for each in Loop]
    place = {each: i for i, each in enumerate(known)}  # loops of others come last
    rows = sorted(cards.items(), key=lambda row: (place.get(row[1].loops[0], len(known)), row[1].paper))
    return {name: card for name, card in rows if loop is None or loop in card.loops}


def recommendations(cards: Mapping[str, Card]) -> dict[str, str]:
    """Return what each recommended learner is recommended for, in words, by its name.

    Examples
    --------
    >>> from smidgen.learners import cards
    >>> from smidgen.learners.card import recommendations
    >>> recommendations(cards)["PDGD"]
    'rank when the feedback is clicks'
    """
    every = [(name, loop, case) for name, card in cards.items() for case in card.recommended for loop in card.loops]
    found: dict[str, dict[str, list[str]]] = {}
    for name, loop, case in every:
        rivals = [
            other.up_to
            for _, same, other in every
            if (same, other.feedback) == (loop, case.feedback) and other.strength > case.strength
        ]
        if None not in rivals:
            words = IN_WORDS[Feedback(case.feedback)]
            unit = "knobs" if loop == Loop.TUNE else "features"
            if known := [each for each in rivals if each is not None]:
                words += f" (more than {max(known):,} {unit})"
            elif case.up_to is not None:
                words += f" (up to {case.up_to:,} {unit})"
            found.setdefault(name, {}).setdefault(words, []).append(loop)
    return {
        name: "; ".join(f"{', '.join(loops)} when the feedback is {words}" for words, loops in cases.items())
        for name, cases in found.items()
    }


def learner_table(cards: Mapping[str, Card], width: int, recommended: Mapping[str, str]) -> RenderableType:
    """Render the learners for a terminal: as a table if it is wide, else one paragraph each.

    Parameters
    ----------
    cards
        The learners to list.
    width
        The width of the terminal.
    recommended
        What learners are recommended for (`recommendations`).
    """
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    if width < WIDE:
        paragraphs: list[RenderableType] = []
        for name, card in cards.items():
            fields = Table.grid(padding=(0, 2))
            if name in recommended:
                fields.add_row(f"  [green]{TITLES['recommended']}[/green]", recommended[name])
            for column in COLUMNS:
                fields.add_row(f"  [dim]{TITLES.get(column, column)}[/dim]", _cell(card, column))
            paragraphs += [Text(name, style="bold", no_wrap=True, overflow="ignore"), fields]
        return Group(*paragraphs)
    table = Table(title=f"{len(cards)} learners", title_justify="left", show_lines=True)
    table.add_column("learner", style="bold", no_wrap=True)
    for column in ("recommended", *COLUMNS):
        table.add_column(TITLES.get(column, column))
    for name, card in cards.items():
        table.add_row(name, recommended.get(name, ""), *(_cell(card, column) for column in COLUMNS))
    return table


def learner_json(cards: Mapping[str, Card], recommended: Mapping[str, str]) -> str:
    """Return the learners as a JSON array."""
    rows = [
        {"learner": name, "recommended": recommended.get(name)} | {column: _cell(card, column) for column in COLUMNS}
        for name, card in cards.items()
    ]
    return msgspec.json.format(msgspec.json.encode(rows), indent=2).decode()


def learner_markdown(cards: Mapping[str, Card]) -> str:
    """Return the learners as a Markdown table."""
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
