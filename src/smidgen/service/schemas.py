"""Structs of all request and reply bodies.

What goes over the wire: one struct per body. Unknown fields, wrong types and NaN are refused on reading.

What a request for a decision and its feedback hold depends on the loop: the loops' own files say it
(`smidgen.service.loops`), and what is read is put together from them.
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from smidgen.service.errors import Impossible

# The types that many bodies share, and how large what comes in may be.

Name = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9][A-Za-z0-9._-]*\Z", max_length=100)]
Id = Annotated[str, Meta(min_length=1, max_length=256)]
#: What a candidate is called: a string or a whole number, answered as it was given.
AnyId = Id | Annotated[int, Meta(ge=-(1 << 53), le=1 << 53)]
Numbers = list[float]
#: Features by name: numbers, or, of models that take records, all that JSON can say.
Record = dict[str, float | str | bool | list[Any] | dict[str, Any] | None]
#: How many decisions one call may ask for, how many candidates a decision may have, how many labels a model.
ROWS = CANDIDATES = 10_000
LABELS = 100_000
#: How many shards a model may have.
SHARDS = 64
Seconds = Annotated[float, Meta(gt=0, le=1e9)]
Share = Annotated[float, Meta(ge=0, le=1)]
#: After how many seconds events are folded and erased: a minute at least.
Age = Annotated[float, Meta(ge=60, le=1e10)]
AT_ONCE = Meta(min_length=1, max_length=ROWS)


# The root of all bodies, and the hash by which one is known again.


class Message(Struct, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """The root of all bodies."""


def digest(body: Message | dict[str, Any]) -> bytes:
    """The hash of a body, or of its fields, by which the same one is known again.

    MessagePack writes numbers far quicker than JSON.
    """
    try:
        return hashlib.sha256(msgspec.msgpack.encode(body, order="deterministic")).digest()[:16]
    except OverflowError as error:
        raise Impossible("the body holds a whole number of more than 64 bits", "send it as a string") from error


# What there is to rank or to choose from.


class Candidate(Message):
    """One of the things to rank or to choose from."""

    id: AnyId
    features: Numbers | Record | None = None


class Variant(Candidate, kw_only=True):
    """A candidate that a model keeps: one of the variants of a flag, with the value that the flag then has."""

    value: Any = UNSET


class Compact(Message):
    """A matrix of float32 numbers, little-endian, row by row, in base64."""

    shape: tuple[Annotated[int, Meta(ge=1, le=ROWS)], Annotated[int, Meta(ge=1)]]
    f32: bytes


class CompactCandidates(Message):
    """Candidates whose features come as one matrix."""

    ids: Annotated[list[AnyId], Meta(min_length=1, max_length=CANDIDATES)]
    features: Compact


# A decision: asked for, shown, told from beginning to end.


class DecisionBody(Message):
    """A request for a decision: what it has in every loop.

    ``chosen`` is what the app has chosen itself: that is answered, and the model is taught it.
    """

    id: Id | None = None
    key: Id | None = None
    activate: bool = True
    chosen: AnyId | bool | Annotated[list[AnyId], Meta(min_length=1, max_length=CANDIDATES)] | None = None


class BatchBody(Message):
    """Several requests at once, or, where a request is one row of features, a matrix: a decision for each row.

    Beside a matrix, ``id`` makes the call safe to repeat: row i has the id ``"{id}.{i}"``, counted from 0.
    """

    id: Annotated[str, Meta(min_length=1, max_length=190)] | None = None
    decisions: Annotated[list[DecisionBody], AT_ONCE] | None = None
    features: Compact | None = None
    key: Id | None = None


class ShownReply(Struct, kw_only=True):
    """Whether the decision counts now, has counted before, or is too old."""

    status: Literal["shown", "duplicate", "late"]


class Contributions(Struct, kw_only=True):
    """What each feature adds to the answer's score, strongest first, under the weights of a version."""

    version: int
    items: list[tuple[str, float]]


class Story(Struct, kw_only=True):
    """A decision from beginning to end.

    ``why_not`` says why nothing is learnt of it: no feedback yet, late feedback, feedback that was retracted
    (``retracted_at`` says when), or a rollback beyond ``learnt_version``.
    """

    decision: str
    model: str
    key: str | None
    made_at: str
    expires_at: str
    shown: dict[str, Any]
    feedback: dict[str, Any] | None
    feedback_at: str | None
    learnt_version: int | None
    why_not: str | None
    retracted_at: str | None = None
    contributions: Contributions | None = None


# Examples to teach.


class ExampleBody(DecisionBody, kw_only=True):
    """What a request holds, with the answer that is known to be right."""

    answer: Any


class ExamplesBody(Message, kw_only=True):
    """Examples to teach a model, or one of its keys; with an ``id`` the call is safe to repeat."""

    id: Id | None = None
    key: Id | None = None
    examples: Annotated[list[ExampleBody], AT_ONCE]


class TaughtReply(Struct, kw_only=True):
    """How many examples were taught, and the model's version; if it has several shards, that of this one."""

    taught: int
    model_version: int
    shard: int | UnsetType = UNSET


