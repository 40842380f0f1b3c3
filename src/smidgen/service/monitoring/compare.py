"""Compare a champion with its challenger or shadow.

A champion and the one next to it: whether that one is better, how sure that is, and how long it will take.

A challenger answers a random share of the requests, so the rewards of both arms give the difference, adjusted for what
the champion expected of each request (`smidgen.evaluate.lift`). Where units are split, units are the observations.
Where the share changed meanwhile, or losses have no range, each mean has a confidence sequence at half of the error. A
rank challenger may share pages with its champion instead: each page goes to the one with more clicks
(`smidgen.service.monitoring.interleaving`). A shadow is never shown: what it would have earned comes from the
champion's log, where the champion draws its answers, by inverse propensities. Everything may be looked at as often as
one likes.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from smidgen.decision import FloatArray
from smidgen.evaluate.confidence import FEW, Estimate, lower_ends, mean_between
from smidgen.evaluate.lift import Verdict, decisions_to_go, lift, lift_of_units
from smidgen.evaluate.lift import verdict as verdict_of
from smidgen.evaluate.off_policy import effective_sample_size, sides_of_difference
from smidgen.learners import Feedback
from smidgen.service.engine.champions import interleaves
from smidgen.service.engine.model import ServedModel
from smidgen.service.errors import Unknown
from smidgen.service.log import codec
from smidgen.service.monitoring.covariates import covariates, expected
from smidgen.service.monitoring.interleaving import Asked, difference_of, read_pages
from smidgen.service.schemas import Agreement, Arm, CompareReply, Difference, Of
from smidgen.service.storage.protocol import StoreReader

# What a comparison comes to, in words.

_SURE = "95 % confidence, valid at any time"


def describe(found: CompareReply, *, exact: bool, lower: bool) -> str:
    """Summary of the comparison in two or three sentences: verdict, confidence, decisions still needed.

    Parameters
    ----------
    found
        The comparison.
    exact
        Whether the log can say what the other one would have earned.
    lower
        Whether less is better.
    """
    other, parts = found.challenger or found.shadow or "", []
    if not exact:
        parts.append(_unknown(found, other))
    elif not found.difference.enough:
        parts.append(_too_few(found, other))
    elif found.verdict == "not yet":
        parts.append(
            f"It is undecided whether {other} is better: the difference in {found.measure} is {_interval(found)}."
        )
        parts.append(_wait(found.decisions_to_go, "At the current difference,", "will decide it"))
    else:
        less_or_more = "more" if found.difference.value > 0 else "less"
        good = "so it is better and can be promoted" if found.verdict == "better" else "so it is worse"
        parts.append(
            f"{other} achieves {less_or_more} than {found.champion}, {good}: the difference in {found.measure} is "
            f"{_interval(found)}; {_SURE}."
        )
    if lower and exact:
        parts.append("Smaller is better.")
    if found.agreement is not None:
        share, of = found.agreement.value, found.agreement.of
        parts.append(f"It agrees with {found.champion} in {share:.0%} of {of:,} decisions.")
    if (open_ := sum(arm.open for arm in found.arms.values())) > found.difference.n:
        parts.append(f"{open_:,} decisions are still open and may change this.")
    return " ".join(part for part in parts if part)


def _interval(found: CompareReply) -> str:
    gap = found.difference
    return f"{gap.value:+.3g} (between {gap.low:+.3g} and {gap.high:+.3g}, {gap.n:,} decisions)"


def _wait(more: int | None, before: str, after: str) -> str:
    if more is None:
        return "The time to a result cannot be estimated: the two are too close."
    return f"{before} about {more:,} more decisions {after}."


def _too_few(found: CompareReply, other: str) -> str:
    if found.challenger is None:
        return (
            f"Not enough data to compare {other}: it needs {FEW} decisions with feedback that {other} "
            f"might have made too."
        )
    fewest = min(found.arms.values(), key=lambda arm: arm.of)
    begun = f"Not enough data to compare {other}: each needs {FEW} closed decisions, and one"
    wait = (
        _wait(found.decisions_to_go, "That takes", "")
        if found.decisions_to_go is not None
        else ("One of them receives no traffic.")
    )
    return f"{begun} has {fewest.of}. {wait}".replace(" .", ".")


def _unknown(found: CompareReply, other: str) -> str:
    return (
        f"The result of {other} cannot be estimated from this log: {found.champion} does not draw its decisions "
        f"with known probabilities, or they fill several slots. Make {other} a challenger, or let {found.champion} "
        "explore if it has no slots."
    )


#: What is compared where both rankings share a page.
PAGES = "pages won"
#: The interval misses the true difference with this probability, at whatever moments one looks.
ALPHA = 0.05
#: Number of changes of a challenger's settings that are examined.
_AMENDMENTS = 1_000
#: Number of decisions of each arm that are compared at most: the first ones since both stand together.
MOST = 100_000


class _Row(NamedTuple):
    """A decision that lies next to another, and the one that went out."""

    seq: int
    agreed: int | None
    target: float | None
    chance: float | None
    shard: int
    shown_seq: int
    expires_at: float
    shown: int
    forwarded: int | None
    chosen: int | None
    feedback_seq: int | None
    measure: float | None
    unit: str | None = None
    mixed: float | None = None

    @property
    def counts(self) -> bool:
        """True if the answer was shown, and was the model's own."""
        return bool(self.shown) and self.forwarded not in (0, False) and self.chosen is None


