"""The contract of a store, to be run over one's own; laws of models, events, batches, readers, texts, sharing."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from smidgen.service.errors import Taken
from smidgen.service.log.events import Chain
from smidgen.service.storage.protocol import Store
from smidgen.testing import store_changes, store_decisions
from smidgen.testing.laws import hold
from smidgen.testing.store_decisions import in_batch, make_model, new_decision, new_feedback


def models_are_kept(make: Callable[[], Store], store: Store) -> None:
    """Models are found again as they were created."""
    first, second = make_model(store, "kept a"), make_model(store, "kept b")
    found = {row.name: row for row in store.models()}
    hold(found.get("kept a") == first, "a model is found again as it was created: name, shard, body, resolved, time")
    hold(list(found).index("kept a") < list(found).index("kept b"), "models come in the order of their making")
    hold(first.shard != second.shard, "every model has a shard of its own")
    in_batch(store, lambda: store.archive(first.id, 9.0))
    archived = {row.name: row.archived_at for row in store.models()}
    hold((archived["kept a"], archived["kept b"]) == (9.0, None), "archiving notes the time, of that model only")
    hold(store.counts(10**9) is None, "the counts of a shard that is not there are None")


def events_have_no_gaps(make: Callable[[], Store], store: Store) -> None:
    """Events are numbered without gaps, kept as they were, and in a chain."""
    row = make_model(store, "gaps")
    store.begin()
    given = [store.append(row.shard, "rumour", float(i), b"x" * i if i else None, 7) for i in range(4)]
    store.commit()
    hold(given == [2, 3, 4, 5], "events are numbered 1, 2, … within their shard, without gaps")
    events = store.events(row.shard)
    hold([event.seq for event in events] == [1, 2, 3, 4, 5], "events come back in order, all of them")
    kept = (events[3].type, events[3].version, events[3].at, events[3].body)
    hold(kept == ("rumour", 7, 2.0, b"xx"), "an event of any type is kept as it was: type, version, time, body")
    hold(events[1].body is None, "a body may be left out")
    hold(Chain().check_all(events) is None, "the chain of digests holds over all events of a shard")
    counts = store.counts(row.shard)
    hold(counts is not None and (counts.seq, counts.chain) == (5, events[-1].chain), "the counts have the chain's end")
    hold(store.event(row.shard, 3) == events[2], "an event is found by its number")
    hold(store.event(row.shard, 6) is None, "an event that is not there is None")
    hold(
        [event.seq for event in store.events(row.shard, 2, 2)] == [3, 4],
        "events can be asked for after one, and at most as many as the limit",
    )
    few = store.events(row.shard, 0, 100, 3)
    hold(few == events[: len(few)] and 1 <= len(few) < 5, "events stop when they are large, but there is one at least")


def a_batch_is_all_or_nothing(make: Callable[[], Store], store: Store) -> None:
    """A batch that is rolled back leaves nothing."""
    row = make_model(store, "batch")
    counts = store.counts(row.shard)
    before = store.events(row.shard)
    hold(not store.in_batch, "no batch is open after a commit")
    store.begin()
    hold(store.in_batch, "a batch is open after begin")
    store.create("never", b"{}", {}, 1.0)
    store.write_decisions(row.shard, [new_decision(1001, request="lost")])
    store.write_feedback(row.shard, [new_feedback(1001)])
    hold(store.decision(new_decision(1001).decision) is not None, "the writer sees what it wrote in the open batch")
    store.rollback()
    hold(not store.in_batch, "no batch is open after a rollback")
    store.rollback()  # without a batch it does nothing
    hold(store.events(row.shard) == before, "a rollback takes the batch's events back")
    hold(store.decision(new_decision(1001).decision) is None, "a rollback takes the batch's decisions back")
    hold(store.find_request(row.shard, "lost") is None, "a rollback takes the ids of requests back")
    hold("never" not in {each.name for each in store.models()}, "a rollback takes the batch's models back")
    hold(store.counts(row.shard) is counts, "the counts of a shard are one object as long as the store is open")
    hold(counts is not None and (counts.seq, counts.decisions, counts.version) == (1, 0, 0), "a rollback restores them")
    hold(in_batch(store, lambda: store.append(row.shard, "again", 0.0, b"")) == 2, "numbers go on where they were")
    hold(Chain().check_all(store.events(row.shard)) is None, "the chain holds after a rollback")


def a_command_is_undone_alone(make: Callable[[], Store], store: Store) -> None:
    """An undone command takes nothing else of its batch with it."""
    row = make_model(store, "command")
    store.begin()
    for number, good in ((1, True), (2, False), (3, True)):
        store.savepoint()
        store.write_decisions(row.shard, [new_decision(1100 + number, number=number, request=f"r{number}")])
        if number == 2:
            store.write_feedback(row.shard, [new_feedback(1101), new_feedback(1102)])
            store.publish(row.shard, "ann", 1, b"never")
        if good:
            store.release()
        else:
            store.rollback_to_savepoint()
    store.commit()
    found = [event.decision for event in store.events(row.shard, 1)]
    hold(
        found == [new_decision(1101).decision, new_decision(1103).decision],
        "a command that is undone takes only itself back",
    )
    first = store.decision(new_decision(1101).decision)
    hold(first is not None and first.feedback_seq is None, "feedback of an undone command is undone")
    hold(store.find_request(row.shard, "r2") is None, "the request's id of an undone command is free again")
    hold(not list(store.states(row.shard, "ann")), "a key's state of an undone command is undone")
    counts = store.counts(row.shard)
    restored = counts is not None and (counts.seq, counts.decisions, counts.version, counts.number) == (3, 2, 0, 3)
    hold(restored, "the counts are as if the undone command had never been")
    hold(Chain().check_all(store.events(row.shard)) is None, "the chain holds over an undone command")


def readers_see_what_is_committed(make: Callable[[], Store], store: Store) -> None:
    """Readers see what is committed, and only that, from any thread."""
    row = make_model(store, "readers")
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
    store.write_decisions(row.shard, [new_decision(1201)])
    hold(elsewhere()[:2] == (1, 1), "a reader does not see what is not committed")
    store.commit()
    hold(elsewhere()[:2] == (2, 2), "a reader sees what is committed, from any thread")
    reader.close()


def a_moment_is_one(make: Callable[[], Store], store: Store) -> None:
    """Reads within a snapshot see one moment, though others continue to write."""
    row = make_model(store, "moments")
    reader = store.reader()
    committing = threading.Thread(
        target=lambda: in_batch(store, lambda: store.write_decisions(row.shard, [new_decision(1251)]))
    )
    with reader.snapshot():
        first = len(reader.events(row.shard))
        committing.start()
        committing.join(0.2)  # a store may let the writer wait
        counts = reader.counts(row.shard)
        with reader.snapshot():
            again = len(reader.events(row.shard))
        hold((first, again, counts and counts.seq) == (1, 1, 1), "all answers within a moment are of that moment")
    committing.join(30)
    hold(not committing.is_alive(), "the writer goes on when the moment is over")
    hold(len(reader.events(row.shard)) == 2, "after a moment readers see what is committed")
    reader.close()


def a_probe_means_nothing(make: Callable[[], Store], store: Store) -> None:
    """A probe can be committed, and changes nothing."""
    row = make_model(store, "probed")
    before = copy.copy(store.counts(row.shard)), store.models(), store.events(row.shard)
    for _ in range(3):
        in_batch(store, store.probe)
    hold((store.counts(row.shard), store.models(), store.events(row.shard)) == before, "a probe changes nothing")


def what_is_committed_lasts(make: Callable[[], Store], store: Store) -> None:
    """Committed data is found when the store is opened again."""
    row = make_model(store, "lasts")
    in_batch(
        store, lambda: store.write_decisions(row.shard, [new_decision(1700, request="q"), new_decision(1701, number=9)])
    )
    in_batch(store, lambda: store.write_feedback(row.shard, [new_feedback(1700)]))
    known, events = copy.copy(store.counts(row.shard)), store.events(row.shard)
    store.begin()
    store.write_feedback(row.shard, [new_feedback(1701)])
    store.close()  # as a crash would: the batch is left open
    again = make()
    try:
        hold(again.events(row.shard) == events, "what was committed is there after opening again, and nothing else")
        hold(again.counts(row.shard) == known, "the counts are as they were committed")
        made = again.find_request(row.shard, "q")
        hold(made is not None and made.status == "learnt", "decisions and their feedback are there")
        hold(again.last_number(row.shard, None) == 9, "the last number is there after opening again")
        verdict = in_batch(again, lambda: again.write_feedback(row.shard, [new_feedback(1701), new_feedback(1700)]))
        hold([each.status for each in verdict] == ["learnt", "duplicate"], "what was not committed can be done again")
        hold(Chain().check_all(again.events(row.shard)) is None, "the chain goes on where it was")
    finally:
        again.close()


_TEXTS = (
    "a\x00b",
    "a\x01b",
    "a\x01\x02b",
    "\x01\x01",
    "\x00",
    "a",
    "é",
    "日本",
    "😀",
    "'; --",
    "%s $1 ?1 :a",
    "\\x00",
    "a\x00",
)


def texts_hold_any_character(make: Callable[[], Store], store: Store) -> None:
    """Keys, ids of requests and ids of calls are kept as they were, whatever characters they hold."""
    row = make_model(store, "texts")
    made = [new_decision(6100 + n, key=text, request=text, number=1) for n, text in enumerate(_TEXTS)]
    in_batch(store, lambda: store.write_decisions(row.shard, made))
    store.begin()
    for n, text in enumerate(_TEXTS):
        store.write_feedback(row.shard, [new_feedback(6100 + n, key=text)])
        store.publish(row.shard, text, 2, text.encode())
        store.append(row.shard, "rumour", 9.0, b"x", call=(text, text.encode()))
    store.commit()
    for view in (store, make()):
        for n, text in enumerate(_TEXTS):
            found = view.find_request(row.shard, text)
            hold(found is not None and found.id == made[n].decision, "the id of a request may hold any character")
            mine = [(event.type, event.key) for event in view.events_of_key(row.shard, text)]
            hold(mine == [("decision", text), ("feedback", text)], "a key may hold any character")
            hold([state.content for state in view.states(row.shard, text)] == [text.encode()], "so may that of a state")
            call = view.find_call(row.shard, text)
            hold(call is not None and call.hash == text.encode(), "so may the id of a call")
        hold(view.state_keys(row.shard) == sorted(_TEXTS), "keys come in the order of their characters")
        keys = [key for (key,) in view.query("keys", row.shard, prefix="", limit=100)]
        hold(keys == sorted(_TEXTS), "so do those that have events")
        if view is not store:
            view.close()
    store.begin()
    store.savepoint()
    try:
        store.write_decisions(row.shard, [new_decision(6190, key="\ud800")])
        refused = False
    except ValueError:
        refused = True
    store.rollback_to_savepoint()
    hold(refused, "half a character is refused at once")
    store.write_decisions(row.shard, [new_decision(6191, number=2)])
    store.commit()
    hold(store.decision(new_decision(6191).decision) is not None, "and the batch goes on")


def slots_are_entered(make: Callable[[], Store], store: Store) -> None:
    """A shard that is entered is the batch's until it ends, and its counts are fresh."""
    row, other = make_model(store, "entered"), make_model(store, "entered too")
    counts = store.counts(row.shard)
    store.begin()
    store.savepoint()
    store.prefetch([row.shard, "nonsense"], [other.shard, "f" * 24])
    store.acquire(row.shard, other.shard)
    store.acquire(row.shard)
    hold(store.counts(row.shard) is counts, "entering a shard keeps the object of its counts")
    store.write_decisions(row.shard, [new_decision(5900)])
    store.rollback_to_savepoint()
    store.savepoint()
    store.acquire(row.shard)
    hold(
        store.write_decisions(row.shard, [new_decision(5901)]) == 2, "a shard stays entered when the command is undone"
    )
    made = store.create("entered third", b"{}", {}, 5.0)
    store.acquire(made.shard)
    store.append(made.shard, "created", 5.0, None)
    store.release()
    store.commit()
    hold(counts is not None and counts.seq == 2, "the counts go on after the commit")
    before = store.catalogue_number()
    in_batch(store, lambda: store.write_decisions(row.shard, [new_decision(5902, number=2)]))
    hold(store.catalogue_number() == before, "the catalogue does not move with events")
    in_batch(store, lambda: store.archive(made.id, 9.0))
    hold(store.catalogue_number() > before or not store.shared, "where others write too, it grows when a model changes")


