"""The contract of a store, to be run over one's own."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from smidgen.service.store.events import Chain
from smidgen.service.store.protocol import Asked, ModelRow, Store, TokenRow, Told
from smidgen.testing.store_looks import answers_named_questions

Law = Callable[[Callable[[], Store], Store], None]


def check_store(make_store: Callable[[], Store]) -> None:
    """Hold a store against the contract of `smidgen.service.store.protocol`.

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
    >>> from smidgen.service.store.memory import MemoryStore, Shelf
    >>> from smidgen.testing import check_store
    >>> shelf = Shelf()
    >>> check_store(lambda: MemoryStore(shelf))
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


def _hold(fact: bool, sentence: str) -> None:
    """A law that does not hold is told in one sentence."""
    if not fact:
        raise AssertionError(sentence)


def _model(store: Store, name: str) -> ModelRow:
    """A model with its first event, committed."""
    store.begin()
    row = store.create(name, b'{"of":1}', {"learner": name}, 5.0)
    store.append(row.slot, "created", 5.0, b"made")
    store.commit()
    return row


def _asked(place: int, **changes: Any) -> Asked:
    """A decision; its place among the contract's decisions is its id."""
    made = Asked(f"{place:024x}", 10.0, 100.0, None, 1, None, None, False, None, b"asked %d" % place)
    return made._replace(**changes)


def _told(place: int, **changes: Any) -> Told:
    made = Told(f"{place:024x}", 20.0, None, b"hash %d" % place, 1.0, None, b"told %d" % place)
    return made._replace(**changes)


def _batch(store: Store, command: Callable[[], Any]) -> Any:
    """One command, committed."""
    store.begin()
    store.savepoint()
    answer = command()
    store.release()
    store.commit()
    return answer


def _models_are_kept(make: Callable[[], Store], store: Store) -> None:
    first, second = _model(store, "kept a"), _model(store, "kept b")
    found = {row.name: row for row in store.models()}
    _hold(found.get("kept a") == first, "a model is found again as it was created: name, slot, body, resolved, time")
    _hold(list(found).index("kept a") < list(found).index("kept b"), "models come in the order of their making")
    _hold(first.slot != second.slot, "every model has a slot of its own")
    _batch(store, lambda: store.archive(first.id, 9.0))
    told = {row.name: row.archived_at for row in store.models()}
    _hold((told["kept a"], told["kept b"]) == (9.0, None), "archiving notes the time, of that model only")
    _hold(store.counts(10**9) is None, "the counts of a slot that is not there are None")


def _events_have_no_gaps(make: Callable[[], Store], store: Store) -> None:
    row = _model(store, "gaps")
    store.begin()
    given = [store.append(row.slot, "rumour", float(i), b"x" * i if i else None, 7) for i in range(4)]
    store.commit()
    _hold(given == [2, 3, 4, 5], "events are numbered 1, 2, … within their slot, without gaps")
    events = store.events(row.slot)
    _hold([event.seq for event in events] == [1, 2, 3, 4, 5], "events come back in order, all of them")
    kept = (events[3].type, events[3].version, events[3].at, events[3].body)
    _hold(kept == ("rumour", 7, 2.0, b"xx"), "an event of any type is kept as it was: type, version, time, body")
    _hold(events[1].body is None, "a body may be left out")
    _hold(Chain().follow(events) is None, "the chain of digests holds over all events of a slot")
    counts = store.counts(row.slot)
    _hold(counts is not None and (counts.seq, counts.chain) == (5, events[-1].chain), "the counts have the chain's end")
    _hold(store.event(row.slot, 3) == events[2], "an event is found by its number")
    _hold(store.event(row.slot, 6) is None, "an event that is not there is None")
    _hold(
        [event.seq for event in store.events(row.slot, 2, 2)] == [3, 4],
        "events can be asked for after one, and at most so many",
    )
    few = store.events(row.slot, 0, 100, 3)
    _hold(few == events[: len(few)] and 1 <= len(few) < 5, "events stop when they are large, but there is one at least")


