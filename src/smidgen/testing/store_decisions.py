"""Laws of a store: decisions, decisions of challengers and shadows, feedback, the fold, states, tokens, figures.

`make_model`, `new_decision`, `new_feedback` and `in_batch` make a small log to try a store with. The named queries of a
store are compared with answers worked out here.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import msgspec

from smidgen.service.log.events import Chain
from smidgen.service.storage.protocol import Question, Store
from smidgen.service.storage.records import ModelRow, NewDecision, NewFeedback, TokenRow
from smidgen.testing.laws import hold


def make_model(store: Store, name: str) -> ModelRow:
    """A model with its first event, committed."""
    store.begin()
    row = store.create(name, b'{"of":1}', {"learner": name}, 5.0)
    store.append(row.shard, "created", 5.0, b"made")
    store.commit()
    return row


def new_decision(place: int, **changes: Any) -> NewDecision:
    """A decision; its place among the contract's decisions is its id."""
    made = NewDecision(f"{place:024x}", 10.0, 100.0, None, 1, None, None, False, None, b"asked %d" % place)
    return made._replace(**changes)


def new_feedback(place: int, **changes: Any) -> NewFeedback:
    """Feedback on the decision of that place."""
    made = NewFeedback(f"{place:024x}", 20.0, None, b"hash %d" % place, 1.0, None, b"answer %d" % place)
    return made._replace(**changes)


def in_batch(store: Store, command: Callable[[], Any]) -> Any:
    """Run a command in a batch and commit it."""
    store.begin()
    store.savepoint()
    answer = command()
    store.release()
    store.commit()
    return answer


def answers_named_questions(store: Store, shard: int, batch: Callable[[Store, Callable[[], Any]], Any]) -> None:
    """Play a small log whose figures are known, and ask every question.

    Parameters
    ----------
    store, shard
        An empty shard of it, with its first event.
    batch
        Commits one command.
    """
    keys = ["ab", "a", "b", "ab", "ac", "a"]
    asked = [
        NewDecision(
            f"{1800 + n:024x}", float(n), 1e6, key, n + 1, None, None, n % 2 == 0, None if n == 1 else n > 2, b""
        )
        for n, key in enumerate(keys)
    ]
    batch(store, lambda: store.write_decisions(shard, asked))  # events 2 … 7
    figures: list[tuple[Any, ...]] = [
        (3, 1.0, 2.0),
        (0, 0.0, None),
        (4, None, 1.0),
        (1, 0.5, 4.0),
    ]  # decision, measure, position
    feedback = [
        NewFeedback(asked[n].decision, 100.0 + n, asked[n].key, b"", measure, position, b"")
        for n, measure, position in figures
    ]
    batch(store, lambda: store.write_feedback(shard, feedback))  # events 8 … 11, versions 1 … 4
    batch(
        store, lambda: store.write_feedback(shard, [NewFeedback(asked[5].decision, 2e6, "a", b"", None, None, b"")])
    )  # late

    def look(question: Question, expected: list[tuple[Any, ...]], **values: Any) -> None:
        for reading in (store, reader):
            found = [tuple(row) for row in reading.query(question, shard, **values)]
            if len(found) != len(expected) or not all(map(_same_answers, found, expected)):
                raise AssertionError(f"the question {question!r} ({values}) is answered with {found}, not {expected}")

    reader = store.reader()
    try:
        blocks = [(0, 2, 2, 1.0, 1.0, 1, 2.0, 1), (1, 2, 1, 0.5, 0.25, 2, 5.0, 3)]
        look("learnt_blocks", blocks, after=0, upto=4, block=2)
        look("learnt_blocks", blocks[1:], after=2, upto=4, block=2)
        look("learnt_blocks", [(0, 1, 1, 1.0, 1.0, 1, 2.0, 0)], after=0, upto=1, block=5)
        made = [(0, 2, 1.0, 1, 0.0), (1, 3, 2.0, 3, 2.0), (2, 1, 0.0, 1, 1.0)]
        look("made_blocks", made, after=0, upto=12, block=3)
        look("made_blocks", made[1:2], after=3, upto=6, block=3)
        look("waits", [(100.0,), (100.0,), (100.0,), (100.0,)], after=0)
        look("waits", [(100.0,)], after=3)
        look("measures", [(1.0,), (0.0,), (0.5,)], after=0)
        look("measures", [(0.5,)], after=2)
        look("keys", [("a",), ("ab",), ("ac",), ("b",)], prefix="", limit=50)
        look("keys", [("ab",)], prefix="ab", limit=50)
        look("keys", [("a",), ("ab",)], prefix="a", limit=2)
        look("keys", [], prefix="z", limit=50)
        look("tally", [(6, 4, 1, 0)])
        latest = [store.decision(asked[n].decision) for n in (3, 2)]
        look("lately", [_outcome(asked[n], n, figures) for n in (5, 4, 3)], limit=3)
        look("answers", [_outcome(asked[n], n, figures) for n in (1, 4, 0)], limit=3)
        look("open", [(0, 0)], now=1e6, limit=9)  # of what was forwarded one is answered late, the others in time
        look("ended", [], now=1e6, limit=3)
        look("ended", [_outcome(asked[n], n, figures) for n in (5, 4)], now=1.5e6, limit=2)
        look("latest", [tuple(row) for row in latest if row is not None], before=6, limit=2)
        batch(store, lambda: store.write_decisions(shard, [asked[5]._replace(decision=f"{1899:024x}", shown=False)]))
        look("lately", [_outcome(asked[5], 5, figures)], limit=1)  # what was not shown does not count
        look("open", [(0, 1)], now=1e6, limit=9)
        look("open", [(0, 0)], now=1.5e6, limit=9)
        look("ended", [_outcome(asked[5], 5, figures)], now=1.5e6, limit=1)
        hidden = [asked[5]._replace(decision=f"{1890 + n:024x}", shown=False) for n in range(4)]
        batch(store, lambda: store.write_decisions(shard, hidden))
        look("lately", [], limit=1)  # nor is it looked through without end
        look("ended", [], now=1.5e6, limit=1)
        look("lately", [_outcome(asked[n], n, figures) for n in (5, 4)], limit=2)
        fresh = [asked[1]._replace(decision=f"{1880 + n:024x}", number=9 + n) for n in range(2)]
        batch(store, lambda: store.write_decisions(shard, fresh))
        look("open", [(2, 5)], now=1e6, limit=99)
        look("open", [(1, 0)], now=1e6, limit=1)
    finally:
        reader.close()


