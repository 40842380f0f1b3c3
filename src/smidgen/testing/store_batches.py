"""Laws of a store: models, events, batches, commands, readers, and what lasts."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from typing import Any

from smidgen.service.log.events import Chain
from smidgen.service.storage.protocol import Store
from smidgen.testing.laws import hold
from smidgen.testing.store_play import asked, batch, feedback, model


def models_are_kept(make: Callable[[], Store], store: Store) -> None:
    """Models are found again as they were created."""
    first, second = model(store, "kept a"), model(store, "kept b")
    found = {row.name: row for row in store.models()}
    hold(found.get("kept a") == first, "a model is found again as it was created: name, shard, body, resolved, time")
    hold(list(found).index("kept a") < list(found).index("kept b"), "models come in the order of their making")
    hold(first.shard != second.shard, "every model has a shard of its own")
    batch(store, lambda: store.archive(first.id, 9.0))
    told = {row.name: row.archived_at for row in store.models()}
    hold((told["kept a"], told["kept b"]) == (9.0, None), "archiving notes the time, of that model only")
    hold(store.counts(10**9) is None, "the counts of a shard that is not there are None")


def events_have_no_gaps(make: Callable[[], Store], store: Store) -> None:
    """Events are numbered without gaps, kept as they were, and in a chain."""
    row = model(store, "gaps")
    store.begin()
    given = [store.append(row.shard, "rumour", float(i), b"x" * i if i else None, 7) for i in range(4)]
    store.commit()
    hold(given == [2, 3, 4, 5], "events are numbered 1, 2, … within their shard, without gaps")
    events = store.events(row.shard)
    hold([event.seq for event in events] == [1, 2, 3, 4, 5], "events come back in order, all of them")
    kept = (events[3].type, events[3].version, events[3].at, events[3].body)
    hold(kept == ("rumour", 7, 2.0, b"xx"), "an event of any type is kept as it was: type, version, time, body")
    hold(events[1].body is None, "a body may be left out")
    hold(Chain().follow(events) is None, "the chain of digests holds over all events of a shard")
    counts = store.counts(row.shard)
    hold(counts is not None and (counts.seq, counts.chain) == (5, events[-1].chain), "the counts have the chain's end")
    hold(store.event(row.shard, 3) == events[2], "an event is found by its number")
    hold(store.event(row.shard, 6) is None, "an event that is not there is None")
    hold(
        [event.seq for event in store.events(row.shard, 2, 2)] == [3, 4],
        "events can be asked for after one, and at most so many",
    )
    few = store.events(row.shard, 0, 100, 3)
    hold(few == events[: len(few)] and 1 <= len(few) < 5, "events stop when they are large, but there is one at least")


def a_batch_is_all_or_nothing(make: Callable[[], Store], store: Store) -> None:
    """A batch that is rolled back leaves nothing."""
    row = model(store, "batch")
    counts = store.counts(row.shard)
    before = store.events(row.shard)
    hold(not store.in_batch, "no batch is open after a commit")
    store.begin()
    hold(store.in_batch, "a batch is open after begin")
    store.create("never", b"{}", {}, 1.0)
    store.decided(row.shard, [asked(1001, request="lost")])
    store.answered(row.shard, [feedback(1001)])
    hold(store.decision(asked(1001).decision) is not None, "the writer sees what it wrote in the open batch")
    store.rollback()
    hold(not store.in_batch, "no batch is open after a rollback")
    store.rollback()  # without a batch it does nothing
    hold(store.events(row.shard) == before, "a rollback takes the batch's events back")
    hold(store.decision(asked(1001).decision) is None, "a rollback takes the batch's decisions back")
    hold(store.requested(row.shard, "lost") is None, "a rollback takes the ids of requests back")
    hold("never" not in {each.name for each in store.models()}, "a rollback takes the batch's models back")
    hold(store.counts(row.shard) is counts, "the counts of a shard are one object as long as the store is open")
    hold(counts is not None and (counts.seq, counts.decisions, counts.version) == (1, 0, 0), "a rollback restores them")
    hold(batch(store, lambda: store.append(row.shard, "again", 0.0, b"")) == 2, "numbers go on where they were")
    hold(Chain().follow(store.events(row.shard)) is None, "the chain holds after a rollback")


def a_command_is_undone_alone(make: Callable[[], Store], store: Store) -> None:
    """An undone command takes nothing else of its batch with it."""
    row = model(store, "command")
    store.begin()
    for number, good in ((1, True), (2, False), (3, True)):
        store.savepoint()
        store.decided(row.shard, [asked(1100 + number, number=number, request=f"r{number}")])
        if number == 2:
            store.answered(row.shard, [feedback(1101), feedback(1102)])
            store.publish(row.shard, "ann", 1, b"never")
        if good:
            store.release()
        else:
            store.undo()
    store.commit()
    found = [event.decision for event in store.events(row.shard, 1)]
    hold(found == [asked(1101).decision, asked(1103).decision], "a command that is undone takes only itself back")
    first = store.decision(asked(1101).decision)
    hold(first is not None and first.feedback_seq is None, "feedback of an undone command is undone")
    hold(store.requested(row.shard, "r2") is None, "the request's id of an undone command is free again")
    hold(not list(store.states(row.shard, "ann")), "a key's state of an undone command is undone")
    counts = store.counts(row.shard)
    told = counts is not None and (counts.seq, counts.decisions, counts.version, counts.number) == (3, 2, 0, 3)
    hold(told, "the counts are as if the undone command had never been")
    hold(Chain().follow(store.events(row.shard)) is None, "the chain holds over an undone command")


def readers_see_what_is_committed(make: Callable[[], Store], store: Store) -> None:
    """Readers see what is committed, and only that, from any thread."""
    row = model(store, "readers")
    reader = store.reader()
    seen: list[Any] = []

    def look() -> None:
        counts = reader.counts(row.shard)
        seen.append((len(reader.events(row.shard)), counts.seq if counts is not None else 0, len(reader.tokens())))

    def elsewhere() -> Any:
        thread = threading.Thread(target=look)
        thread.start()
        thread.join(30)
        hold(not thread.is_alive(), "a reader in another thread does not wait for the open batch")
        return seen.pop()

    store.begin()
    store.decided(row.shard, [asked(1201)])
    hold(elsewhere()[:2] == (1, 1), "a reader does not see what is not committed")
    store.commit()
    hold(elsewhere()[:2] == (2, 2), "a reader sees what is committed, from any thread")
    reader.close()


def a_moment_is_one(make: Callable[[], Store], store: Store) -> None:
    """What is asked within a moment is answered as of it, though others go on."""
    row = model(store, "moments")
    reader = store.reader()
    committing = threading.Thread(target=lambda: batch(store, lambda: store.decided(row.shard, [asked(1251)])))
    with reader.moment():
        first = len(reader.events(row.shard))
        committing.start()
        committing.join(0.2)  # a store may let the writer wait
        counts = reader.counts(row.shard)
        with reader.moment():
            again = len(reader.events(row.shard))
        hold((first, again, counts and counts.seq) == (1, 1, 1), "all answers within a moment are of that moment")
    committing.join(30)
    hold(not committing.is_alive(), "the writer goes on when the moment is over")
    hold(len(reader.events(row.shard)) == 2, "after a moment readers see what is committed")
    reader.close()


def a_probe_means_nothing(make: Callable[[], Store], store: Store) -> None:
    """A probe can be committed, and changes nothing."""
    row = model(store, "probed")
    before = copy.copy(store.counts(row.shard)), store.models(), store.events(row.shard)
    for _ in range(3):
        batch(store, store.probe)
    hold((store.counts(row.shard), store.models(), store.events(row.shard)) == before, "a probe changes nothing")


def what_is_committed_lasts(make: Callable[[], Store], store: Store) -> None:
    """What was committed is found by whoever opens the store again."""
    row = model(store, "lasts")
    batch(store, lambda: store.decided(row.shard, [asked(1700, request="q"), asked(1701, number=9)]))
    batch(store, lambda: store.answered(row.shard, [feedback(1700)]))
    known, events = copy.copy(store.counts(row.shard)), store.events(row.shard)
    store.begin()
    store.answered(row.shard, [feedback(1701)])
    store.close()  # as a crash would: the batch is left open
    again = make()
    try:
        hold(again.events(row.shard) == events, "what was committed is there after opening again, and nothing else")
        hold(again.counts(row.shard) == known, "the counts are as they were committed")
        made = again.requested(row.shard, "q")
        hold(made is not None and made.status == "learnt", "decisions and their feedback are there")
        hold(again.last_number(row.shard, None) == 9, "the last number is there after opening again")
        verdict = batch(again, lambda: again.answered(row.shard, [feedback(1701), feedback(1700)]))
        hold([each.status for each in verdict] == ["learnt", "duplicate"], "what was not committed can be done again")
        hold(Chain().follow(again.events(row.shard)) is None, "the chain goes on where it was")
    finally:
        again.close()