def a_slot_has_one_owner(make: Callable[[], Store], store: Store) -> None:
    """A lease is granted to one owner; the next owner of a shard has a higher epoch and fences off the previous one."""
    row, next_row = make_model(store, "owned"), make_model(store, "owned too")
    first = store.lease("a", 60.0, row.shard).get(row.shard, 0)
    hold(first >= 1, "a shard that nobody owns is granted")
    granted = store.lease("a", 60.0, row.shard, next_row.shard)
    hold(granted.get(row.shard) == first, "its owner keeps it, with the same epoch")
    hold(granted.keys() == {row.shard, next_row.shard}, "several are asked for at once")
    hold(store.publish(row.shard, None, 1, b"of its owner", first), "its owner publishes what it became")
    in_batch(
        store, lambda: hold(store.publish(row.shard, "k", 1, b"of its owner", first), "its owner publishes for a key")
    )
    if not store.shared:
        store.release_leases("a", row.shard, next_row.shard)
        return
    other = make()
    try:
        store.release_leases("a", next_row.shard)
        free = other.lease("b", 60.0, row.shard, next_row.shard)
        hold(free.keys() == {next_row.shard}, "nobody else is granted what is owned; what was left is granted")
        held = {lease.shard: (lease.owner, lease.epoch) for lease in other.leases()}
        hold(held.get(row.shard) == ("a", first), "leases name their owners")
        other.release_leases("b", row.shard)
        hold(not other.lease("b", 60.0, row.shard), "nobody leaves what is another's")
        store.release_leases("a", row.shard)
        second = other.lease("b", 60.0, row.shard).get(row.shard, 0)
        hold(second > first, "a new owner has a higher epoch")
        hold(not store.publish(row.shard, None, 1, b"of the old one", first), "who owned it before is fenced off")
        published = in_batch(store, lambda: store.publish(row.shard, "k", 1, b"of the old one", first))
        hold(published is False, "for a key too")
        kept = [next(iter(store.states(row.shard, key))).content for key in (None, "k")]
        hold(kept == [b"of its owner"] * 2, "and what it would have published is not kept")
        hold(other.publish(row.shard, None, 1, b"of the new one", second), "the new owner publishes")
        _workers_know_each_other(store, other)
    finally:
        other.close()


