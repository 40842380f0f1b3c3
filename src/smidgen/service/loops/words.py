"""What a loop says of itself to people and to pages: words, figures, examples, and what a hand may answer."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct


class Figure(Struct, frozen=True, kw_only=True):
    """A second curve on a model's page.

    Attributes
    ----------
    title, note
        Its heading, and the words below it.
    of
        Whether it runs along learnt feedback or along all decisions.
    lines
        Which figures of the windows it draws: ``position`` of the learnt, ``explored`` and ``forwarded`` of all.
    idle
        What is said in its place while all its lines are zero; empty: they are drawn.
    """

    title: str
    note: str
    of: Literal["learnt", "made"]
    lines: tuple[str, ...]
    idle: str = ""


class Back(Struct, frozen=True, kw_only=True):
    """Something that may come back, in the words of an app.

    Attributes
    ----------
    title, note
        What it is called, and what it means.
    example
        The feedback that says so; ``"$1"`` and ``"$2"`` stand for candidates of a request, ``"$label"`` for a label.
    """

    title: str
    note: str = ""
    example: dict[str, Any] = {}


class Words(Struct, frozen=True, kw_only=True):
    """What the pages say of a loop.

    Attributes
    ----------
    does
        What it does and what it learns from, in a line.
    out, about_out
        What goes out to the app, and what it is for.
    back
        What may come back, by the kind of feedback.
    curve, about_curve
        The heading of its curve, and the words below.
    weights, about_weights
        The same for its weights.
    waiting
        What decisions without feedback are.
    asks
        What the form for a decision asks for: candidates, the features of one thing, nothing, or the request as JSON.
    labels
        Whether a new model is asked for labels.
    knobs
        Whether a new model is asked for knobs.
    tells_exploring
        Whether lists say of a decision that it explored; not where every one does.
    """

    does: str
    out: str = ""
    about_out: str = ""
    back: dict[str, Back] = {}
    curve: str
    about_curve: str
    weights: str = "Strongest weights"
    about_weights: str = "What raises a score (right) and what lowers it (left)."
    waiting: str = "open"
    asks: Literal["candidates", "features", "nothing", "json"] = "json"
    labels: bool = False
    knobs: bool = False
    tells_exploring: bool = True


class Example(Struct, frozen=True, kw_only=True):
    """Calls that work one after the other.

    Attributes
    ----------
    title
        What is shown.
    name, model
        A model and its settings.
    request
        What is asked.
    feedback
        What may come back, each with a title; all are possible, one counts.
    batches
        Bodies of a batch of two, each with a title.
    """

    title: str
    name: str
    model: dict[str, Any]
    request: dict[str, Any]
    feedback: tuple[tuple[str, dict[str, Any]], ...]
    batches: tuple[tuple[str, dict[str, Any]], ...] = ()


class Option(Struct, frozen=True, kw_only=True):
    """Something a user may do: what the button says, beside it a hint, and the feedback that it sends."""

    text: str
    feedback: dict[str, Any]
    hint: str = ""
    main: bool = False


class Entry(Struct, frozen=True, kw_only=True):
    """Something to type in: a number, several numbers, a text, or (without a field) the whole feedback as JSON."""

    label: str
    field: str = ""
    many: bool = False
    text: bool = False


class Offered(Struct, frozen=True, kw_only=True):
    """What a hand may answer to a decision.

    Attributes
    ----------
    text
        What was decided, and what the user is asked.
    options, ordered
        The buttons, and whether their order is part of the answer.
    entry
        What can be typed in.
    note
        Why there is nothing to answer, say.
    """

    text: str
    options: list[Option] = []
    ordered: bool = False
    entry: Entry | None = None
    note: str = ""
