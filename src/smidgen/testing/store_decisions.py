"""Laws of a store: decisions, feedback, the fold, states, tokens, figures."""

from __future__ import annotations

import functools
from collections.abc import Callable

import msgspec

from smidgen.service.log.events import Chain
from smidgen.service.storage.protocol import Store
from smidgen.service.storage.records import TokenRow
from smidgen.testing.laws import hold
from smidgen.testing.store_looks import answers_named_questions
from smidgen.testing.store_play import asked, batch, feedback, model


def decisions_are_found(make: Callable[[], Store], store: Store) -> None:
    """Decisions are found by their ids and by the app's own."""
    row, other = model(store, "found"), model(store, "found elsewhere")
    rows = [
        asked(1301, number=1, request="a", request_hash=b"h", explored=True),
        asked(1302, number=2, forwarded=False, expires_at=7.5),
    ]
    hold(batch(store, lambda: store.decided(row.shard, rows)) == 2, "decided gives the number of the first event")
    made = store.decision(asked(1301).decision)
    hold(
        made is not None and (made.shard, made.seq, made.request_hash) == (row.shard, 2, b"h"), "a decision has its row"
    )
    hold(
        made is not None and (made.explored, made.forwarded, made.status) == (True, None, None),
        "a decision keeps whether it explored and was forwarded",
    )
    late = store.decision(asked(1302).decision)
    hold(
        late is not None and (late.forwarded, late.expires_at) == (False, 7.5), "a decision keeps the end of its window"
    )
    for id in ("", "x", "0" * 23, "F" * 24, " " * 24, "0" * 24, "é" * 24, "0" * 10_000):
        hold(store.decision(id) is None, f"an id that nobody gave is unknown, whatever it is: {id[:30]!r}")
    hold(store.requested(row.shard, "a") == made, "a decision is found by the app's own id")
    hold(store.requested(other.shard, "a") is None, "the app's own ids are of one shard")
    hold(store.requested(other.shard, "a", row.shard) == made, "they are looked for in several shards at once")
    hold(store.requested(row.shard, "b") is None, "an id that the app never gave is unknown")
    event = store.event(row.shard, 3)
    hold(
        event is not None and (event.type, event.decision) == ("decision", rows[1].decision), "a decision has an event"
    )
    counts = store.counts(row.shard)
    hold(counts is not None and (counts.decisions, counts.number, counts.keys) == (2, 2, 0), "decisions are counted")
    for twice in (rows[0], asked(1303, request="a")):
        store.begin()
        refused = False
        try:
            store.decided(row.shard, [twice])
            store.commit()  # a store may say so only now
        except Exception:
            refused = True
        store.rollback()
        hold(refused, "the same decision's id, or the same request's id, is not entered twice")
    batch(store, lambda: store.decided(other.shard, [asked(1304, key="b", number=1)]))
    batch(store, lambda: store.decided(other.shard, [asked(1305, key="a", number=1), asked(1306, key="b", number=2)]))
    numbers = [store.last_number(other.shard, key) for key in ("a", "b", "c")]
    hold(numbers == [1, 2, 0], "the last number of a learner is that of its key")
    hold(store.last_number(row.shard, None) == 2, "the last number of a learner without keys is that of its shard")
    keyed = store.counts(other.shard)
    hold(keyed is not None and (keyed.keys, keyed.decisions) == (2, 3), "keys are counted once")


def feedback_counts_once(make: Callable[[], Store], store: Store) -> None:
    """The first feedback on a decision counts, once, in time."""
    row, other = model(store, "once"), model(store, "once elsewhere")
    batch(store, lambda: store.decided(row.shard, [asked(1400 + n, expires_at=50.0) for n in range(4)]))
    told = [
        feedback(1400, at=50.0),
        feedback(1400, at=60.0),
        feedback(1400, hash=b"other"),
        feedback(1401, at=50.001),
        feedback(1401, at=50.001),
        feedback(1409),
        feedback(1402, at=1.0, measure=0.5, position=3.0),
    ]
    verdicts = batch(store, lambda: store.answered(row.shard, told))
    statuses = [verdict.status for verdict in verdicts]
    hold(statuses[0] == "learnt", "feedback up to the end of the window is learnt")
    hold(statuses[1] == "duplicate", "the same feedback again is a duplicate, in one batch and after the window too")
    hold(statuses[2] == "conflict", "other feedback on an answered decision is a conflict")
    hold(statuses[3] == "late", "feedback after the window is late")
    hold(statuses[4] == "late", "late feedback sent again is late again")
    hold(statuses[5] == "unknown", "feedback on a decision that is not there is unknown")
    hold([verdicts[0].version, verdicts[6].version] == [1, 2], "every learnt feedback makes the next version")
    hold([verdict.seq for verdict in verdicts] == [6, None, None, 7, None, None, 8], "what counts has an event")
    hold(
        batch(store, lambda: store.answered(other.shard, [feedback(1403)]))[0].status == "unknown",
        "a decision of another shard is unknown",
    )
    again = batch(store, lambda: store.answered(row.shard, [feedback(1402), feedback(1402, hash=b"x")]))
    hold(
        [verdict.status for verdict in again] == ["duplicate", "conflict"], "a duplicate is known in a later batch too"
    )
    made = store.decision(asked(1402).decision)
    facts = made is not None and (made.status, made.version, made.feedback_seq, made.measure, made.position)
    hold(facts == ("learnt", 2, 8, 0.5, 3.0), "a decision knows its feedback's event, version and figures")
    late = store.decision(asked(1401).decision)
    hold(late is not None and (late.status, late.version) == ("late", None), "late feedback makes no version")
    made_by = [event.made for event in store.events(row.shard, 5)]
    hold(made_by == [1, None, 2], "an event says which version it made")
    counts = store.counts(row.shard)
    hold(counts is not None and (counts.version, counts.late) == (2, 1), "versions and late answers are counted")