def _outcome(asked: NewDecision, n: int, figures: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Outcome of the n-th decision of the log."""
    head = (n + 2, asked.at, asked.key, asked.expires_at, asked.explored, asked.forwarded)
    answered = {each[0]: (place + 8, place + 1, each[1], "feedback", 100.0 + n) for place, each in enumerate(figures)}
    late = (12, None, None, "feedback", 2e6)
    return (*head, *answered.get(n, late if n == 5 else (None, None, None, None, None)), False)


def _same_answers(found: tuple[Any, ...], expected: tuple[Any, ...]) -> bool:
    """Equal but for rounding."""
    if len(found) != len(expected):
        return False
    return all(
        math.isclose(one, other) if isinstance(other, float) and one is not None else one == other
        for one, other in zip(found, expected, strict=True)
    )


def decisions_are_found(make: Callable[[], Store], store: Store) -> None:
    """Decisions are found by their ids and by the app's own."""
    row, other = make_model(store, "found"), make_model(store, "found elsewhere")
    rows = [
        new_decision(1301, number=1, request="a", request_hash=b"h", explored=True),
        new_decision(1302, number=2, forwarded=False, expires_at=7.5),
    ]
    hold(
        in_batch(store, lambda: store.write_decisions(row.shard, rows)) == 2,
        "decided gives the number of the first event",
    )
    made = store.decision(new_decision(1301).decision)
    hold(
        made is not None and (made.shard, made.seq, made.request_hash) == (row.shard, 2, b"h"), "a decision has its row"
    )
    hold(
        made is not None and (made.explored, made.forwarded, made.status) == (True, None, None),
        "a decision keeps whether it explored and was forwarded",
    )
    late = store.decision(new_decision(1302).decision)
    hold(
        late is not None and (late.forwarded, late.expires_at) == (False, 7.5), "a decision keeps the end of its window"
    )
    for id in ("", "x", "0" * 23, "F" * 24, " " * 24, "0" * 24, "é" * 24, "0" * 10_000):
        hold(store.decision(id) is None, f"an id that nobody gave is unknown, whatever it is: {id[:30]!r}")
    hold(store.find_request(row.shard, "a") == made, "a decision is found by the app's own id")
    hold(store.find_request(other.shard, "a") is None, "the app's own ids are of one shard")
    hold(store.find_request(other.shard, "a", row.shard) == made, "they are looked for in several shards at once")
    hold(store.find_request(row.shard, "b") is None, "an id that the app never gave is unknown")
    event = store.event(row.shard, 3)
    hold(
        event is not None and (event.type, event.decision) == ("decision", rows[1].decision), "a decision has an event"
    )
    counts = store.counts(row.shard)
    hold(counts is not None and (counts.decisions, counts.number, counts.keys) == (2, 2, 0), "decisions are counted")
    for twice in (rows[0], new_decision(1303, request="a")):
        store.begin()
        refused = False
        try:
            store.write_decisions(row.shard, [twice])
            store.commit()  # a store may say so only now
        except Exception:
            refused = True
        store.rollback()
        hold(refused, "the same decision's id, or the same request's id, is not entered twice")
    in_batch(store, lambda: store.write_decisions(other.shard, [new_decision(1304, key="b", number=1)]))
    in_batch(
        store,
        lambda: store.write_decisions(
            other.shard, [new_decision(1305, key="a", number=1), new_decision(1306, key="b", number=2)]
        ),
    )
    numbers = [store.last_number(other.shard, key) for key in ("a", "b", "c")]
    hold(numbers == [1, 2, 0], "the last number of a learner is that of its key")
    hold(store.last_number(row.shard, None) == 2, "the last number of a learner without keys is that of its shard")
    keyed = store.counts(other.shard)
    hold(keyed is not None and (keyed.keys, keyed.decisions) == (2, 3), "keys are counted once")


def feedback_counts_once(make: Callable[[], Store], store: Store) -> None:
    """The first feedback on a decision counts, once, in time."""
    row, other = make_model(store, "once"), make_model(store, "once elsewhere")
    in_batch(
        store, lambda: store.write_decisions(row.shard, [new_decision(1400 + n, expires_at=50.0) for n in range(4)])
    )
    feedback = [
        new_feedback(1400, at=50.0),
        new_feedback(1400, at=60.0),
        new_feedback(1400, hash=b"other"),
        new_feedback(1401, at=50.001),
        new_feedback(1401, at=50.001),
        new_feedback(1409),
        new_feedback(1402, at=1.0, measure=0.5, position=3.0),
    ]
    verdicts = in_batch(store, lambda: store.write_feedback(row.shard, feedback))
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
        in_batch(store, lambda: store.write_feedback(other.shard, [new_feedback(1403)]))[0].status == "unknown",
        "a decision of another shard is unknown",
    )
    again = in_batch(
        store, lambda: store.write_feedback(row.shard, [new_feedback(1402), new_feedback(1402, hash=b"x")])
    )
    hold(
        [verdict.status for verdict in again] == ["duplicate", "conflict"], "a duplicate is known in a later batch too"
    )
    made = store.decision(new_decision(1402).decision)
    facts = made is not None and (made.status, made.version, made.feedback_seq, made.measure, made.position)
    hold(facts == ("learnt", 2, 8, 0.5, 3.0), "a decision knows its feedback's event, version and figures")
    late = store.decision(new_decision(1401).decision)
    hold(late is not None and (late.status, late.version) == ("late", None), "late feedback makes no version")
    made_by = [event.made for event in store.events(row.shard, 5)]
    hold(made_by == [1, None, 2], "an event says which version it made")
    counts = store.counts(row.shard)
    hold(counts is not None and (counts.version, counts.late) == (2, 1), "versions and late answers are counted")


