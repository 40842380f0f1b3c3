"""What is found out about a model: its quality, its health, its weights, the taste of its users."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class Quality(Struct, kw_only=True):
    """How well it goes, over the last closed decisions: those that were answered, or whose window is over.

    ``of`` is how many they are, and ``silent`` how many of them had no answer. A silent one counts as no success; where
    the figure is a loss, which nobody knows then, the value is that of the others.
    """

    measure: str
    value: float | None
    low: float | None
    high: float | None
    of: int
    silent: int


Severity = Literal["info", "warning", "problem"]
#: What a finding of a model's health is about.
Code = Literal[
    "nothing_to_learn",
    "silence",
    "no_exploration",
    "scale",
    "constant",
    "clipped",
    "out_of_bound",
    "dominated",
    "contradiction",
    "few_per_key",
    "drift",
]


class Finding(Struct, kw_only=True, frozen=True):
    """Something about a model that its owner should know: in words, with its figures, and the way out."""

    code: Code
    severity: Severity
    message: str
    hint: str
    figures: dict[str, float | int | str | None]


class HealthReply(Struct, kw_only=True):
    """What was found about a model, the worst first; empty if nothing was."""

    findings: list[Finding]


class Weight(Struct, kw_only=True, omit_defaults=True):
    """A weight under its name; of label models, of one of the labels."""

    name: str
    weight: float
    label: str | None = None


class WeightsReply(Struct, kw_only=True):
    """The weights of a model, or of one of its keys, strongest first."""

    model_version: int
    weights: list[Weight]


class TraitReply(Struct, kw_only=True):
    """A trait that edits have moved: its mean in what was shown and in what people made of it, and how many did."""

    name: str
    shown: float
    wanted: float
    edits: int


class TasteReply(Struct, kw_only=True):
    """What the edits of a model's users, or of one of its keys, say of their taste: in words, and by trait."""

    taste: list[str]
    traits: list[TraitReply]


class BestReply(Struct, kw_only=True):
    """What a tuner thinks best: the point, of knobs their values, and the loss expected there, where it can say.

    ``low`` and ``high`` hold about 95 % of what the loss may be on average there; ``clipped`` counts the losses (or
    gradients) that lay beyond the bound that was declared.
    """

    point: list[float]
    knobs: dict[str, float | int] | None
    loss: float | None
    low: float | None
    high: float | None
    clipped: int


class PerturbationReply(Struct, kw_only=True):
    """How much a rank model perturbs what it shows, and what that costs: in words, and in figures."""

    sentence: str
    figures: dict[str, float | int | None]


class ExaminationReply(Struct, kw_only=True):
    """How likely people look at each place, the first taken as 1, with a 95 % interval, from so many answered lists."""

    places: list[int]
    value: list[float]
    low: list[float]
    high: list[float]
    n: int