def the_fold_is_in_order(make: Callable[[], Store], store: Store) -> None:
    """What was learnt comes in the order of the log."""
    row = model(store, "fold")
    keys = ["a", "b", "a", "a"]
    made = [asked(1500 + n, key=key, number=n + 1) for n, key in enumerate(keys)]
    batch(store, lambda: store.decided(row.shard, made))
    order = [(2, "a"), (0, "a"), (1, "b")]
    batch(store, lambda: store.answered(row.shard, [feedback(1500 + n, key=key) for n, key in order]))
    batch(store, lambda: store.answered(row.shard, [feedback(1503, key="a", at=1e9)]))
    steps = list(store.changes(row.shard))
    hold(
        [made.seq for _, made in steps if made is not None] == [4, 2, 3],
        "what was learnt comes in the order of the feedback, not late ones",
    )
    hold((steps[0][0].made, steps[0][0].body) == (1, b"told 1502"), "each step has its feedback")
    first = steps[0][1]
    hold(first is not None and first.body == b"asked 1502", "each step has its decision")
    hold(
        [told.seq for told, _ in store.changes(row.shard, 6)] == [7, 8],
        "what was learnt can be asked for after an event",
    )
    hold([told.seq for told, _ in store.changes(row.shard, 6, "a")] == [7], "what was learnt can be asked for by key")


def states_are_kept(make: Callable[[], Store], store: Store) -> None:
    """States of learners are kept, newest first."""
    row = model(store, "states")
    batch(store, lambda: store.decided(row.shard, [asked(1600 + n) for n in range(5)]))
    for seq in (2, 4, 6):
        store.publish(row.shard, None, seq, b"after %d" % seq)
    found = [(state.seq, state.content, state.own) for state in store.states(row.shard)]
    hold(found[0] == (6, b"after 6", True), "the newest state of a learner comes first")
    hold(
        [seq for seq, _, _ in found] == sorted((seq for seq, _, _ in found), reverse=True),
        "older states come after newer ones",
    )
    batch(store, lambda: store.publish(row.shard, "ann", 3, b"first"))
    batch(store, lambda: store.publish(row.shard, "ann", 5, b"second"))
    newest = next(iter(store.states(row.shard, "ann")))
    hold((newest.seq, newest.content) == (5, b"second"), "a key's newest state replaces the one before")
    hold(store.state_keys(row.shard) == ["ann"], "the keys with a state are known")
    hold(not list(store.states(row.shard, "bob")), "a key without a state has none")
    reader = store.reader()
    hold(next(iter(reader.states(row.shard, "ann"))).content == b"second", "readers see states too")
    reader.close()


def tokens_are_looked_up(make: Callable[[], Store], store: Store) -> None:
    """Tokens are found by their digests."""
    token = TokenRow("id1", b"digest of one", "admin,decide", "m", 3.0, None)
    batch(store, lambda: store.add_token(token))
    batch(store, lambda: store.add_token(TokenRow("id2", b"two", "admin", None, 2.0, None)))
    hold(store.token(b"digest of one") == token, "a token is found by its digest")
    hold(store.token(b"digest of on") is None, "another digest finds no token")
    hold([each.id for each in store.tokens()] == ["id2", "id1"], "tokens come in the order of their making")
    hold(batch(store, lambda: store.revoke_token("id1", 8.0)) is True, "a valid token can be revoked")
    hold(batch(store, lambda: store.revoke_token("id1", 9.0)) is False, "a token is not revoked twice")
    hold(batch(store, lambda: store.revoke_token("nobody", 9.0)) is False, "a token that is not there is not revoked")
    found = store.token(b"digest of one")
    hold(found is not None and found.revoked_at == 8.0, "a revoked token says when it ended")
    named = TokenRow("id3", b"three", "read", None, 4.0, None, "Grafana", 90.0, None)
    batch(store, lambda: store.add_token(named))
    hold(store.token(b"three") == named, "a token keeps its name and its expiry")
    for at in (7.0, 5.0):
        batch(store, functools.partial(store.use_token, "id3", at))
    hold(store.tokens()[-1] == named._replace(used_at=7.0), "the last use of a token is kept, and never goes back")
    batch(store, lambda: store.use_token("nobody", 9.0))


def events_of_operators_are_signed(make: Callable[[], Store], store: Store) -> None:
    """Events that operators cause keep the id of the token; those of apps do not."""
    row = model(store, "signed")

    def write() -> None:
        store.author = "0badcafe"
        store.append(row.shard, "amended", 2.0, msgspec.msgpack.encode({"changes": {"a": 1}}))
        store.append(row.shard, "archived", 3.0, None)
        store.append(row.shard, "shown", 4.0, None)
        store.author = None
        store.append(row.shard, "archived", 5.0, None)

    batch(store, write)
    bodies = [event.body for event in store.events(row.shard)][-4:]
    told = [None if body is None else msgspec.msgpack.decode(body) for body in bodies]
    by = {"token_id": "0badcafe"}
    hold(told == [{"changes": {"a": 1}} | by, by, None, None], "an event of an operator names the token")
    hold(Chain().follow(store.events(row.shard)) is None, "the chain holds over the token's id")


def questions_are_answered(make: Callable[[], Store], store: Store) -> None:
    """Named questions have their answers."""
    row = model(store, "looks")
    answers_named_questions(store, row.shard, batch)
