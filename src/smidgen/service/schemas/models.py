"""Bodies of models: their settings, changes of settings, shadows and challengers, and descriptions."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from smidgen.features.limits import VECTOR_CROSSES
from smidgen.service.schemas.common import (
    CANDIDATES,
    LABELS,
    SHARDS,
    Age,
    Amount,
    AnyId,
    Id,
    Message,
    Name,
    Numbers,
    Rewards,
    Seconds,
    Share,
)
from smidgen.service.schemas.decisions import Variant
from smidgen.service.schemas.reports import Agreement, BestReply, ExaminationReply, PerturbationReply, Quality
from smidgen.service.schemas.undo import BaseReply, UndoingReply

# Shadows and challengers, and how they compare with their champion.


class Of(Message):
    """The champion of a shadow or challenger, and the share of its traffic that a challenger answers.

    Attributes
    ----------
    model
        The champion's name.
    share
        The share of the champion's traffic that this model answers, from 0 to 1.
    by
        unit: a unit of the champion's requests is always, or never, answered by this model.
    compare
        interleave: of rank models, the share is one of pages that mix the rankings of both; clicks there say which is
        better. Left out: this model answers the share alone.
    """

    model: Name
    share: Share = 0.1
    by: Literal["unit"] | None = None
    compare: Literal["interleave"] | None = None


class ShadowOf(Struct, kw_only=True):
    """The champion of a shadow.

    Attributes
    ----------
    model
        The champion's name.
    """

    model: str


class ChallengerOf(Struct, kw_only=True):
    """The champion of a challenger, and the share of its traffic that this one answers.

    Attributes
    ----------
    model
        The champion's name.
    share
        The share of its traffic that the challenger answers.
    by
        unit: the share is one of units; null: of requests.
    compare
        interleave: the pages of this share mix the rankings of both; left out: the challenger answers them alone.
    """

    model: str
    share: float
    by: Literal["unit"] | None = None
    compare: Literal["interleave"] | UnsetType = UNSET


class PromotedReply(Struct, kw_only=True):
    """The champion that decides with other settings now, and the version that this made.

    Attributes
    ----------
    champion
        The model that decides with the new settings and state.
    model_version
        The version that this made.
    """

    champion: str
    model_version: int


# A model: its settings, what of them may change, and what it is at a glance.


_LIMITS = {"type": "array", "prefixItems": [{"type": "number"}, {"type": "number"}], "minItems": 2, "maxItems": 2}
_KINDS = {
    "integer": "A whole number: its lowest and highest value.",
    "log": "A positive number that is searched by its logarithm: its lowest and highest value.",
}
_KNOB = {
    "anyOf": [
        _LIMITS,
        *(
            {
                "type": "object",
                "properties": {kind: {"description": text, **_LIMITS}},
                "required": [kind],
                "additionalProperties": False,
            }
            for kind, text in _KINDS.items()
        ),
        {
            "type": "object",
            "properties": {
                "categories": {
                    "description": "Names to choose among.",
                    "type": "array",
                    "items": {"type": "string"},
                    "minItems": 2,
                }
            },
            "required": ["categories"],
            "additionalProperties": False,
        },
    ]
}
#: Knobs by name, each with its limits: ``[low, high]``, ``{"integer": [low, high]}``, ``{"log": [low, high]}`` or
#: ``{"categories": [name, …]}``. Read by `smidgen.service.loops.features`, which says what is wrong in its words.
KnobsBody = Annotated[
    dict[Id, Any], Meta(extra_json_schema={"additionalProperties": _KNOB, "minProperties": 1, "maxProperties": 1000})
]


class Safe(Message, omit_defaults=False):
    """A setting of the knobs that is known to be safe.

    Attributes
    ----------
    knobs
        The setting by knob, in the knobs' units; of a model with a Box in place of knobs, the point.
    margin
        How much more than there another setting may cost, in the unit of the loss.
    """

    knobs: dict[Id, float | str] | Numbers
    margin: Annotated[float, Meta(ge=0)]


class Auto(Message):
    """Settings for turning records into features; the defaults are those of `smidgen.Vectorizer`.

    Attributes
    ----------
    dim
        Number of columns (4,096 if left out).
    text
        Paths of the fields that hold text: words and word pairs become features.
    crosses
        auto: context and candidate categories are crossed; or pairs of field paths; an empty list turns crosses
        off.
    id_feature
        Whether a candidate's id is one of its features.
    vectors
        The most columns of a vector, such as an embedding (32 if left out): a longer one is projected. 0 refuses
        vectors.
    """

    dim: Annotated[int, Meta(ge=2, lt=1 << 24)] | None = None
    text: Annotated[list[Id], Meta(max_length=1000)] | Id = msgspec.field(default_factory=list)
    crosses: Literal["auto"] | Annotated[list[tuple[Id, Id]], Meta(max_length=1000)] = "auto"
    id_feature: bool | None = None
    vectors: Annotated[int, Meta(ge=0, le=VECTOR_CROSSES)] | None = None


class ByName(Message):
    """Features by name: hashed (any name is a feature, hashed into one of the columns), or from records.

    Attributes
    ----------
    hashed
        Number of columns that any name is hashed into.
    auto
        How records become features.
    """

    hashed: Annotated[int, Meta(ge=1, le=1 << 24)] | None = None
    auto: Auto | None = None


class HoldoutCandidate(Message):
    """A holdout that always shows one candidate.

    Attributes
    ----------
    candidate
        Its id; where it is not offered, the first candidate is shown.
    """

    candidate: AnyId


class Holdout(Message, omit_defaults=False):
    """A share of the traffic that a fixed policy answers, to measure what the model is worth.

    Attributes
    ----------
    share
        The share of units, or of requests without a unit, from 0 to 1.
    policy
        uniform: any candidate with equal probability; first: the first one; or one candidate by its id.
    salt
        Random text that decides together with the unit who is in the holdout. Set by the service; a PATCH keeps it.
    """

    share: Share
    policy: Literal["uniform", "first"] | HoldoutCandidate = "uniform"
    salt: Annotated[str, Meta(max_length=100)] = ""


class HoldoutChange(Message):
    """Changes of a holdout; what is left out stays, or is as in a new holdout if there is none.

    Attributes
    ----------
    share
        The share of units, or of requests without a unit, from 0 to 1. A larger share keeps its members.
    policy
        uniform: any candidate with equal probability; first: the first one; or one candidate by its id.
    salt
        The salt that the model has; it cannot be changed.
    """

    share: Share | UnsetType = UNSET
    policy: Literal["uniform", "first"] | HoldoutCandidate | UnsetType = UNSET
    salt: Annotated[str, Meta(max_length=100)] = ""


class PerDay(Message):
    """A limit for a day.

    Attributes
    ----------
    per_day
        What all decisions of a day may cost together. It is divided by the decisions of the last 24 hours, 100 at
        least; on the first day by 1,000 at least.
    """

    per_day: Amount


#: Limits by currency: the mean cost of a decision, or what all decisions of a day may cost.
Limits = dict[Id, Amount | PerDay]


class BudgetFigures(Struct, kw_only=True):
    """Spend in one currency.

    Attributes
    ----------
    limit
        The limit per decision that is in force.
    mean
        The mean cost of all decisions; null before the first one.
    recent
        The mean cost of the last 200 decisions.
    price
        The price: how much the expected reward must be higher per unit of log(1 + cost/limit).
    """

    limit: float
    mean: float | None
    recent: float | None
    price: float


class ModelBody(Message):
    """Settings of a model.

    Attributes
    ----------
    loop
        What the model decides.
    learner
        The learner's name; left out: the recommended one for `loop` and `feedback`.
    feedback
        What will come back: clicks, better, reward, bit, label, relevance, loss, gradient or edit. It selects
        the recommended learner.
    params
        Arguments of the learner.
    features
        Left out: requests carry records. Or names of features in order, or how names become features.
    labels
        Label models: the labels, at least two.
    knobs
        Tune models: limits by name.
    safe
        Tune models: a setting that is known to be safe. The first decisions stay near it; later ones go only where the
        loss is expected to be at most the margin above it.
    window_s
        Seconds during which feedback is learned (86,400 if left out; 600 with a default_reward).
    keyed
        true: one learner for each key.
    id_feature
        Whether a candidate's id is one of its features.
    reward_range
        The lowest and the highest reward that the app sends.
    default_reward
        The reward that is learned when the window ends without feedback; null learns nothing.
    rewards
        How several reports on one decision become one reward: first (the default), last, sum, max, or weights of
        parts by name, e.g. `{"click": 0.2, "purchase": 1}`. With anything but first, the model learns once: at the
        end of the window, with a final report, or when all parts have come.
    explore
        The share of decisions that is spread evenly over all candidates.
    min_share
        The least probability of each candidate.
    retention_s
        Seconds after which events are folded into a checkpoint and erased; null keeps all.
    shared_start
        Keyed models: whether a new key starts with what all keys have learned.
    candidates
        Choose models: candidates to use when a request has none (a feature flag's variants).
    shadow_of
        The champion that this model follows as a shadow: it decides on the same requests and is never shown.
    challenger_of
        The champion that this model challenges, and its share of the traffic.
    keep_texts
        Draft models: whether texts are stored in the log.
    shards
        Keyed models: number of shards of the log, for several workers.
    holdout
        Choose, rank and label models: a share of the traffic that a fixed policy answers, for comparison.
    budget
        Choose models that learn from rewards: what decisions may cost by currency, on average or per day, e.g.
        `{"usd": 0.001}` or `{"usd": {"per_day": 20}}`.
    keep_asked
        false: stories give the request by the names of its features, not as it was sent.
    """

    loop: Id
    learner: Id | None = None
    feedback: Id | None = None
    params: dict[str, Any] = msgspec.field(default_factory=dict)
    features: Annotated[list[Id], Meta(max_length=LABELS)] | ByName | None = None
    labels: Annotated[list[Id], Meta(max_length=LABELS)] | None = None
    knobs: KnobsBody | None = None
    safe: Safe | None = None
    window_s: Seconds | None = None
    keyed: bool = False
    id_feature: bool = True
    reward_range: tuple[float, float] | None = None
    default_reward: float | None = None
    rewards: Rewards | None = None
    explore: Share | None = None
    min_share: Share | None = None
    retention_s: Age | None = None
    shared_start: bool | None = None
    candidates: Annotated[list[Variant], Meta(min_length=1, max_length=CANDIDATES)] | None = None
    shadow_of: Of | Name | None = None
    challenger_of: Of | Name | None = None
    keep_texts: bool | None = None
    shards: Annotated[int, Meta(ge=1, le=SHARDS)] = 1
    holdout: Holdout | None = None
    budget: Limits | None = None
    keep_asked: bool | None = None


class AmendBody(Message):
    """Changes of a model's settings; settings that are left out stay.

    Attributes
    ----------
    add_labels
        Labels to add.
    add_text
        Paths of further fields that hold text.
    window_s
        Seconds during which feedback is learned, for decisions from now on.
    default_reward
        The reward that is learned when the window ends without feedback; null learns nothing.
    rewards
        How several reports become one reward, for decisions from now on.
    explore
        The share of decisions that is spread evenly over all candidates.
    min_share
        The least probability of each candidate.
    retention_s
        Seconds after which events are folded into a checkpoint and erased; null keeps all.
    share
        Challengers: the share of the champion's traffic.
    holdout
        The holdout's share and policy; one that is left out stays, and so does the salt. null ends the holdout.
    budget
        The limits by currency, for decisions from now on; prices stay. null ends the budget.
    safe
        Tune models: the safe setting from now on; null lifts the limit.
    """

    add_labels: Annotated[list[Id], Meta(max_length=LABELS)] | UnsetType = UNSET
    add_text: Annotated[list[Id], Meta(max_length=1000)] | UnsetType = UNSET
    window_s: Seconds | UnsetType = UNSET
    default_reward: float | UnsetType | None = UNSET
    rewards: Rewards | UnsetType = UNSET
    explore: Share | UnsetType = UNSET
    min_share: Share | UnsetType = UNSET
    retention_s: Age | UnsetType | None = UNSET
    share: Share | UnsetType = UNSET
    holdout: HoldoutChange | UnsetType | None = UNSET
    budget: Limits | UnsetType | None = UNSET
    safe: Safe | UnsetType | None = UNSET

    #: Unknown fields that are settings of a model, fixed when it is created; labels can be added (`add_labels`).
    fixed: ClassVar[frozenset[str]] = frozenset(ModelBody.__struct_fields__) - {"labels"}

    def given(self) -> dict[str, Any]:
        """The fields that were sent."""
        return {name: value for name in self.__struct_fields__ if (value := getattr(self, name)) is not UNSET}


class CopyBody(Message, kw_only=True):
    """Name of the copy, and whether it keeps what was learned.

    Attributes
    ----------
    to
        Name of the copy.
    learnt
        Whether the copy keeps what was learned.
    """

    to: Name
    learnt: bool = True


class RenameBody(Message, kw_only=True):
    """New name of the model.

    Attributes
    ----------
    to
        The new name.
    """

    to: Name


class ModelReply(Struct, kw_only=True):
    """A model at a glance.

    Figures that are costly to compute are null in lists of models: ``open`` and ``pending``, ``best``
    (tune, without keys), and of rank ``perturbation`` and ``examination``, or in its place ``unexamined``, the reason
    why it is not known.

    ``open`` decisions are shown, have no answer, and their window is not over; ``pending`` ones are still to be shown
    (``"activate": false``). Both are counted among the latest 50,000 decisions.

    ``guarded`` says how many decisions were scaled down before they were learnt; of a keyed model, only over the keys
    that were in memory since the start. ``shadow`` and ``challenger`` are the models that follow it. Of a model
    with several ``shards``, figures are over all of them, ``model_version`` is the sum of ``shard_versions``, and
    ``base`` sums up where their logs begin.

    Attributes
    ----------
    name
        The model's name.
    loop
        Its loop.
    learner
        Its learner.
    feedback
        The kind of feedback that it was created for, or null.
    params
        The learner's arguments.
    features
        Names of features, how names become features, or null for features by position.
    labels
        Its labels, or null.
    knobs
        Its knobs, or null.
    safe
        The safe setting in force, or null.
    window_s
        Seconds during which feedback is learned.
    reward_range
        The lowest and the highest reward, or null.
    default_reward
        The reward for missing feedback, or null.
    rewards
        How several reports on one decision become one reward.
    explore
        The share of even exploration in force, or null.
    min_share
        The least probability of each candidate, or null.
    retention_s
        Age in seconds at which events are erased, or null.
    keep_texts
        Draft models: whether texts are stored.
    keep_asked
        Whether stories give the request as it was sent.
    keyed
        Whether each key has a learner of its own.
    shared_start
        Whether new keys start with what all keys have learned.
    created_at
        When it was created (ISO 8601, UTC).
    archived_at
        When it was archived, or null.
    model_version
        Number of events that changed its weights.
    decisions
        Decisions made.
    answered
        Decisions with feedback, in time or late.
    late
        Feedback that was received after its window.
    keys
        Number of keys, or null.
    quality
        How well it does.
    guarded
        Updates that were limited because they would have overflowed, or null.
    base
        Where retention lets the log begin, or null.
    undoing
        Rollback, retraction, deletion or retention in progress, or null.
    shadow_of
        The champion that it shadows, or null.
    challenger_of
        The champion that it challenges, or null.
    shadow
        The model that shadows it, or null.
    challenger
        The model that challenges it, or null.
    agreement
        How often it agrees with what was shown, or null.
    candidates
        Candidates kept with the model, or null.
    holdout
        The holdout with its salt, or null.
    budget
        By currency: the limit per decision, the mean cost, the mean of the last 200 decisions, and the price; or null.
    shards
        Number of shards.
    shard_versions
        The version of each shard, or null.
    open
        Shown decisions that wait for feedback; null in lists.
    pending
        Decisions that are not shown yet; null in lists.
    best
        Tune models: the best setting so far.
    perturbation
        Rank models: what exploration changes in the lists.
    examination
        Rank models: how far users look.
    unexamined
        Why `examination` is not known, or null.
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
    rewards: Rewards
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
    holdout: Holdout | None = None
    budget: dict[str, BudgetFigures] | None = None
    safe: Safe | None = None
    keep_asked: bool = True
    shards: int = 1
    shard_versions: list[int] | None = None
    open: int | None = None
    pending: int | None = None
    best: BestReply | None = None
    perturbation: PerturbationReply | None = None
    examination: ExaminationReply | None = None
    unexamined: str | None = None


class ModelsReply(Struct, kw_only=True):
    """All models.

    Attributes
    ----------
    models
        All models, by name.
    """

    models: list[ModelReply]