# Every refusal.


class ErrorDetail(Struct, kw_only=True):
    """What was wrong and the way out."""

    code: str
    message: str
    hint: str


class ErrorReply(Struct, kw_only=True):
    """Every refusal."""

    error: ErrorDetail


def internal_error() -> ErrorDetail:
    """What a caller is told of a fault of the service itself: nothing of its inside."""
    return ErrorDetail(code="internal_error", message="the service has a fault", hint="see what the server has logged")


# What people did, and what became of it.


class FeedbackBody(Message):
    """What the user did: one of the fields that the loop has."""

    def given(self) -> dict[str, Any]:
        """The fields that were sent, but for the decision that they are about."""
        return {
            name: value
            for name in self.__struct_fields__
            if (value := getattr(self, name)) is not UNSET and name != "decision"
        }


class SeveralBody(Message, kw_only=True):
    """Feedback on many decisions."""

    feedback: Annotated[list[FeedbackBody], AT_ONCE]


class FeedbackReply(Struct, kw_only=True):
    """What became of the feedback; of a model with several shards, ``shard`` says whose version it is."""

    status: Literal["learnt", "duplicate", "late"]
    model_version: int
    shard: int | UnsetType = UNSET


class SeveralReply(Struct, kw_only=True):
    """What became of each feedback, in order: as if it had come alone, or why it was refused."""

    results: list[Any]


class UbiResult(Struct, kw_only=True, omit_defaults=True):
    """What became of the clicks on a decision.

    ``answered`` says that it has an answer already: the clicks that came first count. ``error`` says why they were
    refused.
    """

    decision: str
    clicked: list[str | int]
    status: Literal["learnt", "duplicate", "late", "answered"] | None = None
    model_version: int | None = None
    error: ErrorDetail | None = None


class UbiReply(Struct, kw_only=True):
    """What became of UBI events: of the clicks on lists of ours, and how many others there were.

    ``passed_over`` are events that are no clicks on a result, ``unknown`` clicks in searches that are no decisions
    here, ``elsewhere`` clicks on what was not among the candidates.
    """

    results: list[UbiResult]
    passed_over: int
    unknown: int
    elsewhere: int


# What is found out about a model: its quality, its health, its weights, the taste of its users.


class Quality(Struct, kw_only=True):
    """How well it goes, over the last closed decisions: those that were answered, or whose window is over.

    ``of`` is how many they are, and ``silent`` how many of them had no answer. A silent one counts as no success; where
    the figure is a loss, which nobody knows then, the value is that of the others. ``low`` and ``high`` are a 95 %
    interval within the range of the reward; they are null below ten observations. Answers that were retracted or rolled
    back do not count.
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


# A model's past: undone, folded, forgotten.


class RollbackBody(Message, kw_only=True):
    """The version to go back to, or the moment: ISO 8601 with a zone, or seconds since 1970.

    A model with several shards, each of which counts versions of its own, takes a moment only.
    """

    version: Annotated[int, Meta(ge=0)] | None = None
    time: Annotated[datetime, Meta(tz=True)] | Annotated[float, Meta(ge=0, le=1e11)] | None = None

    @property
    def then(self) -> float | None:
        """The moment in seconds since 1970."""
        return self.time.timestamp() if isinstance(self.time, datetime) else self.time


class ShardUndone(Struct, kw_only=True):
    """Of a shard: the version that it went back to, and the version that this made."""

    to: int
    model_version: int


class UndoneReply(Struct, kw_only=True):
    """The version that the undoing made.

    Of a rollback to a moment, ``to`` is the version that was in force then. Of a model with several shards,
    ``model_version`` is the sum over its shards, and ``shards`` tells of each; of a retraction, it is that of the
    decision's ``shard``.
    """

    model_version: int
    to: int | UnsetType = UNSET
    shard: int | UnsetType = UNSET
    shards: list[ShardUndone] | UnsetType = UNSET


class UndoingReply(Struct, kw_only=True):
    """Work on the model's past that is done aside: how much of how much is done; ``of`` is 0 while nobody knows."""

    what: Literal["rollback", "retract", "forget", "retain"]
    done: int
    of: int


class RetainBody(Message, kw_only=True):
    """How old an event must be, in seconds, to be folded into the base state and erased."""

    older_than_s: Annotated[float, Meta(ge=0, le=1e10)]


class ShardRetained(Struct, kw_only=True):
    """Where the log of one shard begins."""

    base: int
    base_version: int
    folded: int
    kept: int
    model_version: int


class RetainedReply(ShardRetained, kw_only=True):
    """Where the log begins.

    ``base`` is the last event that is folded, 0 if there is none, and ``base_version`` the version then; ``folded`` is
    how many events were folded by this call, ``kept`` how many decisions under the base are kept, since they are open
    or later events are about them. Of a model with several shards these are sums, and ``shards`` tells of each.
    """

    shards: list[ShardRetained] | UnsetType = UNSET