def the_fold_is_in_order(make: Callable[[], Store], store: Store) -> None:
    """Learned decisions come in the order of the log."""
    row = make_model(store, "fold")
    keys = ["a", "b", "a", "a"]
    made = [new_decision(1500 + n, key=key, number=n + 1) for n, key in enumerate(keys)]
    in_batch(store, lambda: store.write_decisions(row.shard, made))
    order = [(2, "a"), (0, "a"), (1, "b")]
    in_batch(store, lambda: store.write_feedback(row.shard, [new_feedback(1500 + n, key=key) for n, key in order]))
    in_batch(store, lambda: store.write_feedback(row.shard, [new_feedback(1503, key="a", at=1e9)]))
    steps = list(store.changes(row.shard))
    hold(
        [made.seq for _, made in steps if made is not None] == [4, 2, 3],
        "what was learnt comes in the order of the feedback, not late ones",
    )
    hold((steps[0][0].made, steps[0][0].body) == (1, b"answer 1502"), "each step has its feedback")
    first = steps[0][1]
    hold(first is not None and first.body == b"asked 1502", "each step has its decision")
    hold(
        [event.seq for event, _ in store.changes(row.shard, 6)] == [7, 8],
        "what was learnt can be asked for after an event",
    )
    hold([event.seq for event, _ in store.changes(row.shard, 6, "a")] == [7], "what was learnt can be asked for by key")


