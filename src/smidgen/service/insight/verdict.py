"""What a comparison comes to, in words."""

from __future__ import annotations

from smidgen.evaluate.offline.sequence import FEW
from smidgen.service.messages import CompareReply

_SURE = "95 % sure, however often you look"


def told(found: CompareReply, *, exact: bool, lower: bool) -> str:
    """Whether the other one is better, with how much certainty, and how long to wait; in two or three sentences.

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
            f"It is not yet known whether {other} is better: the difference in {found.measure} is {_interval(found)}."
        )
        parts.append(_wait(found.decisions_to_go, "If the difference stays so,", "will tell"))
    else:
        less_or_more = "more" if found.difference.value > 0 else "less"
        good = "so it is better and can be promoted" if found.verdict == "better" else "so it is worse"
        parts.append(
            f"{other} brings {less_or_more} than {found.champion}, {good}: the difference in {found.measure} is "
            f"{_interval(found)}; {_SURE}."
        )
    if lower and exact:
        parts.append("Less is better here.")
    if found.agreement is not None:
        share, of = found.agreement.value, found.agreement.of
        parts.append(f"It would have said the same as {found.champion} in {share:.0%} of {of:,} decisions.")
    if (open_ := sum(arm.open for arm in found.arms.values())) > found.difference.n:
        parts.append(f"{open_:,} decisions are still open: what comes of them may change this.")
    return " ".join(part for part in parts if part)


def _interval(found: CompareReply) -> str:
    gap = found.difference
    return f"{gap.value:+.3g} (between {gap.low:+.3g} and {gap.high:+.3g}, {gap.n:,} decisions)"


def _wait(more: int | None, before: str, after: str) -> str:
    if more is None:
        return "How long it takes nobody can say: the two are too close."
    return f"{before} about {more:,} more decisions {after}."


def _too_few(found: CompareReply, other: str) -> str:
    if found.challenger is None:
        return (
            f"There is not enough to tell whether {other} is better: {FEW} decisions are needed that it might have "
            f"made too and that brought something."
        )
    fewest = min(found.arms.values(), key=lambda arm: arm.of)
    begun = f"There is not enough to tell whether {other} is better: {FEW} closed decisions of each are needed, and one"
    wait = (
        _wait(found.decisions_to_go, "That takes", "")
        if found.decisions_to_go is not None
        else ("One of them gets no traffic.")
    )
    return f"{begun} has {fewest.of}. {wait}".replace(" .", ".")


def _unknown(found: CompareReply, other: str) -> str:
    return (
        f"What {other} would have brought cannot be known from this log: {found.champion} does not draw its answers "
        f"with known probabilities. Let {found.champion} explore, or make {other} a challenger."
    )