def _workers_know_each_other(store: Store, other: Store) -> None:
    store.wait_for_announcement(0.0)
    names = [each.name for each in store.join("a", "here:1", 60.0)]
    hold(names == ["a"], "who joins is among the living")
    hold(
        other.join("b", "", 0.0) == [("a", "here:1")], "the living are known to all, and who does not renew is not one"
    )
    names = [each.name for each in other.join("b", "", 60.0)]
    hold(names == ["a", "b"], "the living are in the order of their names")
    other.announce()
    hold(store.wait_for_announcement(60.0), "an announcement wakes who waits")
    other.leave("b")
    hold([each.name for each in store.join("a", "", 60.0)] == ["a"], "who leaves is not among the living")
    hold(store.secret("test") == other.secret("test") != b"", "all workers have the same secret")
    store.leave("a")


def writers_share(make: Callable[[], Store], store: Store) -> None:
    """Several writers write to the same shards, one after the other, and nothing is written twice or lost."""
    if not store.shared:
        return
    row, free = make_model(store, "shared"), make_model(store, "shared too")
    in_batch(store, lambda: store.write_decisions(row.shard, [new_decision(5950)]))
    other = make()
    try:
        _they_wait(store, other, row.shard, free.shard)
        in_batch(other, lambda: other.write_decisions(row.shard, [new_decision(5953, number=3)]))
        found = in_batch(store, lambda: store.write_feedback(row.shard, [new_feedback(5953)]))
        hold(found[0].status == "learnt", "a writer finds what another has decided")
        found = in_batch(other, lambda: other.write_feedback(row.shard, [new_feedback(5953)]))
        hold(found[0].status == "duplicate", "feedback that another has learnt is a duplicate")
        hold(Chain().check_all(store.events(row.shard)) is None, "the chain holds over all writers")
        name = "made by another"
        in_batch(other, lambda: other.create(name, b"{}", {}, 1.0))
        store.begin()
        store.savepoint()
        try:
            store.create(name, b"{}", {}, 1.0)
        except Taken:
            store.rollback_to_savepoint()
        else:
            hold(False, "a name that another writer has made is taken")
        hold(name in {each.name for each in store.models()}, "the model that another writer has made is there")
        store.write_decisions(row.shard, [new_decision(5954, number=4)])
        store.commit()
        hold(
            store.decision(new_decision(5954).decision) is not None,
            "the batch goes on without the command that was undone",
        )
    finally:
        other.close()