class _Scale(NamedTuple):
    """Scale of the measure from the app's units to 0…1."""

    low: float
    width: float
    silence: float | None
    lower_is_better: bool

    def value(self, row: _Row, now: float) -> float | None:
        """Result in the app's units; None while it is open or if it cannot be known."""
        if row.measure is not None:
            return row.measure
        return self.silence if row.feedback_seq is None and row.expires_at < now else None

    def open(self, row: _Row, now: float) -> bool:
        """True while feedback may still arrive."""
        return row.feedback_seq is None and row.expires_at >= now


def compare_arms(reading: StoreReader, model: ServedModel, now: float) -> CompareReply:
    """The comparison of a model with its champion, or with the one next to it."""
    champion, other = arms_of(model)
    loop, shadow = champion.blueprint.loop, other.blueprint.body.shadow_of is not None
    scale = _scale(champion)
    with reading.snapshot():
        paired = _pairs(reading, other)
        answered = [] if shadow else _pairs(reading, champion)
    since = {part.shard: part.since for part in champion.parts}
    ours = [row for row in paired if row.shown_seq > since.get(row.shard, row.shown_seq)]
    arms, measure = {champion.name: _arm(ours, scale, now)}, loop.measure
    if interleaves(other.blueprint.body):
        arms, difference, exact, measure = *_of_pages(reading, champion, other, ours, now), True, PAGES
        scale = scale._replace(lower_is_better=False)
    elif shadow:
        difference, exact = _by_weights(ours, scale, now)
    else:
        shards = {part.shard for part in other.parts}
        theirs = [row for row in answered if row.shard in shards]
        arms[other.name] = _arm(theirs, scale, now)
        difference, exact = _of_arms(reading, champion, other, (ours, theirs), scale, now), True
    verdict = _verdict(difference, lower=scale.lower_is_better)
    share = other.blueprint.terms.share
    if measure == PAGES:
        to_go = _pages_to_go(difference, verdict, share)
    else:
        to_go = _to_go(difference, verdict, [arm.of for arm in arms.values()], share)
    says = [bool(row.agreed) for row in ours if row.agreed is not None]
    found = CompareReply(
        champion=champion.name,
        challenger=None if shadow else other.name,
        shadow=other.name if shadow else None,
        measure=measure,
        difference=difference,
        verdict=verdict,
        decisions_to_go=to_go,
        arms=arms,
        agreement=Agreement(value=sum(says) / len(says), of=len(says)) if says else None,
        in_words="",
    )
    found.in_words = describe(found, exact=exact, lower=scale.lower_is_better)
    return found


def _of_pages(
    reading: StoreReader, champion: ServedModel, other: ServedModel, rows: Sequence[_Row], now: float
) -> tuple[dict[str, Arm], Difference]:
    """Compare both on the pages that they share: the share that each won, and the difference."""
    mixed = [row for row in rows if row.mixed is not None]
    closed = [row for row in mixed if row.feedback_seq is not None or row.expires_at < now]
    pages = read_pages(reading, [Asked(row.shard, row.shown_seq, row.feedback_seq, row.unit) for row in closed])
    of, n, open_ = other.blueprint.body.challenger_of, len(pages), len(mixed) - len(closed)
    arms = {
        name: Arm(value=sum(page.won == won for page in pages) / n if n else None, of=n, open=open_)
        for name, won in ((champion.name, 0.0), (other.name, 1.0))
    }
    return arms, difference_of(pages, by_unit=isinstance(of, Of) and of.by == "unit")


def arms_of(model: ServedModel) -> tuple[ServedModel, ServedModel]:
    """The champion, and the one next to it: its challenger, if it has one, else its shadow."""
    if model.leader is not None:
        return model.leader, model
    other = model.challenger or model.shadow
    if other is None:
        raise Unknown(
            f'the model "{model.name}" has neither a shadow nor a challenger',
            f'create one: PUT /v1/models/NAME with "challenger_of": {{"model": "{model.name}", "share": 0.1}}',
        )
    return model, other