def states_are_kept(make: Callable[[], Store], store: Store) -> None:
    """States of learners are kept, newest first."""
    row = make_model(store, "states")
    in_batch(store, lambda: store.write_decisions(row.shard, [new_decision(1600 + n) for n in range(5)]))
    for seq in (2, 4, 6):
        store.publish(row.shard, None, seq, b"after %d" % seq)
    found = [(state.seq, state.content, state.own) for state in store.states(row.shard)]
    hold(found[0] == (6, b"after 6", True), "the newest state of a learner comes first")
    hold(
        [seq for seq, _, _ in found] == sorted((seq for seq, _, _ in found), reverse=True),
        "older states come after newer ones",
    )
    in_batch(store, lambda: store.publish(row.shard, "ann", 3, b"first"))
    in_batch(store, lambda: store.publish(row.shard, "ann", 5, b"second"))
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
    in_batch(store, lambda: store.add_token(token))
    in_batch(store, lambda: store.add_token(TokenRow("id2", b"two", "admin", None, 2.0, None)))
    hold(store.token(b"digest of one") == token, "a token is found by its digest")
    hold(store.token(b"digest of on") is None, "another digest finds no token")
    hold([each.id for each in store.tokens()] == ["id2", "id1"], "tokens come in the order of their making")
    hold(in_batch(store, lambda: store.revoke_token("id1", 8.0)) is True, "a valid token can be revoked")
    hold(in_batch(store, lambda: store.revoke_token("id1", 9.0)) is False, "a token is not revoked twice")
    hold(
        in_batch(store, lambda: store.revoke_token("nobody", 9.0)) is False, "a token that is not there is not revoked"
    )
    found = store.token(b"digest of one")
    hold(found is not None and found.revoked_at == 8.0, "a revoked token says when it ended")
    named = TokenRow("id3", b"three", "read", None, 4.0, None, "Grafana", 90.0, None)
    in_batch(store, lambda: store.add_token(named))
    hold(store.token(b"three") == named, "a token keeps its name and its expiry")
    for at in (7.0, 5.0):
        in_batch(store, functools.partial(store.use_token, "id3", at))
    hold(store.tokens()[-1] == named._replace(used_at=7.0), "the last use of a token is kept, and never goes back")
    in_batch(store, lambda: store.use_token("nobody", 9.0))


def events_of_operators_are_signed(make: Callable[[], Store], store: Store) -> None:
    """Events that operators cause keep the id of the token; those of apps do not."""
    row = make_model(store, "signed")

    def write() -> None:
        store.author = "0badcafe"
        store.append(row.shard, "amended", 2.0, msgspec.msgpack.encode({"changes": {"a": 1}}))
        store.append(row.shard, "archived", 3.0, None)
        store.append(row.shard, "shown", 4.0, None)
        store.author = None
        store.append(row.shard, "archived", 5.0, None)

    in_batch(store, write)
    bodies = [event.body for event in store.events(row.shard)][-4:]
    fields = [None if body is None else msgspec.msgpack.decode(body) for body in bodies]
    by = {"token_id": "0badcafe"}
    hold(fields == [{"changes": {"a": 1}} | by, by, None, None], "an event of an operator names the token")
    hold(Chain().check_all(store.events(row.shard)) is None, "the chain holds over the token's id")


def questions_are_answered(make: Callable[[], Store], store: Store) -> None:
    """Named questions have their answers."""
    row = make_model(store, "looks")
    answers_named_questions(store, row.shard, in_batch)