def _a_batch_is_all_or_nothing(make: Callable[[], Store], store: Store) -> None:
    row = _model(store, "batch")
    counts = store.counts(row.slot)
    before = store.events(row.slot)
    _hold(not store.in_batch, "no batch is open after a commit")
    store.begin()
    _hold(store.in_batch, "a batch is open after begin")
    store.create("never", b"{}", {}, 1.0)
    store.decided(row.slot, [_asked(1001, request="lost")])
    store.answered(row.slot, [_told(1001)])
    _hold(store.decision(_asked(1001).decision) is not None, "the writer sees what it wrote in the open batch")
    store.rollback()
    _hold(not store.in_batch, "no batch is open after a rollback")
    store.rollback()  # without a batch it does nothing
    _hold(store.events(row.slot) == before, "a rollback takes the batch's events back")
    _hold(store.decision(_asked(1001).decision) is None, "a rollback takes the batch's decisions back")
    _hold(store.requested(row.slot, "lost") is None, "a rollback takes the ids of requests back")
    _hold("never" not in {each.name for each in store.models()}, "a rollback takes the batch's models back")
    _hold(store.counts(row.slot) is counts, "the counts of a slot are one object as long as the store is open")
    _hold(
        counts is not None and (counts.seq, counts.decisions, counts.version) == (1, 0, 0), "a rollback restores them"
    )
    _hold(_batch(store, lambda: store.append(row.slot, "again", 0.0, b"")) == 2, "numbers go on where they were")
    _hold(Chain().follow(store.events(row.slot)) is None, "the chain holds after a rollback")


def _a_command_is_undone_alone(make: Callable[[], Store], store: Store) -> None:
    row = _model(store, "command")
    store.begin()
    for number, good in ((1, True), (2, False), (3, True)):
        store.savepoint()
        store.decided(row.slot, [_asked(1100 + number, number=number, request=f"r{number}")])
        if number == 2:
            store.answered(row.slot, [_told(1101), _told(1102)])
            store.publish(row.slot, "ann", 1, b"never")
        if good:
            store.release()
        else:
            store.undo()
    store.commit()
    found = [event.decision for event in store.events(row.slot, 1)]
    _hold(found == [_asked(1101).decision, _asked(1103).decision], "a command that is undone takes only itself back")
    first = store.decision(_asked(1101).decision)
    _hold(first is not None and first.feedback_seq is None, "feedback of an undone command is undone")
    _hold(store.requested(row.slot, "r2") is None, "the request's id of an undone command is free again")
    _hold(not list(store.states(row.slot, "ann")), "a key's state of an undone command is undone")
    counts = store.counts(row.slot)
    told = counts is not None and (counts.seq, counts.decisions, counts.version, counts.number) == (3, 2, 0, 3)
    _hold(told, "the counts are as if the undone command had never been")
    _hold(Chain().follow(store.events(row.slot)) is None, "the chain holds over an undone command")


def _readers_see_what_is_committed(make: Callable[[], Store], store: Store) -> None:
    row = _model(store, "readers")
    reader = store.reader()
    seen: list[Any] = []

    def look() -> None:
        counts = reader.counts(row.slot)
        seen.append((len(reader.events(row.slot)), counts.seq if counts is not None else 0, len(reader.tokens())))

    def elsewhere() -> Any:
        thread = threading.Thread(target=look)
        thread.start()
        thread.join(30)
        _hold(not thread.is_alive(), "a reader in another thread does not wait for the open batch")
        return seen.pop()

    store.begin()
    store.decided(row.slot, [_asked(1201)])
    _hold(elsewhere()[:2] == (1, 1), "a reader does not see what is not committed")
    store.commit()
    _hold(elsewhere()[:2] == (2, 2), "a reader sees what is committed, from any thread")
    reader.close()


def _decisions_are_found(make: Callable[[], Store], store: Store) -> None:
    row, other = _model(store, "found"), _model(store, "found elsewhere")
    rows = [
        _asked(1301, number=1, request="a", request_hash=b"h", explored=True),
        _asked(1302, number=2, forwarded=False, expires_at=7.5),
    ]
    _hold(_batch(store, lambda: store.decided(row.slot, rows)) == 2, "decided gives the number of the first event")
    made = store.decision(_asked(1301).decision)
    _hold(
        made is not None and (made.slot, made.seq, made.request_hash) == (row.slot, 2, b"h"), "a decision has its row"
    )
    _hold(
        made is not None and (made.explored, made.forwarded, made.status) == (True, None, None),
        "a decision keeps whether it explored and was forwarded",
    )
    late = store.decision(_asked(1302).decision)
    _hold(
        late is not None and (late.forwarded, late.expires_at) == (False, 7.5), "a decision keeps the end of its window"
    )
    for id in ("", "x", "0" * 23, "F" * 24, " " * 24, "0" * 24, "é" * 24, "0" * 10_000):
        _hold(store.decision(id) is None, f"an id that nobody gave is unknown, whatever it is: {id[:30]!r}")
    _hold(store.requested(row.slot, "a") == made, "a decision is found by the app's own id")
    _hold(store.requested(other.slot, "a") is None, "the app's own ids are of one slot")
    _hold(store.requested(row.slot, "b") is None, "an id that the app never gave is unknown")
    event = store.event(row.slot, 3)
    _hold(
        event is not None and (event.type, event.decision) == ("decision", rows[1].decision), "a decision has an event"
    )
    counts = store.counts(row.slot)
    _hold(counts is not None and (counts.decisions, counts.number, counts.keys) == (2, 2, 0), "decisions are counted")
    for twice in (rows[0], _asked(1303, request="a")):
        store.begin()
        refused = False
        try:
            store.decided(row.slot, [twice])
        except Exception:
            refused = True
        store.rollback()
        _hold(refused, "the same decision's id, or the same request's id, is not entered twice")
    _batch(store, lambda: store.decided(other.slot, [_asked(1304, key=k, number=n) for k, n in (("b", 1),)]))
    _batch(store, lambda: store.decided(other.slot, [_asked(1305, key="a", number=1), _asked(1306, key="b", number=2)]))
    numbers = [store.last_number(other.slot, key) for key in ("a", "b", "c")]
    _hold(numbers == [1, 2, 0], "the last number of a learner is that of its key")
    _hold(store.last_number(row.slot, None) == 2, "the last number of a learner without keys is that of its slot")
    keyed = store.counts(other.slot)
    _hold(keyed is not None and (keyed.keys, keyed.decisions) == (2, 3), "keys are counted once")