class BaseReply(Struct, kw_only=True):
    """Where the log begins: the last event that retention has folded, the version then, and when that was done.

    ``oldest_version`` is the oldest one that can be gone back to. Of a model with several shards these are sums.
    """

    seq: int
    version: int
    oldest_version: int
    at: str


class ForgottenReply(Struct, kw_only=True):
    """How many events were erased, the version that this made, and how many in which copies of the model.

    Of a model with several shards, it is the version of the key's ``shard``. ``fragments`` is true where unused parts
    of a large database file may still hold parts of erased rows; the file is rewritten once the service is idle.
    """

    forgotten: int
    model_version: int
    copies: dict[str, int]
    shard: int | UnsetType = UNSET
    fragments: bool | UnsetType = UNSET


# Models that stand beside another, and how the two compare.


class Of(Message):
    """The model that another stands beside, and the share of its traffic that this one answers, if it is shown."""

    model: Name
    share: Share = 0.1


class ShadowOf(Struct, kw_only=True):
    """The champion of a shadow."""

    model: str


class ChallengerOf(Struct, kw_only=True):
    """The champion of a challenger, and the share of its traffic that this one answers."""

    model: str
    share: float


class PromotedReply(Struct, kw_only=True):
    """The champion that decides with other settings now, and the version that this made."""

    champion: str
    model_version: int


class Agreement(Struct, kw_only=True):
    """Over the latest decisions where something else may have been shown: how often that was what the model says.

    Of a shadow or a challenger: what another model showed. Of others: what the app had chosen itself.
    """

    value: float
    of: int


class Difference(Struct, kw_only=True):
    """A difference of means, and the interval in which the true one lies with 95 % certainty, whenever one looks."""

    value: float
    low: float
    high: float
    effective: float
    n: int
    enough: bool


class Arm(Struct, kw_only=True):
    """What one model's answers came to: the mean of the measure over its closed decisions, and how many are open."""

    value: float | None
    of: int
    open: int


class CompareReply(Struct, kw_only=True, omit_defaults=True):
    """A champion and the one beside it: whether that one is better, how sure that is, and how long it will take.

    ``difference`` is the other's mean less the champion's. ``decisions_to_go`` is null where nobody can say.
    """

    champion: str
    challenger: str | None = None
    shadow: str | None = None
    measure: str
    difference: Difference
    verdict: Literal["better", "worse", "not yet"]
    decisions_to_go: int | None
    arms: dict[str, Arm]
    agreement: Agreement | None
    in_words: str


# A model: its settings, what of them may change, and what it is at a glance.

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
#: by `smidgen.service.loops.features`, which says what is wrong in the knob's own words.
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
    shards: Annotated[int, Meta(ge=1, le=SHARDS)] = 1


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

    What takes a closer look is told of one model only, and stays null in lists: ``open`` and ``pending``, ``best``
    (tune, without keys), and of rank ``perturbation`` and ``examination``, or in its place ``unexamined``, the reason
    why it is not known.

    ``open`` decisions are shown, have no answer, and their window is not over; ``pending`` ones are still to be shown
    (``"activate": false``). Both are counted among the latest 50,000 decisions.

    ``guarded`` says how many decisions were scaled down before they were learnt; of a keyed model, only over the keys
    that were in memory since the start. ``shadow`` and ``challenger`` are the models that stand beside it. Of a model
    with several ``shards``, figures are over all of them, ``model_version`` is the sum of ``shard_versions``, and
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
    shards: int = 1
    shard_versions: list[int] | None = None
    open: int | None = None
    pending: int | None = None
    best: BestReply | None = None
    perturbation: PerturbationReply | None = None
    examination: ExaminationReply | None = None
    unexamined: str | None = None


class ModelsReply(Struct, kw_only=True):
    """All models."""

    models: list[ModelReply]


# Tokens over the wire: what one is created with, and what is shown of it.


class TokenBody(Message, kw_only=True):
    """A token to create.

    ``scopes`` are what it is valid for. ``model`` limits it to one model. ``expires`` is a span from now (``12h``,
    ``30d``, ``8w``) or a date or time in UTC (``2026-12-31``); without it the token does not expire.
    """

    scopes: Annotated[list[Literal["decide", "feedback", "read", "admin"]], Meta(min_length=1, max_length=4)]
    name: Annotated[str, Meta(min_length=1, max_length=100)] | None = None
    model: Name | None = None
    expires: Annotated[str, Meta(max_length=40)] | None = None


class TokenReply(Struct, kw_only=True):
    """A token without its secret. ``last_used_at`` is exact to about a minute."""

    id: str
    name: str | None
    scopes: list[str]
    model: str | None
    created_at: str
    expires_at: str | None
    last_used_at: str | None
    revoked_at: str | None


class CreatedTokenReply(TokenReply, kw_only=True):
    """A token that was just created: ``token`` is the secret, shown this once."""

    token: str


class TokensReply(Struct, kw_only=True):
    """All tokens, in the order of their creation."""

    tokens: list[TokenReply]
