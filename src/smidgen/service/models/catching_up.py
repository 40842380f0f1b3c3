"""Catching up: what other workers wrote to a slot since, taken by the learners that are in memory.

Nothing that takes back, erases or puts other settings in force may lie between: then a learner is read anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from smidgen.service.models.fold import follow
from smidgen.service.models.group import Group, fold
from smidgen.service.models.rewinds import Undone
from smidgen.service.store.events import Event
from smidgen.service.store.protocol import Store

if TYPE_CHECKING:
    from smidgen.service.models.learner_cache import Held
    from smidgen.service.models.served import Served

#: Events that learners and groups can take one after the other; whoever meets another kind reads all of it anew.
ORDINARY = frozenset({"created", "decision", "feedback", "expired", "taught", "shown"})
#: Further behind than this, it is quicker to read a group anew.
FAR = 20_000
_NOTHING = Undone()
Changes = Iterable[tuple[Event, Event | None]]


def catch_up(store: Store, model: Served, key: str | None, held: Held, changes: Changes | None = None) -> None:
    """Let a learner take what others wrote after the last event that it knows.

    Parameters
    ----------
    store, model, key, held
        The log, whose it is, and the learner.
    changes
        What others wrote that concerns it, if that is known already.
    """
    if changes is None:
        changes = store.changes(model.slot, max(held.seq, held.looked), key)
    held.learner, last = follow(held.learner, changes, _NOTHING, key)
    held.learner.reserve(model.counts.number if key is None else store.last_number(model.slot, key))
    held.seq, held.looked = max(held.seq, last), model.caught  # what the open batch wrote may be undone
    if held.learner.guarded:
        model.scaled[key] = held.learner.guarded


def catch_up_group(
    store: Store,
    model: Served,
    group: Group,
    after: int,
    learner: Callable[[str], Held],
) -> Group:
    """Let what keys share take what others wrote after an event.

    Parameters
    ----------
    store, model, group, after
        The log, whose it is, what is shared, and the last event that went into it.
    learner
        Gives the learner of a key as it was after that event.
    """
    if group.mean is None:
        return fold(group, model.blueprint, store.changes(model.slot, after), _NOTHING, model.since)
    changes = list(store.changes(model.slot, after))
    own: dict[str, list[tuple[Event, Event | None]]] = {}
    for change in changes:
        if (key := change[0].key) is not None:
            own.setdefault(key, []).append(change)
    for key, theirs in own.items():
        held = learner(key)
        before = held.learner.start() if held.learner.rounds else None
        catch_up(store, model, key, held, theirs)
        group.moved(before, held.learner)
    return fold(group, model.blueprint, changes, _NOTHING, model.since)
