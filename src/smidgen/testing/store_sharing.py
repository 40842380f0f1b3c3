"""Laws of a store: shards that are entered, leases with epochs, and several writers on one store."""

from __future__ import annotations

import threading
from collections.abc import Callable

from smidgen.service.errors import Taken
from smidgen.service.log.events import Chain
from smidgen.service.storage.protocol import Store
from smidgen.testing.laws import hold
from smidgen.testing.store_play import asked, batch, feedback, model


def shards_are_entered(make: Callable[[], Store], store: Store) -> None:
    """A shard that is entered is the batch's until it ends, and its counts are fresh."""
    row, other = model(store, "entered"), model(store, "entered too")
    counts = store.counts(row.shard)
    store.begin()
    store.savepoint()
    store.expect([row.shard, "nonsense"], [other.shard, "f" * 24])
    store.enter(row.shard, other.shard)
    store.enter(row.shard)
    hold(store.counts(row.shard) is counts, "entering a shard keeps the object of its counts")
    store.decided(row.shard, [asked(5900)])
    store.undo()
    store.savepoint()
    store.enter(row.shard)
    hold(store.decided(row.shard, [asked(5901)]) == 2, "a shard stays entered when the command is undone")
    made = store.create("entered third", b"{}", {}, 5.0)
    store.enter(made.shard)
    store.append(made.shard, "created", 5.0, None)
    store.release()
    store.commit()
    hold(counts is not None and counts.seq == 2, "the counts go on after the commit")
    before = store.catalogue()
    batch(store, lambda: store.decided(row.shard, [asked(5902, number=2)]))
    hold(store.catalogue() == before, "the catalogue does not move with events")
    batch(store, lambda: store.archive(made.id, 9.0))
    hold(store.catalogue() > before or not store.shared, "where others write too, it grows when a model changes")


def a_shard_has_one_owner(make: Callable[[], Store], store: Store) -> None:
    """A lease is granted to one; who owns a shard next has a higher epoch and fences off whoever did before."""
    row, next_row = model(store, "owned"), model(store, "owned too")
    first = store.lease("a", 60.0, row.shard).get(row.shard, 0)
    hold(first >= 1, "a shard that nobody owns is granted")
    granted = store.lease("a", 60.0, row.shard, next_row.shard)
    hold(granted.get(row.shard) == first, "its owner keeps it, with the same epoch")
    hold(granted.keys() == {row.shard, next_row.shard}, "several are asked for at once")
    hold(store.publish(row.shard, None, 1, b"of its owner", first), "its owner publishes what it became")
    batch(
        store, lambda: hold(store.publish(row.shard, "k", 1, b"of its owner", first), "its owner publishes for a key")
    )
    if not store.shared:
        store.leave("a", row.shard, next_row.shard)
        return
    other = make()
    try:
        store.leave("a", next_row.shard)
        free = other.lease("b", 60.0, row.shard, next_row.shard)
        hold(free.keys() == {next_row.shard}, "nobody else is granted what is owned; what was left is granted")
        held = {lease.shard: (lease.owner, lease.epoch) for lease in other.leases()}
        hold(held.get(row.shard) == ("a", first), "it is told who owns what")
        other.leave("b", row.shard)
        hold(not other.lease("b", 60.0, row.shard), "nobody leaves what is another's")
        store.leave("a", row.shard)
        second = other.lease("b", 60.0, row.shard).get(row.shard, 0)
        hold(second > first, "a new owner has a higher epoch")
        hold(not store.publish(row.shard, None, 1, b"of the old one", first), "who owned it before is fenced off")
        told = batch(store, lambda: store.publish(row.shard, "k", 1, b"of the old one", first))
        hold(told is False, "for a key too")
        kept = [next(iter(store.states(row.shard, key))).content for key in (None, "k")]
        hold(kept == [b"of its owner"] * 2, "and what it would have published is not kept")
        hold(other.publish(row.shard, None, 1, b"of the new one", second), "the new owner publishes")
    finally:
        other.close()


def writers_share(make: Callable[[], Store], store: Store) -> None:
    """Several writers write to the same shards, one after the other, and nothing is written twice or lost."""
    if not store.shared:
        return
    row, free = model(store, "shared"), model(store, "shared too")
    batch(store, lambda: store.decided(row.shard, [asked(5950)]))
    other = make()
    try:
        _they_wait(store, other, row.shard, free.shard)
        batch(other, lambda: other.decided(row.shard, [asked(5953, number=3)]))
        found = batch(store, lambda: store.answered(row.shard, [feedback(5953)]))
        hold(found[0].status == "learnt", "a writer finds what another has decided")
        found = batch(other, lambda: other.answered(row.shard, [feedback(5953)]))
        hold(found[0].status == "duplicate", "feedback that another has learnt is a duplicate")
        hold(Chain().follow(store.events(row.shard)) is None, "the chain holds over all writers")
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
        store.decided(row.shard, [asked(5954, number=4)])
        store.commit()
        hold(store.decision(asked(5954).decision) is not None, "the batch goes on without the command that was undone")
    finally:
        other.close()


def _they_wait(store: Store, other: Store, shard: int, free: int) -> None:
    done: list[int] = []

    def write() -> None:
        done.append(batch(other, lambda: other.decided(shard, [asked(5951, number=2)])))

    store.begin()
    store.enter(shard)
    writing = threading.Thread(target=write)
    writing.start()
    writing.join(0.1)
    hold(not done, "nobody else writes to a shard that is entered")
    store.decided(shard, [asked(5952, number=1)])
    store.commit()
    writing.join(30)
    hold(not writing.is_alive() and bool(done), "they go on when the batch has ended")
    hold(done[0] == 4, "numbers have no gap, whoever writes")
    store.begin()
    other.begin()
    try:
        store.enter(free)
        other.expect([shard], [free])  # waits for the first only
        other.enter(shard)
        try:
            other.enter(free)
        except Taken:
            pass
        else:
            hold(False, "who holds a shard does not wait for another")
        other.decided(shard, [asked(5955, number=5)])
        hold(
            (counts := other.counts(shard)) is not None and counts.seq == 5, "counts are fresh once a shard is entered"
        )
    finally:
        other.rollback()
        store.rollback()