def _pairs(reading: StoreReader, model: ServedModel) -> list[_Row]:
    """Paired decisions under the present settings, of all shards, by expiry."""
    most = MOST // len(model.parts)
    found = [reading.query("pairs", part.shard, after=part.since, limit=most) for part in model.parts]
    rows = heapq.merge(*([_Row(*row) for row in each] for each in found), key=lambda row: row.expires_at)
    return [row for row in rows if row.counts]


def _scale(champion: ServedModel) -> _Scale:
    loop = champion.blueprint.loop
    if Feedback.LOSS in loop.kinds.values():
        return _Scale(0.0, 1.0, None, lower_is_better=True)
    if loop.share:
        return _Scale(0.0, 1.0, loop.silence, lower_is_better=False)
    low, high = loop.terms.reward_range
    return _Scale(low, high - low, low, lower_is_better=False)


def _values(rows: Sequence[_Row], scale: _Scale, now: float) -> FloatArray:
    found = (scale.value(row, now) for row in rows)
    return np.array([value for value in found if value is not None], dtype=np.float64)


def _arm(rows: Sequence[_Row], scale: _Scale, now: float) -> Arm:
    values = _values(rows, scale, now)
    open_ = sum(scale.open(row, now) for row in rows)
    return Arm(value=float(values.mean()) if len(values) else None, of=len(values), open=open_)


def _nothing(n: int, width: float) -> Difference:
    return Difference(value=0.0, low=-width, high=width, effective=0.0, n=n, enough=False)


class _Shown(NamedTuple):
    """A closed decision: the champion's own event of it, which arm was shown, its unit, and what it earned, 0 to 1."""

    at: float
    place: tuple[int, int]
    treated: float
    unit: str | None
    value: float


def _of_arms(
    reading: StoreReader,
    champion: ServedModel,
    other: ServedModel,
    arms: tuple[Sequence[_Row], Sequence[_Row]],
    scale: _Scale,
    now: float,
) -> Difference:
    """The difference of both arms: by decision and adjusted, by unit, or of two means where that is all there is."""
    share, (ours, theirs) = other.blueprint.terms.share or 0.0, arms
    mine, rivals = _values(ours, scale, now), _values(theirs, scale, now)
    few = min(len(mine), len(rivals)) < FEW
    if few or scale.lower_is_better or not 0.0 < share < 1.0 or _share_has_changed(reading, other):
        return _by_arms(mine, rivals, scale)
    shown = [
        _Shown(row.expires_at, place, treated, row.unit, min(1.0, max(0.0, (value - scale.low) / scale.width)))
        for treated, rows in ((0.0, ours), (1.0, theirs))
        for row in rows
        if (value := scale.value(row, now)) is not None
        for place in [(row.shard, row.shown_seq) if not treated else (_place(champion, other, row), row.seq)]
    ]
    shown.sort(key=lambda each: (each.at, each.place))
    of = other.blueprint.body.challenger_of
    if isinstance(of, Of) and of.by == "unit" and any(each.unit is not None for each in shown):
        return _by_units(shown, scale)
    seqs: dict[int, list[int]] = {}
    for each in shown:
        seqs.setdefault(each.place[0], []).append(each.place[1])
    x = covariates(expected(reading, champion, seqs), [each.place for each in shown])
    values, treated = np.array([each.value for each in shown]), np.array([each.treated for each in shown])
    found = _difference(lift(values, treated, share=share, covariates=x, alpha=ALPHA).difference, scale)
    found.value = min(max(float(rivals.mean() - mine.mean()), found.low), found.high)  # as the arms are reported
    return found


def _place(champion: ServedModel, other: ServedModel, row: _Row) -> int:
    """The champion's shard of a decision that the challenger answered."""
    part = next((part.part for part in other.parts if part.shard == row.shard), 0)
    return champion.parts[part].shard


def _share_has_changed(reading: StoreReader, other: ServedModel) -> bool:
    """Report whether the share of a challenger was amended since it was created."""
    for part in other.parts:
        for seq, type, _ in reading.query("settings", part.shard, limit=_AMENDMENTS):
            event = reading.event(part.shard, seq) if type == "amended" else None
            if event is not None and "share" in (codec.read_fields(event.body, seq).get("changes") or {}):
                return True
    return False


