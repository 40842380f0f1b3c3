"""Several reports on one decision: what was reported, and the one reward that it comes to.

The row of a decision holds its reports (`DecisionRow.reports`), a fold over the events ``reported``, ``withdrawn`` and
``retracted`` of the decision. The rule by which they become one reward is the one that was in force when the decision
was made; its event says which (`smidgen.service.log.codec.DecisionBody`).

A decision with several slots has such a reward for each of them. Under the rule ``first`` its reports wait for one
another too: until every slot has a reward.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from smidgen.checks import suggest
from smidgen.errors import InvalidRecord
from smidgen.serialization import UNREADABLE
from smidgen.service.engine.live_settings import FIRST, LiveSettings
from smidgen.service.errors import Conflict, Impossible, json_text
from smidgen.service.schemas import LARGEST_REWARD, Reward, Rewards

#: The slots of a decision; None of one without slots.
SlotIds: TypeAlias = Sequence[str] | None
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


def rewards_in(feedback: Mapping[str, Any], slots: SlotIds) -> dict[str | None, Reward]:
    """The rewards of a report by slot; of a decision without slots the one reward, under None."""
    if "rewards" in feedback:
        return dict(feedback["rewards"])
    return dict.fromkeys(slots or (None,), feedback["reward"]) if "reward" in feedback else {}


def check_report(
    rule: Rewards, terms: LiveSettings, reports: Sequence[Report], new: Report, slots: SlotIds = None
) -> None:
    """Refuse a report whose rewards do not fit the rule, and one too many."""
    found = rewards_in(new.feedback, slots)
    for slot, value in found.items():
        name = "reward" if "reward" in new.feedback else f"rewards.{slot}"
        before = list(_values(reports, slots, slot))
        if isinstance(rule, dict):
            _check_parts(name, rule, before, value, again="id" in new.feedback)
        elif isinstance(value, dict):
            raise Impossible(
                f"{name} is {json_text(value)}, and the model declares no parts",
                'send a number, or set "rewards" of the model to weights of parts',
            )
        else:
            _check_value(name, value)
            if rule in ("last", FIRST):
                terms.reward(value, name)
            if rule == FIRST and before:
                raise Conflict(
                    f"the slot {json_text(slot)} already has a reward",
                    "send it once for each slot; the first one counts",
                )
    if not found and new.feedback.get("final") and not has_rewards(reports):
        raise Impossible("final is true, and no reward was reported", 'add "reward"')
    if len(reports) >= MOST:
        raise Conflict(f"the decision has {MOST} reports, which is the limit", 'combine reports, or send "final": true')


def _values(reports: Sequence[Report], slots: SlotIds, slot: str | None) -> Iterator[Any]:
    """The reports on one slot."""
    for each in reports:
        found = rewards_in(each.feedback, slots)
        if slot in found:
            yield found[slot]


def _check_parts(name: str, weights: dict[str, float], before: Sequence[Any], value: Any, *, again: bool) -> None:
    if not isinstance(value, dict):
        part = next(iter(weights))
        raise Impossible(
            f"{name} is {json_text(value)}, and the model expects parts", f'send parts, e.g. {{"{part}": 1}}'
        )
    for part, number in value.items():
        if part not in weights:
            raise Impossible(f'unknown part "{name}.{part}"', suggest(part, weights))
        _check_value(f"{name}.{part}", number)
        if not again and any(part in each for each in before):
            raise Conflict(
                f"{name}.{part} was reported before", 'add an "id" to reports whose values add up, a new one each'
            )


def _check_value(name: str, value: float) -> None:
    if not abs(value) <= LARGEST_REWARD:
        raise Impossible(
            f"{name} is {json_text(value)}", f"send a number from -{LARGEST_REWARD:g} to {LARGEST_REWARD:g}"
        )


def has_rewards(reports: Sequence[Report]) -> bool:
    """Check whether one of the reports has a reward."""
    return any("reward" in each.feedback or "rewards" in each.feedback for each in reports)


def is_complete(rule: Rewards, reports: Sequence[Report], slots: SlotIds = None) -> bool:
    """Check whether nothing more is to come: a report is final, or all slots and all parts were reported."""
    if any(each.feedback.get("final") for each in reports):
        return True
    each_slot = [list(_values(reports, slots, slot)) for slot in slots or (None,)]
    if isinstance(rule, dict):
        return all(rule.keys() <= {part for value in values for part in value} for values in each_slot)
    return rule == FIRST and all(each_slot)


def combined_reward(
    rule: Rewards, terms: LiveSettings, reports: Sequence[Report], slots: SlotIds = None
) -> float | dict[str, float]:
    """The one reward that reports come to, within the range of rewards; but for ``last``, their order is all one.

    Of a decision with slots: one for each that has a report, and the default reward for the others, if there is one.
    """
    if slots is None:
        return _combined(rule, terms, list(_values(reports, None, None)))
    each = {slot: list(_values(reports, slots, slot)) for slot in slots}
    silent = terms.default_reward
    return {
        slot: _combined(rule, terms, values) if values else float(silent or 0.0)
        for slot, values in each.items()
        if values or silent is not None
    }


def sum_of_part(part: str, reports: Sequence[Report]) -> float:
    """Return what reports say of one part, without its weight; of a decision with slots, of all of them together."""
    values = [each.feedback.get("reward") for each in reports]
    values += [value for each in reports for value in (each.feedback.get("rewards") or {}).values()]
    return math.fsum(each[part] for each in values if isinstance(each, dict) and part in each)


def _combined(rule: Rewards, terms: LiveSettings, values: Sequence[Any]) -> float:
    """Combine the values of one slot."""
    if isinstance(rule, dict):
        total = math.fsum(rule[part] * number for each in values for part, number in each.items())
    elif rule == "sum":
        total = math.fsum(values)
    else:
        total = max(values) if rule == "max" else values[-1]
    low, high = terms.reward_range
    return min(max(total, low), high)
