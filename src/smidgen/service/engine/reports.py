"""Several reports on one decision: what was reported, and the one reward that it comes to.

The row of a decision holds its reports (`DecisionRow.reports`), a fold over the events ``reported``, ``withdrawn`` and
``retracted`` of the decision. The rule by which they become one reward is the one that was in force when the decision
was made; its event says which (`smidgen.service.log.codec.DecisionBody`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec

from smidgen.checks import suggest
from smidgen.errors import InvalidRecord
from smidgen.serialization import UNREADABLE
from smidgen.service.engine.live_settings import LiveSettings
from smidgen.service.errors import Conflict, Impossible, json_text
from smidgen.service.schemas import LARGEST_REWARD, Rewards

#: The most reports on one decision.
MOST = 100


class Report(msgspec.Struct, array_like=True, frozen=True):
    """A report on a decision.

    Attributes
    ----------
    digest
        The digest of its body, by which the same one is known again.
    at
        When it came, in seconds since 1970.
    feedback
        Its body.
    """

    digest: bytes
    at: float
    feedback: dict[str, Any]


_reports = msgspec.msgpack.Decoder(list[Report])


def read_reports(content: bytes | None) -> list[Report]:
    """The reports that the row of a decision holds."""
    try:
        return _reports.decode(content) if content else []
    except UNREADABLE as error:
        raise InvalidRecord(
            f"the reports on a decision cannot be read: {error}", "restore the database from a backup"
        ) from error


def write_reports(reports: Sequence[Report]) -> bytes:
    """Reports as the row of a decision holds them."""
    return msgspec.msgpack.encode(list(reports))


def is_repeat(reports: Sequence[Report], new: Report) -> bool:
    """Check whether a report came before; refuse an id that had another body."""
    id = new.feedback.get("id")
    if any(each.digest == new.digest for each in reports):
        return True
    if id is not None and any(each.feedback.get("id") == id for each in reports):
        raise Conflict(f"id is {json_text(id)}, which an earlier report has with another body", "use a new id")
    return False


def check_report(rule: Rewards, terms: LiveSettings, reports: Sequence[Report], new: Report) -> None:
    """Refuse a report whose reward does not fit the rule, and one too many."""
    value = new.feedback.get("reward")
    if isinstance(rule, dict):
        _check_parts(rule, reports, new)
    elif isinstance(value, dict):
        raise Impossible(
            f"reward is {json_text(value)}, and the model declares no parts",
            'send a number, or set "rewards" of the model to weights of parts',
        )
    elif value is not None:
        _check_value("reward", value)
        if rule == "last":
            terms.reward(value)
    if value is None and new.feedback.get("final") and not has_rewards(reports):
        raise Impossible("final is true, and no reward was reported", 'add "reward"')
    if len(reports) >= MOST:
        raise Conflict(f"the decision has {MOST} reports, which is the limit", 'combine reports, or send "final": true')


def _check_parts(weights: dict[str, float], reports: Sequence[Report], new: Report) -> None:
    value = new.feedback.get("reward")
    if value is None:
        return
    if not isinstance(value, dict):
        part = next(iter(weights))
        raise Impossible(
            f"reward is {json_text(value)}, and the model expects parts", f'send e.g. {{"reward": {{"{part}": 1}}}}'
        )
    for part, number in value.items():
        if part not in weights:
            raise Impossible(f'unknown part "reward.{part}"', suggest(part, weights))
        _check_value(f"reward.{part}", number)
        if "id" not in new.feedback and any(part in each.feedback.get("reward", ()) for each in reports):
            raise Conflict(
                f"reward.{part} was reported before", 'add an "id" to reports whose values add up, a new one each'
            )


def _check_value(name: str, value: float) -> None:
    if not abs(value) <= LARGEST_REWARD:
        raise Impossible(
            f"{name} is {json_text(value)}", f"send a number from -{LARGEST_REWARD:g} to {LARGEST_REWARD:g}"
        )


def has_rewards(reports: Sequence[Report]) -> bool:
    """Check whether one of the reports has a reward."""
    return any("reward" in each.feedback for each in reports)


def is_complete(rule: Rewards, reports: Sequence[Report]) -> bool:
    """Check whether nothing more is to come: a report is final, or all parts were reported."""
    if any(each.feedback.get("final") for each in reports):
        return True
    return isinstance(rule, dict) and rule.keys() <= {
        part for each in reports for part in each.feedback.get("reward", ())
    }


def combined_reward(rule: Rewards, terms: LiveSettings, reports: Sequence[Report]) -> float:
    """The one reward that reports come to, within the range of rewards; but for ``last``, their order is all one."""
    values = [each.feedback["reward"] for each in reports if "reward" in each.feedback]
    if isinstance(rule, dict):
        total = math.fsum(rule[part] * number for each in values for part, number in each.items())
    elif rule == "sum":
        total = math.fsum(values)
    else:
        total = max(values) if rule == "max" else values[-1]
    low, high = terms.reward_range
    return min(max(total, low), high)
