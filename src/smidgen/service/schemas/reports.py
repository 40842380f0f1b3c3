"""Bodies of reports about a model: quality, health, weights, taste, candidates, comparisons."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

# What is found out about a model: its quality, its health, its weights, the taste of its users.


class Quality(Struct, kw_only=True):
    """Quality over the latest closed decisions: those with an answer, or with an expired window.

    ``of`` is how many they are, and ``silent`` how many of them had no answer. A silent one counts as no success; where
    the figure is a loss, which is unknown then, the value is that of the others. ``low`` and ``high`` are a 95 %
    interval within the range of the reward; they are null below ten observations. Answers that were retracted or rolled
    back do not count.

    Attributes
    ----------
    measure
        What `value` is the mean of.
    value
        The mean over the decisions counted; null if there are none.
    low
        Lower end of its 95 % interval.
    high
        Upper end of its 95 % interval.
    of
        Closed decisions counted: answered, or with the window over.
    silent
        How many of them had no feedback.
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
    "few_columns",
    "projection",
    "out_of_bound",
    "dominated",
    "contradiction",
    "few_per_key",
    "drift",
    "restarted",
    "constant_is_better",
    "sample_ratio",
    "worse_than_holdout",
    "over_budget",
]


class Finding(Struct, kw_only=True, frozen=True):
    """A finding on a model: in words, with its figures and a hint.

    Attributes
    ----------
    code
        What was found.
    severity
        How serious it is.
    message
        The finding in words.
    hint
        What to do about it.
    figures
        The figures behind it.
    """

    code: Code
    severity: Severity
    message: str
    hint: str
    figures: dict[str, float | int | str | None]


class HealthReply(Struct, kw_only=True):
    """Findings on a model, the worst first; empty if there are none.

    Attributes
    ----------
    findings
        Findings, the worst first; empty if there are none.
    """

    findings: list[Finding]


class Weight(Struct, kw_only=True, omit_defaults=True):
    """A weight under its name; of label models, of one of the labels.

    Attributes
    ----------
    name
        The feature's name.
    weight
        Its weight.
    label
        Label models: the label that the weight belongs to.
    """

    name: str
    weight: float
    label: str | None = None


class WeightsReply(Struct, kw_only=True):
    """The weights of a model, or of one of its keys, strongest first.

    Attributes
    ----------
    model_version
        The version of these weights.
    weights
        Weights, strongest first.
    """

    model_version: int
    weights: list[Weight]


class TraitReply(Struct, kw_only=True):
    """A trait that edits have moved: its mean in what was shown and in what people made of it, and how many did.

    Attributes
    ----------
    name
        The trait.
    shown
        Its mean in the drafts that were shown.
    wanted
        Its mean after the users' edits.
    edits
        Edits that changed it.
    """

    name: str
    shown: float
    wanted: float
    edits: int


class TasteReply(Struct, kw_only=True):
    """Style learned from the edits of a model's users, or of one key: in words, and by trait.

    Attributes
    ----------
    taste
        The users' taste in sentences, ready for a prompt.
    traits
        The traits behind the sentences.
    """

    taste: list[str]
    traits: list[TraitReply]


class BestReply(Struct, kw_only=True):
    """Best point of a tuner: the point, the knobs' values, and the expected loss, if known.

    ``low`` and ``high`` hold about 95 % of what the loss may be on average there; ``clipped`` counts the losses (or
    gradients) that lay beyond the bound that was declared.

    Attributes
    ----------
    point
        The best point, each coordinate in the space's units (knobs: from 0 to 1).
    knobs
        The best setting by knob, in the knobs' units; null without knobs.
    loss
        The expected loss there, or null.
    low
        Lower end of an interval of about 95 % for that loss.
    high
        Upper end of that interval.
    clipped
        Losses that were beyond the declared bound and were clipped.
    """

    point: list[float]
    knobs: dict[str, float | int | str] | None
    loss: float | None
    low: float | None
    high: float | None
    clipped: int


class PerturbationReply(Struct, kw_only=True):
    """Randomization of a rank model and its cost: in words, and in numbers.

    Attributes
    ----------
    sentence
        What the perturbation does, in words.
    figures
        The figures behind the sentence.
    """

    sentence: str
    figures: dict[str, float | int | None]


class ExaminationReply(Struct, kw_only=True):
    """Probability that users look at each position, relative to the first, with a 95 % interval.

    Attributes
    ----------
    places
        Positions in the ranking, from 1.
    value
        How likely users look at each position, relative to the first.
    low
        Lower ends of the 95 % intervals.
    high
        Upper ends of the 95 % intervals.
    n
        Answered rankings used.
    """

    places: list[int]
    value: list[float]
    low: list[float]
    high: list[float]
    n: int


class Agreement(Struct, kw_only=True):
    """Over the latest decisions where something else may have been shown: how often that was what the model says.

    Of a shadow or a challenger: what another model showed. Of others: what the app had chosen itself.

    Attributes
    ----------
    value
        The share of decisions on which this model's best guess is what was shown.
    of
        Decisions counted.
    """

    value: float
    of: int


class Difference(Struct, kw_only=True):
    """A difference of means, and the interval in which the true one lies with 95 % certainty, whenever one looks.

    Attributes
    ----------
    value
        The challenger's or shadow's mean minus the champion's.
    low
        Lower end of its interval.
    high
        Upper end of its interval.
    effective
        Number of observations that would carry as much information without weights.
    n
        Decisions used.
    enough
        Whether there are enough decisions for a verdict.
    """

    value: float
    low: float
    high: float
    effective: float
    n: int
    enough: bool