def _they_wait(store: Store, other: Store, shard: int, free: int) -> None:
    done: list[int] = []

    def write() -> None:
        done.append(in_batch(other, lambda: other.write_decisions(shard, [new_decision(5951, number=2)])))

    store.begin()
    store.acquire(shard)
    writing = threading.Thread(target=write)
    writing.start()
    writing.join(0.1)
    hold(not done, "nobody else writes to a shard that is entered")
    store.write_decisions(shard, [new_decision(5952, number=1)])
    store.commit()
    writing.join(30)
    hold(not writing.is_alive() and bool(done), "they go on when the batch has ended")
    hold(done[0] == 4, "numbers have no gap, whichever writer writes")
    store.begin()
    other.begin()
    try:
        store.acquire(free)
        other.prefetch([shard], [free])  # waits for the first only
        other.acquire(shard)
        try:
            other.acquire(free)
        except Taken:
            pass
        else:
            hold(False, "who holds a shard does not wait for another")
        other.write_decisions(shard, [new_decision(5955, number=5)])
        hold(
            (counts := other.counts(shard)) is not None and counts.seq == 5, "counts are fresh once a shard is entered"
        )
    finally:
        other.rollback()
        store.rollback()


Law = Callable[[Callable[[], Store], Store], None]


def check_store(make_store: Callable[[], Store]) -> None:
    """Hold a store against the contract of `smidgen.service.storage.protocol`.

    Parameters
    ----------
    make_store
        Opens the store. Every call opens the same place, which is empty at first; what was committed there is found
        again. A store that was opened before may have been left behind without being closed, as a crash would.

    Raises
    ------
    AssertionError
        At the first law that does not hold, with a sentence that says which.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from smidgen.service.storage.sqlite import SQLiteStore
    >>> from smidgen.testing import check_store
    >>> with TemporaryDirectory() as folder:
    ...     check_store(lambda: SQLiteStore(Path(folder), synchronous="OFF"))
    """
    for law in _LAWS:
        store = make_store()
        try:
            law(make_store, store)
        except AssertionError:
            raise
        except Exception as error:
            what = law.__name__.strip("_").replace("_", " ")
            raise AssertionError(f"the law '{what}' broke off with {type(error).__name__}: {error}") from error
        finally:
            with suppress(Exception):
                store.rollback()
            store.close()