def _feedback_counts_once(make: Callable[[], Store], store: Store) -> None:
    row, other = _model(store, "once"), _model(store, "once elsewhere")
    _batch(store, lambda: store.decided(row.slot, [_asked(1400 + n, expires_at=50.0) for n in range(4)]))
    told = [
        _told(1400, at=50.0),
        _told(1400, at=60.0),
        _told(1400, hash=b"other"),
        _told(1401, at=50.001),
        _told(1401, at=50.001),
        _told(1409),
        _told(1402, at=1.0, measure=0.5, position=3.0),
    ]
    verdicts = _batch(store, lambda: store.answered(row.slot, told))
    statuses = [verdict.status for verdict in verdicts]
    _hold(statuses[0] == "learnt", "feedback up to the end of the window is learnt")
    _hold(statuses[1] == "duplicate", "the same feedback again is a duplicate, in one batch and after the window too")
    _hold(statuses[2] == "conflict", "other feedback on an answered decision is a conflict")
    _hold(statuses[3] == "late", "feedback after the window is late")
    _hold(statuses[4] == "late", "late feedback sent again is late again")
    _hold(statuses[5] == "unknown", "feedback on a decision that is not there is unknown")
    _hold([verdicts[0].version, verdicts[6].version] == [1, 2], "every learnt feedback makes the next version")
    _hold([verdict.seq for verdict in verdicts] == [6, None, None, 7, None, None, 8], "what counts has an event")
    _hold(
        _batch(store, lambda: store.answered(other.slot, [_told(1403)]))[0].status == "unknown",
        "a decision of another slot is unknown",
    )
    again = _batch(store, lambda: store.answered(row.slot, [_told(1402), _told(1402, hash=b"x")]))
    _hold(
        [verdict.status for verdict in again] == ["duplicate", "conflict"], "a duplicate is known in a later batch too"
    )
    made = store.decision(_asked(1402).decision)
    facts = made is not None and (made.status, made.version, made.feedback_seq, made.measure, made.position)
    _hold(facts == ("learnt", 2, 8, 0.5, 3.0), "a decision knows its feedback's event, version and figures")
    late = store.decision(_asked(1401).decision)
    _hold(late is not None and (late.status, late.version) == ("late", None), "late feedback makes no version")
    made_by = [event.made for event in store.events(row.slot, 5)]
    _hold(made_by == [1, None, 2], "an event says which version it made")
    counts = store.counts(row.slot)
    _hold(counts is not None and (counts.version, counts.late) == (2, 1), "versions and late answers are counted")


def _the_fold_is_in_order(make: Callable[[], Store], store: Store) -> None:
    row = _model(store, "fold")
    keys = ["a", "b", "a", "a"]
    asked = [_asked(1500 + n, key=key, number=n + 1) for n, key in enumerate(keys)]
    _batch(store, lambda: store.decided(row.slot, asked))
    order = [(2, "a"), (0, "a"), (1, "b")]
    _batch(store, lambda: store.answered(row.slot, [_told(1500 + n, key=key) for n, key in order]))
    _batch(store, lambda: store.answered(row.slot, [_told(1503, key="a", at=1e9)]))
    steps = list(store.learnt(row.slot))
    _hold(
        [made.seq for _, made in steps] == [4, 2, 3],
        "what was learnt comes in the order of the feedback, not late ones",
    )
    _hold((steps[0][0].made, steps[0][0].body) == (1, b"told 1502"), "each step has its feedback")
    _hold(steps[0][1].body == b"asked 1502", "each step has its decision")
    _hold(
        [told.seq for told, _ in store.learnt(row.slot, 6)] == [7, 8], "what was learnt can be asked for after an event"
    )
    _hold([told.seq for told, _ in store.learnt(row.slot, 6, "a")] == [7], "what was learnt can be asked for by key")