class MeanReply(Struct, kw_only=True):
    """A mean with a 95 % interval that holds however often you look, within the range of the reward.

    ``n`` is the number of observations. ``low`` and ``high`` are null below ten of them, ``value`` if there are none.

    Attributes
    ----------
    value
        The mean; null without observations.
    low
        Lower end of its interval; null below ten observations.
    high
        Upper end of its interval; null below ten observations.
    n
        Number of observations.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int


class LiftReply(Struct, kw_only=True):
    """Lift of the model's mean reward over that of its holdout.

    Attributes
    ----------
    difference
        The model's mean minus the holdout's, in the unit of the reward.
    ratio
        The model's mean over the holdout's.
    """

    difference: MeanReply
    ratio: MeanReply


class PartReply(Struct, kw_only=True):
    """Reported values of one part of the reward, for the model and for its holdout.

    Attributes
    ----------
    model
        The model's mean per decision.
    holdout
        The holdout's mean per decision.
    lift
        The difference and the ratio of the two.
    """

    model: MeanReply
    holdout: MeanReply
    lift: LiftReply


class SampleRatioReply(Struct, kw_only=True):
    """Check that the share of the holdout is the configured one, since that share last changed.

    Attributes
    ----------
    expected
        The share that was asked for.
    observed
        The share that came, of units, or of decisions without units; null before the first.
    p
        Below .001 the split is wrong, however often you look.
    ok
        Whether p is at least .001.
    """

    expected: float
    observed: float | None
    p: float
    ok: bool


class WorthReply(Struct, kw_only=True):
    """Rewards of a model compared with its holdout, over the latest 50,000 decisions.

    With units the observations are units: their decisions are correlated.

    Attributes
    ----------
    model
        The model's mean reward.
    holdout
        The holdout's mean reward.
    lift
        The difference and the ratio of the two.
    sample_ratio
        Whether the split is the one that was asked for.
    verdict
        better or worse if the interval of the difference lies on one side of 0, else not yet.
    decisions_to_go
        About how many more decisions lead to a verdict if the difference stays; 0 once there is one, null if unknown.
    units
        Number of units; null if requests carry none.
    parts
        Of models with weights of parts: the same by part, per decision and without the weights. The intervals hold in
        the limit of many units, or of many decisions without units.
    """

    model: MeanReply
    holdout: MeanReply
    lift: LiftReply
    sample_ratio: SampleRatioReply
    verdict: Literal["better", "worse", "not yet"]
    decisions_to_go: int | None
    units: int | None
    parts: dict[str, PartReply] | UnsetType = UNSET


class CandidateRow(Struct, kw_only=True):
    """A candidate, a label, or an answer of a filter (``forwarded``, ``dropped``).

    ``shown`` counts decisions, ``share`` is their share of all. ``reward`` is the mean over its closed decisions.
    ``trend`` is the mean of the later half of these minus that of the earlier half; null below twenty.

    Attributes
    ----------
    id
        The candidate, the label, or forwarded or dropped.
    shown
        Decisions that showed it.
    share
        Their share of all decisions counted.
    reward
        The mean reward over its closed decisions.
    trend
        The mean of the later half of these minus that of the earlier half; null below twenty.
    last_shown
        When it was last shown (ISO 8601, UTC).
    """

    id: str
    shown: int
    share: float
    reward: MeanReply
    trend: float | None
    last_shown: str


class CandidatesReply(Struct, kw_only=True):
    """Rewards of each candidate, the most shown first, over the latest ``of`` decisions (at most 5,000).

    Attributes
    ----------
    of
        Decisions counted, the latest; at most 5,000.
    candidates
        The candidates, the most shown first.
    """

    of: int
    candidates: list[CandidateRow]


class SegmentRow(Struct, kw_only=True):
    """A value of a field: how many decisions had it, and what they earned. ``lift`` is null without a holdout.

    Attributes
    ----------
    value
        The value of the field.
    decisions
        Decisions with that value.
    reward
        Their mean reward.
    lift
        The model's mean minus the holdout's; null without a holdout.
    """

    value: str
    decisions: int
    reward: MeanReply
    lift: MeanReply | None


class SegmentsReply(Struct, kw_only=True):
    """Rewards by the value of a field; ``note`` gives the number of simultaneous intervals.

    Attributes
    ----------
    by
        The field.
    segments
        One entry for each value.
    note
        How many intervals are looked at together, in words.
    """

    by: str
    segments: list[SegmentRow]
    note: str


class Arm(Struct, kw_only=True):
    """Result of one arm: the mean measure of its closed decisions, and the number of open ones.

    Attributes
    ----------
    value
        The mean of the measure; null without closed decisions.
    of
        Closed decisions.
    open
        Open decisions.
    """

    value: float | None
    of: int
    open: int


class CompareReply(Struct, kw_only=True, omit_defaults=True):
    """A champion compared with its challenger or shadow: verdict, confidence, and the decisions still needed.

    ``difference`` is the other's mean less the champion's. ``decisions_to_go`` is null where it is unknown.

    Attributes
    ----------
    champion
        The champion's name.
    challenger
        The challenger's name, or null.
    shadow
        The shadow's name, or null.
    measure
        What is compared.
    difference
        The difference of the means, with an interval that holds however often you look.
    verdict
        better, worse or not yet: of the challenger or shadow against the champion.
    decisions_to_go
        Further decisions until a verdict is likely, or null.
    arms
        Figures of each model.
    agreement
        How often both would answer the same, or null.
    in_words
        The verdict in a sentence or two.
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
