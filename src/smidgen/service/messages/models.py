"""A model: its settings, what of them may change, and what it is at a glance."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from smidgen.service.messages.candidates import Variant
from smidgen.service.messages.fields import CANDIDATES, LABELS, SLOTS, Age, Id, Name, Seconds, Share
from smidgen.service.messages.insight import BestReply, ExaminationReply, PerturbationReply, Quality
from smidgen.service.messages.message import Message
from smidgen.service.messages.past import BaseReply, UndoingReply
from smidgen.service.messages.trials import Agreement, ChallengerOf, Of, ShadowOf

_LIMITS = {"type": "array", "prefixItems": [{"type": "number"}, {"type": "number"}], "minItems": 2, "maxItems": 2}
_KNOB = {
    "anyOf": [
        _LIMITS,
        *(
            {"type": "object", "properties": {kind: _LIMITS}, "required": [kind], "additionalProperties": False}
            for kind in ("integer", "log")
        ),
    ]
}
#: Knobs by name, each with its limits: ``[low, high]``, ``{"integer": [low, high]}`` or ``{"log": [low, high]}``. Read
#: by `smidgen.service.loops.knob_bodies`, which says what is wrong in the knob's own words.
KnobsBody = Annotated[
    dict[Id, Any], Meta(extra_json_schema={"additionalProperties": _KNOB, "minProperties": 1, "maxProperties": 1000})
]


class Auto(Message):
    """How records become features; what is left out is as `smidgen.Vectorizer` has it."""

    dim: Annotated[int, Meta(ge=2, lt=1 << 24)] | None = None
    text: Annotated[list[Id], Meta(max_length=1000)] | Id = msgspec.field(default_factory=list)
    crosses: Literal["auto"] | Annotated[list[tuple[Id, Id]], Meta(max_length=1000)] = "auto"
    id_feature: bool | None = None


class ByName(Message):
    """Features by name: hashed (any name is a feature, and falls into one of so many columns), or from records."""

    hashed: Annotated[int, Meta(ge=1, le=1 << 24)] | None = None
    auto: Auto | None = None


class ModelBody(Message):
    """Settings of a model."""

    loop: Id
    learner: Id | None = None
    feedback: Id | None = None
    params: dict[str, Any] = msgspec.field(default_factory=dict)
    features: Annotated[list[Id], Meta(max_length=LABELS)] | ByName | None = None
    labels: Annotated[list[Id], Meta(max_length=LABELS)] | None = None
    knobs: KnobsBody | None = None
    window_s: Seconds | None = None
    keyed: bool = False
    id_feature: bool = True
    reward_range: tuple[float, float] | None = None
    default_reward: float | None = None
    explore: Share | None = None
    min_share: Share | None = None
    retention_s: Age | None = None
    shared_start: bool | None = None
    candidates: Annotated[list[Variant], Meta(min_length=1, max_length=CANDIDATES)] | None = None
    shadow_of: Of | Name | None = None
    challenger_of: Of | Name | None = None
    keep_texts: bool | None = None
    slots: Annotated[int, Meta(ge=1, le=SLOTS)] = 1


class AmendBody(Message):
    """What of a model's settings is to change; what is left out stays."""

    add_labels: Annotated[list[Id], Meta(max_length=LABELS)] | UnsetType = UNSET
    add_text: Annotated[list[Id], Meta(max_length=1000)] | UnsetType = UNSET
    window_s: Seconds | UnsetType = UNSET
    default_reward: float | UnsetType | None = UNSET
    explore: Share | UnsetType = UNSET
    min_share: Share | UnsetType = UNSET
    retention_s: Age | UnsetType | None = UNSET
    share: Share | UnsetType = UNSET

    def given(self) -> dict[str, Any]:
        """The fields that were sent."""
        return {name: value for name in self.__struct_fields__ if (value := getattr(self, name)) is not UNSET}


class CopyBody(Message, kw_only=True):
    """What the copy is called, and whether it has what was learnt."""

    to: Name
    learnt: bool = True


class RenameBody(Message, kw_only=True):
    """What the model is called from now on."""

    to: Name


class ModelReply(Struct, kw_only=True):
    """A model at a glance.

    What takes a closer look is told of one model only, and stays null in lists: ``best`` (tune, without keys), and of
    rank ``perturbation`` and ``examination``, or in its place ``unexamined``, the reason why it is not known.

    ``guarded`` says how many decisions were scaled down before they were learnt; of a keyed model, only over the keys
    that were in memory since the start. ``shadow`` and ``challenger`` are the models that stand beside it. Of a model
    with several ``slots``, figures are over all of them, ``model_version`` is the sum of ``slot_versions``, and
    ``base`` sums up where their logs begin.
    """

    name: str
    loop: str
    learner: str
    feedback: str | None
    params: dict[str, Any]
    features: list[str] | dict[str, Any] | None
    labels: list[str] | None
    knobs: KnobsBody | None = None
    window_s: float
    reward_range: tuple[float, float] | None
    default_reward: float | None
    explore: float | None
    min_share: float | None
    retention_s: float | None
    keep_texts: bool | None
    keyed: bool
    shared_start: bool | None
    created_at: str
    archived_at: str | None
    model_version: int
    decisions: int
    answered: int
    late: int
    keys: int | None
    quality: Quality
    guarded: int | None
    base: BaseReply | None
    undoing: UndoingReply | None
    shadow_of: ShadowOf | None
    challenger_of: ChallengerOf | None
    shadow: str | None
    challenger: str | None
    agreement: Agreement | None
    candidates: list[Variant] | None = None
    slots: int = 1
    slot_versions: list[int] | None = None
    best: BestReply | None = None
    perturbation: PerturbationReply | None = None
    examination: ExaminationReply | None = None
    unexamined: str | None = None


class ModelsReply(Struct, kw_only=True):
    """All models."""

    models: list[ModelReply]