def _states_are_kept(make: Callable[[], Store], store: Store) -> None:
    row = _model(store, "states")
    _batch(store, lambda: store.decided(row.slot, [_asked(1600 + n) for n in range(5)]))
    for seq in (2, 4, 6):
        store.publish(row.slot, None, seq, b"after %d" % seq)
    found = [(state.seq, state.content, state.own) for state in store.states(row.slot)]
    _hold(found[0] == (6, b"after 6", True), "the newest state of a learner comes first")
    _hold(
        [seq for seq, _, _ in found] == sorted((seq for seq, _, _ in found), reverse=True),
        "older states come after newer ones",
    )
    _batch(store, lambda: store.publish(row.slot, "ann", 3, b"first"))
    _batch(store, lambda: store.publish(row.slot, "ann", 5, b"second"))
    newest = next(iter(store.states(row.slot, "ann")))
    _hold((newest.seq, newest.content) == (5, b"second"), "a key's newest state replaces the one before")
    _hold(store.state_keys(row.slot) == ["ann"], "the keys with a state are known")
    _hold(not list(store.states(row.slot, "bob")), "a key without a state has none")
    reader = store.reader()
    _hold(next(iter(reader.states(row.slot, "ann"))).content == b"second", "readers see states too")
    reader.close()


def _tokens_are_looked_up(make: Callable[[], Store], store: Store) -> None:
    token = TokenRow("id1", b"digest of one", "admin,decide", "m", 3.0, None)
    _batch(store, lambda: store.add_token(token))
    _batch(store, lambda: store.add_token(TokenRow("id2", b"two", "admin", None, 2.0, None)))
    _hold(store.token(b"digest of one") == token, "a token is found by its digest")
    _hold(store.token(b"digest of on") is None, "another digest finds no token")
    _hold([each.id for each in store.tokens()] == ["id2", "id1"], "tokens come in the order of their making")
    _hold(_batch(store, lambda: store.revoke_token("id1", 8.0)) is True, "a valid token can be revoked")
    _hold(_batch(store, lambda: store.revoke_token("id1", 9.0)) is False, "a token is not revoked twice")
    _hold(_batch(store, lambda: store.revoke_token("nobody", 9.0)) is False, "a token that is not there is not revoked")
    found = store.token(b"digest of one")
    _hold(found is not None and found.revoked_at == 8.0, "a revoked token says when it ended")


def _a_probe_means_nothing(make: Callable[[], Store], store: Store) -> None:
    row = _model(store, "probed")
    before = store.counts(row.slot), store.models(), store.events(row.slot)
    for _ in range(3):
        _batch(store, store.probe)
    _hold((store.counts(row.slot), store.models(), store.events(row.slot)) == before, "a probe changes nothing")


def _what_is_committed_lasts(make: Callable[[], Store], store: Store) -> None:
    row = _model(store, "lasts")
    _batch(store, lambda: store.decided(row.slot, [_asked(1700, request="q"), _asked(1701, number=9)]))
    _batch(store, lambda: store.answered(row.slot, [_told(1700)]))
    known, events = copy.copy(store.counts(row.slot)), store.events(row.slot)
    store.begin()
    store.answered(row.slot, [_told(1701)])
    store.close()  # as a crash would: the batch is left open
    again = make()
    try:
        _hold(again.events(row.slot) == events, "what was committed is there after opening again, and nothing else")
        _hold(again.counts(row.slot) == known, "the counts are as they were committed")
        made = again.requested(row.slot, "q")
        _hold(made is not None and made.status == "learnt", "decisions and their feedback are there")
        _hold(again.last_number(row.slot, None) == 9, "the last number is there after opening again")
        verdict = _batch(again, lambda: again.answered(row.slot, [_told(1701), _told(1700)]))
        _hold([each.status for each in verdict] == ["learnt", "duplicate"], "what was not committed can be done again")
        _hold(Chain().follow(again.events(row.slot)) is None, "the chain goes on where it was")
    finally:
        again.close()


def _questions_are_answered(make: Callable[[], Store], store: Store) -> None:
    row = _model(store, "looks")
    answers_named_questions(store, row.slot, _batch)


_LAWS: tuple[Law, ...] = (
    _models_are_kept,
    _events_have_no_gaps,
    _a_batch_is_all_or_nothing,
    _a_command_is_undone_alone,
    _readers_see_what_is_committed,
    _decisions_are_found,
    _feedback_counts_once,
    _the_fold_is_in_order,
    _states_are_kept,
    _tokens_are_looked_up,
    _a_probe_means_nothing,
    _what_is_committed_lasts,
    _questions_are_answered,
)