_LAWS: tuple[Law, ...] = (
    models_are_kept,
    events_have_no_gaps,
    a_batch_is_all_or_nothing,
    a_command_is_undone_alone,
    readers_see_what_is_committed,
    a_moment_is_one,
    store_decisions.decisions_are_found,
    store_decisions.feedback_counts_once,
    store_decisions.the_fold_is_in_order,
    store_changes.silence_is_learnt_once,
    store_changes.a_decision_counts_when_it_is_shown,
    store_changes.feedback_can_be_taken_back,
    store_changes.a_model_goes_back,
    store_changes.a_key_can_be_forgotten,
    store_changes.all_that_changes_weights_is_listed,
    store_changes.calls_are_known_again,
    store_changes.settings_can_change,
    store_decisions.states_are_kept,
    store_decisions.tokens_are_looked_up,
    store_decisions.events_of_operators_are_signed,
    a_probe_means_nothing,
    what_is_committed_lasts,
    store_decisions.questions_are_answered,
    store_decisions.followers_of_decisions_are_found,
    store_decisions.followers_are_taught_once,
    store_changes.models_have_a_second_life,
    store_changes.a_log_can_begin_with_a_base,
    store_changes.keys_have_bases_of_their_own,
    store_changes.a_base_lets_go_of_a_key,
    texts_hold_any_character,
    slots_are_entered,
    a_slot_has_one_owner,
    writers_share,
)
