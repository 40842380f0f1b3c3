"""Laws of a store: slots that are entered, leases with epochs, and several writers on one store."""

from __future__ import annotations

import threading
from collections.abc import Callable

from smidgen.service.errors import Taken
from smidgen.service.log.events import Chain
from smidgen.service.storage.protocol import Store
from smidgen.testing.laws import hold
from smidgen.testing.store_play import asked, batch, feedback, model


def slots_are_entered(make: Callable[[], Store], store: Store) -> None:
    """A slot that is entered is the batch's until it ends, and its counts are fresh."""
    row, other = model(store, "entered"), model(store, "entered too")
    counts = store.counts(row.slot)
    store.begin()
    store.savepoint()
    store.expect([row.slot, "nonsense"], [other.slot, "f" * 24])
    store.enter(row.slot, other.slot)
    store.enter(row.slot)
    hold(store.counts(row.slot) is counts, "entering a slot keeps the object of its counts")
    store.decided(row.slot, [asked(5900)])
    store.undo()
    store.savepoint()
    store.enter(row.slot)
    hold(store.decided(row.slot, [asked(5901)]) == 2, "a slot stays entered when the command is undone")
    made = store.create("entered third", b"{}", {}, 5.0)
    store.enter(made.slot)
    store.append(made.slot, "created", 5.0, None)
    store.release()
    store.commit()
    hold(counts is not None and counts.seq == 2, "the counts go on after the commit")
    before = store.catalogue()
    batch(store, lambda: store.decided(row.slot, [asked(5902, number=2)]))
    hold(store.catalogue() == before, "the catalogue does not move with events")
    batch(store, lambda: store.archive(made.id, 9.0))
    hold(store.catalogue() > before or not store.shared, "where others write too, it grows when a model changes")


def a_slot_has_one_owner(make: Callable[[], Store], store: Store) -> None:
    """A lease is granted to one; who owns a slot next has a higher epoch and fences off whoever did before."""
    row, next_row = model(store, "owned"), model(store, "owned too")
    first = store.lease("a", 60.0, row.slot).get(row.slot, 0)
    hold(first >= 1, "a slot that nobody owns is granted")
    granted = store.lease("a", 60.0, row.slot, next_row.slot)
    hold(granted.get(row.slot) == first, "its owner keeps it, with the same epoch")
    hold(granted.keys() == {row.slot, next_row.slot}, "several are asked for at once")
    hold(store.publish(row.slot, None, 1, b"of its owner", first), "its owner publishes what it became")
    batch(store, lambda: hold(store.publish(row.slot, "k", 1, b"of its owner", first), "its owner publishes for a key"))
    if not store.shared:
        store.leave("a", row.slot, next_row.slot)
        return
    other = make()
    try:
        store.leave("a", next_row.slot)
        free = other.lease("b", 60.0, row.slot, next_row.slot)
        hold(free.keys() == {next_row.slot}, "nobody else is granted what is owned; what was left is granted")
        held = {lease.slot: (lease.owner, lease.epoch) for lease in other.leases()}
        hold(held.get(row.slot) == ("a", first), "it is told who owns what")
        other.leave("b", row.slot)
        hold(not other.lease("b", 60.0, row.slot), "nobody leaves what is another's")
        store.leave("a", row.slot)
        second = other.lease("b", 60.0, row.slot).get(row.slot, 0)
        hold(second > first, "a new owner has a higher epoch")
        hold(not store.publish(row.slot, None, 1, b"of the old one", first), "who owned it before is fenced off")
        told = batch(store, lambda: store.publish(row.slot, "k", 1, b"of the old one", first))
        hold(told is False, "for a key too")
        kept = [next(iter(store.states(row.slot, key))).content for key in (None, "k")]
        hold(kept == [b"of its owner"] * 2, "and what it would have published is not kept")
        hold(other.publish(row.slot, None, 1, b"of the new one", second), "the new owner publishes")
    finally:
        other.close()


def writers_share(make: Callable[[], Store], store: Store) -> None:
    """Several writers write to the same slots, one after the other, and nothing is written twice or lost."""
    if not store.shared:
        return
    row, free = model(store, "shared"), model(store, "shared too")
    batch(store, lambda: store.decided(row.slot, [asked(5950)]))
    other = make()
    try:
        _they_wait(store, other, row.slot, free.slot)
        batch(other, lambda: other.decided(row.slot, [asked(5953, number=3)]))
        found = batch(store, lambda: store.answered(row.slot, [feedback(5953)]))
        hold(found[0].status == "learnt", "a writer finds what another has decided")
        found = batch(other, lambda: other.answered(row.slot, [feedback(5953)]))
        hold(found[0].status == "duplicate", "feedback that another has learnt is a duplicate")
        hold(Chain().follow(store.events(row.slot)) is None, "the chain holds over all writers")
        name = "made by another"
        batch(other, lambda: other.create(name, b"{}", {}, 1.0))
        store.begin()
        store.savepoint()
        try:
            store.create(name, b"{}", {}, 1.0)
        except Taken:
            store.undo()
        else:
            hold(False, "a name that another writer has made is taken")
        hold(name in {each.name for each in store.models()}, "the model that another writer has made is there")
        store.decided(row.slot, [asked(5954, number=4)])
        store.commit()
        hold(store.decision(asked(5954).decision) is not None, "the batch goes on without the command that was undone")
    finally:
        other.close()


def _they_wait(store: Store, other: Store, slot: int, free: int) -> None:
    done: list[int] = []

    def write() -> None:
        done.append(batch(other, lambda: other.decided(slot, [asked(5951, number=2)])))

    store.begin()
    store.enter(slot)
    writing = threading.Thread(target=write)
    writing.start()
    writing.join(0.1)
    hold(not done, "nobody else writes to a slot that is entered")
    store.decided(slot, [asked(5952, number=1)])
    store.commit()
    writing.join(30)
    hold(not writing.is_alive() and bool(done), "they go on when the batch has ended")
    hold(done[0] == 4, "numbers have no gap, whoever writes")
    store.begin()
    other.begin()
    try:
        store.enter(free)
        other.expect([slot], [free])  # waits for the first only
        other.enter(slot)
        try:
            other.enter(free)
        except Taken:
            pass
        else:
            hold(False, "who holds a slot does not wait for another")
        other.decided(slot, [asked(5955, number=5)])
        hold((counts := other.counts(slot)) is not None and counts.seq == 5, "counts are fresh once a slot is entered")
    finally:
        other.rollback()
        store.rollback()
