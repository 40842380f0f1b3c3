"""Several slots in one request of the choose loop: what they fill, and the rewards of each."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import structs

from smidgen.checks import suggest
from smidgen.decision import Decision
from smidgen.errors import InvalidArgument, InvalidFeatures
from smidgen.service.errors import Impossible, json_text
from smidgen.service.loops.base import UNDRAWN, Answer, AppChoice, policy_choice
from smidgen.service.loops.evaluator import Terms, TrainingSignal
from smidgen.service.loops.features import positions_of
from smidgen.service.schemas import Reward, SlotBody
from smidgen.structures import Candidates
from smidgen.structures.slots import Layout, Slot, by_slot, n_candidates, read_slots, slot_entries

if TYPE_CHECKING:
    from smidgen.service.log.codec import EventLine


def fill_slots(context: Any, given: Sequence[SlotBody], excluded: Sequence[Any]) -> None:
    """Let the candidates of a request fill slots; ids that the whole request excludes may stand in each of them."""
    if not isinstance(context, Candidates):
        raise Impossible(
            "slots are given and this model expects rows of numbers",
            'create a model without "features": a slot is part of the context, which is crossed with candidates',
        )
    gone = set(map(str, excluded))
    try:
        context.slots = read_slots(
            [Slot(each.id, each.features, _left(i, each, context.ids or (), gone)) for i, each in enumerate(given)]
        )
        slot_entries(context.slots, context.ids, len(context))
        for slot in context.slots:
            slot.context(context.context)
    except (InvalidArgument, InvalidFeatures) as error:
        raise Impossible(error.problem, error.hint) from error


def _left(i: int, slot: SlotBody, ids: Sequence[Any], gone: set[str]) -> tuple[Any, ...]:
    """Return the candidates of the request that a slot excludes."""
    named = [each for each in slot.exclude or () if str(each) not in gone]
    positions_of(list(dict.fromkeys(map(str, named))), ids, f"slots[{i}].exclude")
    return tuple(named)


def slots_answer(decision: Decision, ids: Sequence[Any]) -> Answer:
    """The choice of each slot with its propensity; the first one also alone."""
    chances, actions = decision.propensities, np.asarray(decision.action).tolist()
    choices = [
        {"slot": slot, "choice": ids[place], "propensity": None if chances is None else float(chances[i][place])}
        for i, (slot, place) in enumerate(zip(decision.slots or (), actions, strict=True))
    ]
    answer: Answer = {"choices": choices, "choice": choices[0]["choice"]}
    if decision.price is not None:
        answer["price"] = decision.price
    return answer


def check_slots(slots: Sequence[str] | None, value: Mapping[str, Any]) -> None:
    """Refuse rewards of what is no slot of a decision."""
    if slots is None:
        raise Impossible("rewards is given and the decision has no slots", 'send {"reward": 1}')
    for slot in value:
        if slot not in slots:
            raise Impossible(f"rewards names {json_text(slot)}, which is not a slot", suggest(slot, slots))


def slot_lessons(
    terms: Terms, actions: Sequence[int], slots: Sequence[str], rewards: Mapping[str, Reward] | Reward
) -> dict[str, tuple[int, float]]:
    """Return what each slot showed and its reward, to teach a learner."""
    given = rewards if isinstance(rewards, Mapping) else dict.fromkeys(slots, rewards)
    return {
        slot: (int(action), terms.reward(given[slot]))
        for slot, action in zip(slots, actions, strict=True)
        if slot in given
    }


def refuse_excluded(ids: Sequence[Any], place: int, slot: str, excluded: Collection[int], field: str) -> None:
    """Refuse a candidate in a slot that excludes it; ``field`` is the one that errors name."""
    if place in excluded:
        raise Impossible(f"{field} puts {json_text(ids[place])} into {json_text(slot)}, which excludes it", "move it")


def app_choices(mine: Decision, ids: Sequence[Any], value: Any) -> AppChoice:
    """Return the app's choices by slot: each earns the best reward, and the choice it replaces the worst."""
    slots = mine.slots or ()
    if not isinstance(value, list) or len(value) != len(slots):
        raise Impossible(
            f"chosen is {json_text(value)}", f"send an array of {len(slots)} ids, one for each slot, in their order"
        )
    places = positions_of(value, ids, "chosen")
    for slot, place, (_, excluded) in zip(slots, places, mine.context.entries, strict=True):
        refuse_excluded(ids, place, slot, excluded, "chosen")
    greedy = np.asarray(mine.greedy).tolist()
    lessons = [TrainingSignal({slot: (place, 1.0) for slot, place in zip(slots, places, strict=True)})]
    replaced = {slot: (best, 0.0) for slot, best in zip(slots, greedy, strict=True) if best not in places}
    if replaced:
        lessons.append(TrainingSignal(replaced))
    return AppChoice(np.array(places, np.int64), greedy == places, lessons)


def hold_out_slots(mine: Decision, ids: Sequence[Any], policy: Any, draw: bytes) -> Decision:
    """Fill the slots by the policy of a holdout.

    ``first`` takes candidates in the order given, ``uniform`` draws each from what is left, and a named candidate goes
    into the first slot that may show it.
    """
    n = n_candidates(mine.context)
    layout, table, places = Layout(mine.context.entries, n), np.zeros((len(mine.slots or ()), n)), list[int]()
    for i in range(len(table)):
        kept = np.flatnonzero(layout.open(i, places))
        single = structs.replace(mine, propensities=table[i])
        own = hashlib.sha256(draw + bytes([i])).digest()
        part = policy_choice(single, [ids[place] for place in kept.tolist()], policy, own)
        if part.propensities is not None:
            table[i, kept] = part.propensities
        places.append(int(kept[part.action]))
    action = np.array(places, np.int64)
    chance = float(np.prod([row[place] for row, place in zip(table, places, strict=True)]))
    drawn = UNDRAWN | {"propensities": table if mine.propensities is not None else None}
    return structs.replace(mine, action=action, greedy=action, explored=False, **drawn, propensity=chance)


def slot_rewards(feedback: Mapping[str, Any], slots: Sequence[str]) -> dict[str, Any]:
    """Return the reward of each slot that feedback names, in the app's own range."""
    if "rewards" in feedback:
        return dict(feedback["rewards"])
    for field in ("reward", "default_reward"):
        if feedback.get(field) is not None:
            return dict.fromkeys(slots, feedback[field])
    return {}


def slot_events(event: EventLine, made: Decision | None) -> Iterator[tuple[EventLine, Decision | None]]:
    """A decision with several slots, or an answer to one, as events of single decisions: one for each slot.

    Parameters
    ----------
    event, made
        The event, and the decision that it answers; None of a decision's own event.
    """
    decision = event.record_bytes() if made is None else made
    learned = None if made is None else event.learner_input()
    rewards = slot_rewards(event.feedback, decision.slots or ())
    for slot, kept, single in by_slot(decision):
        if isinstance(learned, Mapping) and slot not in learned:
            continue
        ids = [event.ids[place] for place in kept] if len(event.ids) else ()
        part = structs.replace(event, decision=f"{event.decision} {slot}", ids=ids)
        if made is None:
            part.__dict__["its decision"] = single
            yield part, None
            continue
        part = structs.replace(part, feedback={"reward": rewards[slot]} if slot in rewards else event.feedback)
        part.__dict__["its feedback"] = learned[slot] if isinstance(learned, Mapping) else learned
        yield part, single