def _by_units(shown: Sequence[_Shown], scale: _Scale) -> Difference:
    """The difference where units were split: each unit is an observation of its arm."""
    sums: dict[tuple[object, float], list[float]] = {}
    for each in shown:
        one = sums.setdefault((each.unit if each.unit is not None else each.place, each.treated), [0.0, 0.0])
        one[0] += each.value
        one[1] += 1.0
    rewards, decisions = np.array(list(sums.values())).T
    treated = np.array([arm for _, arm in sums])
    return _difference(lift_of_units(rewards, decisions, treated, alpha=ALPHA).difference, scale, len(shown))


def _difference(found: Estimate, scale: _Scale, n: int | None = None) -> Difference:
    width = scale.width
    return Difference(
        value=found.value * width if math.isfinite(found.value) else 0.0,
        low=found.low * width,
        high=found.high * width,
        effective=found.effective,
        n=found.n if n is None else n,
        enough=found.enough,
    )


def _by_arms(ours: FloatArray, theirs: FloatArray, scale: _Scale) -> Difference:
    """The difference of two means, each with a sequence at α/2."""
    n, m = len(ours), len(theirs)
    low, width = scale.low, scale.width
    if scale.lower_is_better and n and m:  # losses have no range of their own
        low = float(min(ours.min(), theirs.min()))
        width = float(max(ours.max(), theirs.max())) - low or 1.0
    if not n or not m:
        return _nothing(n + m, width)
    value, effective = float(theirs.mean() - ours.mean()), 4.0 * n * m / (n + m)
    if min(n, m) < FEW:
        return Difference(value=value, low=-width, high=width, effective=effective, n=n + m, enough=False)
    ends = [mean_between(np.clip((values - low) / width, 0.0, 1.0), ALPHA / 2.0) for values in (ours, theirs)]
    (our_low, our_high), (their_low, their_high) = ends
    return Difference(
        value=value,
        low=(their_low - our_high) * width,
        high=(their_high - our_low) * width,
        effective=effective,
        n=n + m,
        enough=True,
    )


def _by_weights(rows: Sequence[_Row], scale: _Scale, now: float) -> tuple[Difference, bool]:
    """Return what the shadow would have earned beyond what was earned, and whether the log can say it.

    The terms are (w − 1)·r with w = π/p, the shadow's probability of what was shown over the champion's, and r in
    [0, 1]. They are at least −1, and so are (w − 1)·(1 − r), whose mean is minus theirs: each gives one end of the
    interval, without a bound on the weights.
    """
    if scale.lower_is_better:
        return _nothing(len(rows), scale.width), False
    known = [
        (row.target / row.chance, value)
        for row in rows
        if row.target is not None and row.chance is not None and (value := scale.value(row, now)) is not None
    ]
    if not known:
        drawn = any(row.chance is not None for row in rows)
        return _nothing(0, scale.width), drawn or not rows
    weights, values = np.array(known, dtype=np.float64).T
    rewards = np.clip((values - scale.low) / scale.width, 0.0, 1.0)
    terms = (weights - 1.0) * rewards
    n, effective = len(terms), effective_sample_size(weights)
    value = float(terms.mean()) * scale.width
    if int(np.count_nonzero(weights * rewards)) < FEW:
        return (
            Difference(value=value, low=-scale.width, high=scale.width, effective=effective, n=n, enough=False),
            True,
        )
    low, high = (float(lower_ends(side, ALPHA / 2.0)[0]) for side in sides_of_difference(rewards, weights))
    return (
        Difference(value=value, low=low * scale.width, high=-high * scale.width, effective=effective, n=n, enough=True),
        True,
    )


def _verdict(difference: Difference, *, lower: bool) -> Verdict:
    """Return whether the interval lies on one side of 0."""
    return verdict_of(difference.low, difference.high, lower_is_better=lower) if difference.enough else "not yet"


def _pages_to_go(difference: Difference, verdict: Verdict, share: float | None) -> int | None:
    """Return the number of decisions until a verdict where a share of them is pages of both."""
    if verdict != "not yet":
        return 0
    pages: int | None = max(FEW - difference.n, 1)
    if difference.enough:
        pages = decisions_to_go(difference.value, difference.low, difference.high, difference.n)
    return None if not share or pages is None else math.ceil(pages / share)


def _to_go(difference: Difference, verdict: Verdict, of: list[int], share: float | None) -> int | None:
    """Number of decisions still needed if the difference stays the same; intervals shrink like 1/√n."""
    if verdict != "not yet":
        return 0
    if not difference.enough:
        if len(of) == 1:
            return FEW
        if not share or share >= 1.0:
            return None
        return math.ceil(max((FEW - of[0]) / (1.0 - share), (FEW - of[1]) / share, 1.0))
    return decisions_to_go(difference.value, difference.low, difference.high, difference.n)