def followers_of_decisions_are_found(make: Callable[[], Store], store: Store) -> None:
    """A decision that another model made next to one that was shown is found by that one, and compared with it."""
    shown, other, third = (make_model(store, f"follower {n}") for n in range(3))
    out = [f"{5600 + n:024x}" for n in range(3)]
    in_batch(
        store, lambda: store.write_decisions(shown.shard, [new_decision(5600 + n, number=n + 1) for n in range(3)])
    )
    made = [
        new_decision(5610, number=1, shown=False, beside=out[0], agreed=True, target=0.5, chance=0.25),
        new_decision(5611, number=2, shown=False, beside=out[1], agreed=False, share=0.25),
    ]
    in_batch(store, lambda: store.write_decisions(other.shard, made))
    in_batch(store, lambda: store.write_decisions(third.shard, [new_decision(5620, shown=False, beside=out[0])]))
    in_batch(store, lambda: store.write_feedback(shown.shard, [new_feedback(5600, measure=0.75)]))
    for view in (store, make()):
        found = [(row.id, row.shard, row.beside, row.agreed) for row in view.follower_decisions(out[0])]
        hold(
            found == [(f"{5610:024x}", other.shard, out[0], True), (f"{5620:024x}", third.shard, out[0], None)],
            "the decisions next to the one shown are found by it, by shard",
        )
        hold(
            not view.follower_decisions(out[2]) and not view.follower_decisions("x"),
            "decisions without followers have none, whatever is asked for",
        )
        pairs = [tuple(row) for row in view.query("pairs", other.shard, after=0, limit=10)]
        expected = [
            (2, True, 0.5, 0.25, shown.shard, 2, 100.0, True, None, None, 5, 0.75, None, None),
            (3, False, None, None, shown.shard, 3, 100.0, True, None, None, None, None, None, 0.25),
        ]
        hold(pairs == expected, "a pair has what both came to")
        hold(view.query("pairs", other.shard, after=2, limit=10)[0][0] == 3, "pairs after an event can be asked for")
        hold(len(view.query("pairs", other.shard, after=0, limit=1)) == 1, "and at most as many as the limit")
        hold(
            [tuple(row) for row in view.query("agreement", other.shard, limit=9)] == [(2, 1.0)], "agreement is counted"
        )
        hold([tuple(row) for row in view.query("agreement", other.shard, limit=1)] == [(1, 0.0)], "of the latest")
        hold([tuple(row) for row in view.query("agreement", third.shard, limit=9)] == [(0, 0.0)], "where there is any")
        hold(not view.query("lately", other.shard, limit=9), "decisions of followers count nowhere")
        if view is not store:
            view.close()


def followers_are_taught_once(make: Callable[[], Store], store: Store) -> None:
    """Feedback for the decision that was shown closes the shadow decision, once, and can be retracted."""
    shown, other = make_model(store, "write_follower_update"), make_model(store, "taught follower")
    in_batch(store, lambda: store.write_decisions(shown.shard, [new_decision(5650)]))
    in_batch(
        store, lambda: store.write_decisions(other.shard, [new_decision(5660, shown=False, beside=f"{5650:024x}")])
    )
    plain = in_batch(store, lambda: store.write_follower_update(shown.shard, new_feedback(5650)))
    hold((plain.status, plain.seq) == ("unknown", None), "a decision that was shown is not taught as a follower")
    foreign = in_batch(store, lambda: store.write_follower_update(shown.shard, new_feedback(5660)))
    hold(foreign.status == "unknown", "nor is one of another shard")
    verdicts = [
        in_batch(store, lambda: store.write_follower_update(other.shard, new_feedback(5660, key="k"))) for _ in range(2)
    ]
    hold([verdict.status for verdict in verdicts] == ["learnt", "duplicate"], "a follower's decision is taught once")
    hold(verdicts[0].version == 1 and verdicts[1].version == 1, "that makes a version, once")
    for view in (store, make()):
        row = view.decision(f"{5660:024x}")
        hold(
            row is not None and (row.status, row.version, row.measure, row.shown) == ("learnt", 1, None, False),
            "it is closed, was never shown, and has no measure",
        )
        event = view.event(other.shard, verdicts[0].seq or 0)
        kept = (event.type, event.made, event.decision, event.key, event.body) if event is not None else None
        hold(kept == ("taught", 1, f"{5660:024x}", "k", b"answer 5660"), "the event says what it is about")
        changes = [(change.type, about is not None) for change, about in view.changes(other.shard)]
        hold(changes == [("taught", True)], "it comes with its decision among all changes of weights")
        counts = view.counts(other.shard)
        hold(counts is not None and (counts.version, counts.answered) == (1, 0), "nobody has answered it")
        if view is not store:
            view.close()
    back = in_batch(store, lambda: store.write_retraction(other.shard, f"{5660:024x}", 30.0, None))
    hold((back.status, back.version) == ("learnt", 2), "what it was taught can be taken back")
    again = in_batch(store, lambda: store.write_follower_update(other.shard, new_feedback(5660)))
    hold((again.status, again.version) == ("learnt", 3), "and then be taught again")
    counts = store.counts(other.shard)
    hold(counts is not None and counts.answered == 0, "answers are not counted by that")
    hold(Chain().check_all(store.events(other.shard)) is None, "the chain holds over it")
