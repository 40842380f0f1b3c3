"""Laws of a store: what closes a decision or opens it again, what else changes weights, logs that begin with a base."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from smidgen.service.log import codec
from smidgen.service.log.checkpoint import CarriedDecision, Checkpoint, CheckpointState, state_digest
from smidgen.service.log.events import KEPT, Chain, original_digest, present_digest
from smidgen.service.storage.protocol import Store
from smidgen.service.storage.records import NewExpiry
from smidgen.testing.laws import hold
from smidgen.testing.store_decisions import in_batch, make_model, new_decision, new_feedback


def _silence(place: int, **changes: Any) -> NewExpiry:
    return NewExpiry(f"{place:024x}", 101.0, None, 0.0, None, b"silence %d" % place)._replace(**changes)


def silence_is_learnt_once(make: Callable[[], Store], store: Store) -> None:
    """A window that closes without feedback is noticed, and learnt once, if the decision waits for that."""
    row, other = make_model(store, "silence"), make_model(store, "silence elsewhere")
    made = [
        new_decision(2000, waits=True, expires_at=100.0),
        new_decision(2001, waits=True, expires_at=90.0, number=2),
        new_decision(2002, expires_at=80.0, number=3),
        new_decision(2003, waits=True, shown=False, expires_at=70.0, number=4),
        new_decision(2004, waits=True, expires_at=95.0, number=5),
    ]
    in_batch(store, lambda: store.write_decisions(row.shard, made))
    in_batch(store, lambda: store.write_feedback(row.shard, [new_feedback(2004)]))
    due = [found.id for found in store.due_decisions(100.5) if found.shard == row.shard]
    hold(
        due == [f"{2001:024x}", f"{2000:024x}"], "what is due: waits, counts, unanswered, over; in the order of its end"
    )
    hold(
        not [found for found in store.due_decisions(90.0) if found.shard == row.shard],
        "a window is over after its end, not at it",
    )
    hold(len(store.due_decisions(1e9, 1)) == 1, "at most one is returned with a limit of one")
    hold(
        in_batch(store, lambda: store.write_expiries(other.shard, [_silence(2000)]))[0].status == "unknown",
        "a decision of another shard is unknown",
    )
    early = in_batch(store, lambda: store.write_expiries(row.shard, [_silence(2000, at=100.0)]))[0]
    hold((early.status, early.seq) == ("duplicate", None), "silence within the window is not written")
    verdicts = in_batch(
        store, lambda: store.write_expiries(row.shard, [_silence(2001), _silence(2001), _silence(2002), _silence(2004)])
    )
    hold(
        [verdict.status for verdict in verdicts] == ["learnt", *["duplicate"] * 3],
        "silence is learnt once, where it is due",
    )
    hold(verdicts[0].version == 2, "silence that is learnt makes a version")
    closed = store.decision(f"{2001:024x}")
    hold(closed is not None and (closed.status, closed.version) == ("expired", 2), "the decision says that it expired")
    event = store.event(row.shard, verdicts[0].seq or 0)
    kept = (event.type, event.made, event.body) if event is not None else None
    hold(kept == ("expired", 2, b"silence 2001"), "the event says which version it made")
    unlearnt = in_batch(store, lambda: store.write_expiries(row.shard, [_silence(2000, refused=True), _silence(2000)]))
    hold(
        [(verdict.status, verdict.version) for verdict in unlearnt] == [("late", 2), ("duplicate", 2)],
        "silence that was refused is written once, and makes no version",
    )
    closed, event = store.decision(f"{2000:024x}"), store.event(row.shard, unlearnt[0].seq or 0)
    hold(
        closed is not None and (closed.status, closed.version, closed.is_due) == ("refused", None, False),
        "the decision says that it was refused, and is not due",
    )
    hold(event is not None and (event.type, event.made) == ("expired", None), "so does its event")
    late = in_batch(
        store, lambda: store.write_feedback(row.shard, [new_feedback(2001, at=102.0), new_feedback(2001, at=103.0)])
    )
    hold([verdict.status for verdict in late] == ["late", "late"], "feedback after learnt silence is late")
    hold(late[0].seq is not None and late[1].seq is None, "it is written once")
    another = in_batch(store, lambda: store.write_feedback(row.shard, [new_feedback(2001, at=104.0, hash=b"another")]))
    hold(another[0].status == "conflict", "other feedback after that is a conflict")
    counts = store.counts(row.shard)
    hold(
        counts is not None and (counts.version, counts.late, counts.answered) == (2, 1, 2),
        "versions, late answers and answered decisions are counted",
    )


def a_decision_counts_when_it_is_shown(make: Callable[[], Store], store: Store) -> None:
    """A decision requested without being shown counts once it is activated, or feedback arrives."""
    row = make_model(store, "mark_shown")
    made = [new_decision(2100 + n, waits=True, shown=False, number=n + 1) for n in range(3)]
    in_batch(store, lambda: store.write_decisions(row.shard, made))
    hold(
        not [found for found in store.due_decisions(1e9) if found.shard == row.shard],
        "what was never shown is never due",
    )
    changed = [in_batch(store, lambda: store.mark_shown(row.shard, f"{2100:024x}", 20.0, None)) for _ in range(2)]
    hold(changed == [True, False], "a decision is shown once")
    hold(
        in_batch(store, lambda: store.mark_shown(row.shard, f"{2101:024x}", 101.0, None)) is None,
        "not after its window",
    )
    hold(
        in_batch(store, lambda: store.mark_shown(row.shard, "0" * 24, 20.0, None)) is None, "nor one that is not there"
    )
    in_batch(store, lambda: store.write_feedback(row.shard, [new_feedback(2102)]))
    rows = [store.decision(f"{2100 + n:024x}") for n in range(3)]
    hold(
        [found is not None and found.shown for found in rows] == [True, False, True],
        "feedback implies that it was shown",
    )
    hold(
        [event.type for event in store.events(row.shard, 4)] == ["shown", "feedback"],
        "showing is an event, once; feedback that implies it is none more",
    )
    due = [found.id for found in store.due_decisions(1e9) if found.shard == row.shard]
    hold(due == [f"{2100:024x}"], "what was shown is due when its window is over")
    in_batch(store, lambda: store.cancel_expiries(row.shard))
    hold(
        not [found for found in store.due_decisions(1e9) if found.shard == row.shard],
        "silence can be made to mean nothing",
    )


def feedback_can_be_taken_back(make: Callable[[], Store], store: Store) -> None:
    """A learned decision can be retracted; it is then open again."""
    row = make_model(store, "retract")
    in_batch(
        store, lambda: store.write_decisions(row.shard, [new_decision(2200, waits=True), new_decision(2201, number=2)])
    )
    in_batch(store, lambda: store.write_feedback(row.shard, [new_feedback(2200)]))
    name = f"{2200:024x}"
    hold(
        in_batch(store, lambda: store.write_retraction(row.shard, f"{2201:024x}", 30.0, None)).status == "unknown",
        "what was not learnt cannot be taken back",
    )
    verdict = in_batch(store, lambda: store.write_retraction(row.shard, name, 30.0, "k"))
    hold((verdict.status, verdict.version) == ("learnt", 2), "taking back makes a version")
    opened = store.decision(name)
    hold(
        opened is not None
        and (opened.feedback_seq, opened.version, opened.measure) == (None, None, None)
        and opened.is_due,
        "the decision is open again",
    )
    again = in_batch(store, lambda: store.write_feedback(row.shard, [new_feedback(2200, hash=b"other")]))[0]
    hold((again.status, again.version) == ("learnt", 3), "and can be answered again")
    rewinds = store.undo_events(row.shard)
    hold([(event.type, event.made) for event in rewinds] == [("retracted", 2)], "what takes back can be asked for")
    hold(rewinds[0].decision == name and rewinds[0].key == "k", "it says of whom")
    hold(codec.read_fields(rewinds[0].body, 0).get("columns") == KEPT, "and that names keep their columns")
    counts = store.counts(row.shard)
    hold(counts is not None and counts.answered == 1, "what was taken back is not answered")


def a_model_goes_back(make: Callable[[], Store], store: Store) -> None:
    """Everything learned after a version can be rolled back."""
    row = make_model(store, "back")
    in_batch(store, lambda: store.write_decisions(row.shard, [new_decision(2250 + n, number=n + 1) for n in range(3)]))
    in_batch(store, lambda: store.write_feedback(row.shard, [new_feedback(2250 + n) for n in range(3)]))
    for version in (-1, 4):
        gone = in_batch(store, partial(store.write_rollback, row.shard, version, 30.0))
        hold(gone.status == "unknown", "a version that is not there cannot be gone back to")
    verdict = in_batch(store, lambda: store.write_rollback(row.shard, 1, 30.0))
    hold((verdict.status, verdict.version) == ("learnt", 4), "going back makes a version: versions never fall")
    rows = [store.decision(f"{2250 + n:024x}") for n in range(3)]
    hold([found.measure for found in rows if found is not None] == [1.0, None, None], "what came after is not measured")
    hold([found.version for found in rows if found is not None] == [1, 2, 3], "and stays closed")
    again = in_batch(store, lambda: store.write_feedback(row.shard, [new_feedback(2252)]))[0]
    hold(again.status == "duplicate", "the same feedback sent again is a duplicate")


def a_key_can_be_forgotten(make: Callable[[], Store], store: Store) -> None:
    """All that was said of a key can be erased; numbers keep no gap, and the chain holds."""
    row = make_model(store, "forget")
    whose = enumerate([("a", 1), ("b", 1), ("a", 2)])
    made = [new_decision(2400 + n, key=key, number=i, request=f"r{n}", request_hash=b"h") for n, (key, i) in whose]
    in_batch(store, lambda: store.write_decisions(row.shard, made))
    in_batch(store, lambda: store.write_feedback(row.shard, [new_feedback(2400, key="a"), new_feedback(2401, key="b")]))
    in_batch(store, lambda: store.append(row.shard, "taught", 40.0, b"to a", key="a", changes=True, call=("c", b"h")))
    in_batch(store, lambda: store.publish(row.shard, "a", 7, b"state"))
    store.publish(row.shard, None, 7, b"of all")
    mine = [event.seq for event in store.events_of_key(row.shard, "a")]
    hold(mine == [2, 4, 5, 7], "the events of a key are returned in order")
    hold(store.last_forgetting(row.shard) == 0, "as long as nobody was forgotten, none is said to be")
    in_batch(store, lambda: store.publish(row.shard, "b", 7, b"state"))
    count, verdict = in_batch(store, lambda: store.forget(row.shard, "a", 50.0, None, {3: b"said otherwise"}))
    hold((count, verdict.version) == (4, 4), "all events of the key are erased, and that makes a version")
    store.drop_states(row.shard, verdict.seq or 0)
    deadline = time.monotonic() + 30.0
    while not (clean := store.vacuum()) and time.monotonic() < deadline:
        time.sleep(0.01)  # a remote store may do it in the background
    hold(clean, "between batches nothing is in the way of cleansing")
    for view in (store, make()):
        events = view.events(row.shard)
        hold([event.seq for event in events] == list(range(1, 9)), "numbers keep no gap")
        hold(Chain().check_all(events) is None, "the chain holds over erased events")
        changed, fields = events[2], codec.read_fields(events[7].body, 8)
        hold(changed.body == b"said otherwise" and changed.key == "b", "an event of another says something else then")
        hold(fields["rewritten"] == [3], "the event that forgot tells which")
        hold(
            fields["digests"] == present_digest(changed) != original_digest(changed),
            "and the digest of what it says now",
        )
        hold(not list(view.states(row.shard, "b")), "the state of its key is gone")
        erased = [event for event in events if event.salt is None]
        hold([event.seq for event in erased] == [2, 4, 5, 7], "an erased event has no salt")
        bare = all(event.key is None and event.decision is None and event.at == 0.0 for event in erased)
        hold(bare and all(len(event.body or b"") == 16 for event in erased), "and says nothing but its digest")
        hold({event.type for event in erased} == {"erased"}, "its type says so")
        hold([event.made for event in events][4:] == [1, 2, 3, 4], "versions stay what they were")
        hold(view.decision(f"{2400:024x}") is None and view.find_request(row.shard, "r0") is None, "decisions are gone")
        hold(view.decision(f"{2401:024x}") is not None, "those of others stay")
        hold(view.find_call(row.shard, "c") is None, "calls are gone")
        hold(not list(view.states(row.shard, "a")), "states are gone")
        hold(not list(view.states(row.shard)), "and so are those of the shard from before")
        hold(not list(view.events_of_key(row.shard, "a")), "no event is the key's any more")
        hold(view.last_forgetting(row.shard) == verdict.seq, "the event that forgot is known")
        hold(
            [event.seq for event, _ in view.changes(row.shard, 0, "a") if event.key == "a"] == [],
            "nothing is left to learn",
        )
        counts = view.counts(row.shard)
        hold(
            counts is not None and (counts.decisions, counts.answered, counts.keys) == (1, 1, 1),
            "counts are those of the others",
        )
        if view is not store:
            view.close()
    again, _ = in_batch(store, lambda: store.forget(row.shard, "a", 51.0))
    hold(again == 0, "nothing is erased twice")


def all_that_changes_weights_is_listed(make: Callable[[], Store], store: Store) -> None:
    """Events about no decision may change weights, of one key or of all."""
    row = make_model(store, "changes")
    in_batch(store, lambda: store.write_decisions(row.shard, [new_decision(2300, key="a")]))
    in_batch(store, lambda: store.write_feedback(row.shard, [new_feedback(2300, key="a")]))
    in_batch(store, lambda: store.append(row.shard, "taught", 40.0, b"to b", key="b", changes=True))
    in_batch(store, lambda: store.append(row.shard, "rumour", 41.0, b"nothing"))
    in_batch(store, lambda: store.append(row.shard, "rolled_back", 42.0, b"all", changes=True))
    found = [(event.type, event.made, made is not None) for event, made in store.changes(row.shard)]
    hold(
        found == [("feedback", 1, True), ("taught", 2, False), ("rolled_back", 3, False)],
        "all events that made a version come in order, each with its decision, if it has one",
    )
    of_a, of_b = ([event.type for event, _ in store.changes(row.shard, 0, key)] for key in ("a", "b"))
    hold(
        (of_a, of_b) == (["feedback", "rolled_back"], ["taught", "rolled_back"]), "of a key: its own, and those of all"
    )
    hold([event.seq for event in store.undo_events(row.shard)] == [6], "what takes back can be asked for")
    versions = [store.version_at(row.shard, seq) for seq in range(7)]
    hold(versions == [0, 0, 0, 1, 2, 2, 3], "the version after an event can be asked for")
    counts = store.counts(row.shard)
    hold(counts is not None and (counts.version, counts.answered) == (3, 1), "versions are counted, whatever made them")
    hold(Chain().check_all(store.events(row.shard)) is None, "the chain holds over them")


def calls_are_known_again(make: Callable[[], Store], store: Store) -> None:
    """A call that had an id of the app's own is known again, and entered once."""
    row, other = make_model(store, "calls"), make_model(store, "calls elsewhere")
    seq = in_batch(store, lambda: store.append(row.shard, "taught", 50.0, b"x", changes=True, call=("mine", b"digest")))
    for view in (store, make()):
        known = view.find_call(row.shard, "mine")
        hold(known is not None and (known.hash, known.seq) == (b"digest", seq), "a call is known again by its id")
        hold(view.find_call(row.shard, "other") is None, "other calls are not known")
        hold(view.find_call(other.shard, "mine") is None, "an id counts within its shard")
        if view is not store:
            view.close()
    store.begin()
    try:
        store.append(row.shard, "taught", 51.0, b"y", call=("mine", b"digest"))
        store.commit()  # a store may say so only now
        raised = False
    except Exception:
        raised = True
    store.rollback()
    hold(raised, "the id of a call is not entered twice")


def settings_can_change(make: Callable[[], Store], store: Store) -> None:
    """Other settings can be put in force, and last."""
    row = make_model(store, "amended")
    in_batch(store, lambda: store.amend(row.id, {"learner": "another", "window_s": 5.0}))
    for view in (store, store.reader(), make()):
        found = next(found for found in view.models() if found.id == row.id)
        hold(found.resolved == {"learner": "another", "window_s": 5.0}, "settings that were put in force last")
        hold(found.body == row.body, "the body of creation stays")
        if view is not store:
            view.close()


def models_have_a_second_life(make: Callable[[], Store], store: Store) -> None:
    """An archived model can decide again, or give its name away; a copy knows where it is from."""
    first, second = make_model(store, "lives a"), make_model(store, "lives b")
    in_batch(store, lambda: store.archive(first.id, 9.0))
    in_batch(store, lambda: store.archive(second.id, 9.0))
    in_batch(store, lambda: store.revive(first.id))
    in_batch(store, lambda: store.rename(second.id, "lives c"))
    third = make_model(store, "lives b")
    in_batch(store, lambda: store.derive(third.shard, first.shard, 1))
    store.begin()
    try:
        store.rename(third.id, "lives a")
        raised = False
    except Exception:
        raised = True
    store.rollback()
    hold(raised, "a name that another model has is not given twice")
    for view in (store, store.reader(), make()):
        models = {row.id: (row.name, row.archived_at) for row in view.models()}
        hold(models[first.id] == ("lives a", None), "a model that was revived is not archived")
        hold(models[second.id] == ("lives c", 9.0), "a model that was renamed has its new name, and is archived still")
        hold(models[third.id] == ("lives b", None), "the name can be given to another")
        known = [tuple(row) for row in view.lineage() if row.shard == third.shard]
        hold(known == [(third.shard, first.shard, 1)], "a copy knows where it is from, and how far that was")
        if view is not store:
            view.close()


def a_log_can_begin_with_a_base(make: Callable[[], Store], store: Store) -> None:
    """Events before a retention checkpoint are invisible from the moment it is made, and are erased step by step."""
    row = make_model(store, "checkpoint")
    in_batch(
        store,
        lambda: store.write_decisions(
            row.shard, [new_decision(2600 + n, number=n + 1, request=f"r{n}") for n in range(4)]
        ),
    )
    in_batch(store, lambda: store.write_feedback(row.shard, [new_feedback(2600), new_feedback(2601)]))  # events 6 and 7
    in_batch(store, lambda: store.append(row.shard, "taught", 40.0, b"x", changes=True, call=("c", b"digest")))  # 8
    in_batch(store, lambda: store.write_feedback(row.shard, [new_feedback(2602)]))  # 9
    events = store.events(row.shard)
    hold(store.decisions_to_carry(row.shard, 8, 500.0, 8) == [4], "a decision crosses whose answer comes later")
    hold(store.decisions_to_carry(row.shard, 8, 50.0, 8) == [4, 5], "and so does one that is open")
    hold(store.decisions_to_carry(row.shard, 8, 50.0, 9) == [], "of later events only: none")
    hold(store.counts_up_to(row.shard, 8) == (4, 0), "what lies under an event is counted")
    hold(store.last_number(row.shard, None, 3) == 2, "the latest number up to an event can be asked for")
    state = CheckpointState(None, 8, 4, state_digest(None, 8, 4, b"learnt"), b"learnt")
    in_batch(store, lambda: store.stage(row.shard, [state]))
    hold(store.checkpoint(row.shard) is None, "a base that is staged is none yet")
    hold(store.checkpoint_state(row.shard, None) is None and store.events(row.shard) == events, "and nobody sees it")
    base = Checkpoint(8, 3, events[7].chain, 60.0, 4, 0, 3, b"settings")
    kept = [CarriedDecision(seq, original_digest(events[seq - 1])) for seq in (4, 5)]
    in_batch(store, lambda: store.write_checkpoint(row.shard, base, kept, 60.0))
    _look_over(store, row.shard, 0)
    steps = 0
    while in_batch(store, lambda: store.purge(3)):
        steps += 1
        hold(steps < 20, "erasing comes to an end")
        for view in (store, make()):
            _look_over(view, row.shard, None)
            if view is not store:
                view.close()
    hold(steps > 1, "erasing goes step by step")
    _look_over(store, row.shard, 8)
    in_batch(store, lambda: store.write_feedback(row.shard, [new_feedback(2603)]))
    made = store.decision(f"{2603:024x}")
    hold(made is not None and made.status == "learnt", "what is carried can be answered")
    numbers = [event.seq for event, decision in store.changes(row.shard) if decision is not None]
    hold(numbers == [9, 11], "and what was learnt of it comes with its decision")


def _look_over(store: Store, shard: int, erased: int | None) -> None:
    """All that is asked of a log with a base."""
    base = store.checkpoint(shard)
    hold(base is not None and (base.seq, base.version, base.floor, base.body) == (8, 3, 3, b"settings"), "it is kept")
    if base is None:
        return
    hold(erased is None or base.erased == erased, "how far the erasing is stands in the base")
    state = store.checkpoint_state(shard, None)
    hold(
        state is not None and state.is_intact and state.number == 4, "the states of a base are kept, with their digests"
    )
    hold([kept.key for kept in store.checkpoint_states(shard)] == [None], "all of them can be asked for")
    hold([kept.seq for kept in store.carried_decisions(shard)] == [4, 5], "what is carried can be asked for")
    events = store.events(shard)
    hold([event.seq for event in events] == [9, 10], "the log begins after the base, and numbers go on")
    hold(events[-1].type == "retained", "the base is an event")
    hold(Chain(base.seq, base.chain).check_all(events) is None, "the chain goes on from the base")
    hold([event.seq for event, made in store.changes(shard) if made is not None] == [9], "so does what changes weights")
    hold(store.version_at(shard, 8) == 3 and store.version_at(shard, 10) == 4, "versions go on")
    hold(
        store.event(shard, 2) is None and store.event(shard, 4) is not None, "events under it are gone, but the carried"
    )
    gone = store.decision(f"{2600:024x}")
    hold(
        gone is None and store.find_request(shard, "r0") is None and store.find_call(shard, "c") is None,
        "so is all else",
    )
    hold(store.find_erased_decision(f"{2600:024x}") == shard, "that there was such a decision is known")
    hold(store.find_erased_decision(f"{2602:024x}") is None, "a carried one is not gone")
    hold(store.find_erased_decision("no id") is None, "any text may be asked for")
    hold(store.decision(f"{2602:024x}") is not None, "a carried one is found")
    hold(store.last_number(shard, None) == 4, "numbers are not given again")
    counts = store.counts(shard)
    hold(counts is not None and (counts.seq, counts.version, counts.decisions) == (10, 4, 4), "counts stay")
    hold(store.query("tally", shard) == [(2, 1, 0, 0)], "the tally is of what is seen")


def keys_have_bases_of_their_own(make: Callable[[], Store], store: Store) -> None:
    """The state of a key holds for later bases, until there is a newer one."""
    row = make_model(store, "base keys")
    asks = [new_decision(2700 + n, key=key, number=1) for n, key in enumerate("ab")]
    in_batch(store, lambda: store.write_decisions(row.shard, asks))
    chain = [event.chain for event in store.events(row.shard)]

    def state(key: str, seq: int) -> CheckpointState:
        content = f"{key}{seq}".encode()
        return CheckpointState(key, seq, 1, state_digest(key, seq, 1, content), content)

    in_batch(store, lambda: store.stage(row.shard, [state("a", 3), state("b", 3), state("c", 3)]))
    in_batch(store, lambda: store.unstage(row.shard))
    hold(store.query("keys", row.shard, prefix="", limit=9) == [("a",), ("b",)], "what is dropped was never there")
    in_batch(store, lambda: store.stage(row.shard, [state("a", 3), state("b", 3)]))
    in_batch(
        store, lambda: store.write_checkpoint(row.shard, Checkpoint(3, 0, chain[2], 1.0, 2, 0, 0, b""), [], 1.0)
    )  # event 4
    while in_batch(store, lambda: store.purge(100)):
        pass
    hold(store.query("keys", row.shard, prefix="", limit=9) == [("a",), ("b",)], "keys under a base are keys")
    hold(store.last_number(row.shard, "a") == 1, "their numbers are known")
    in_batch(store, lambda: store.write_decisions(row.shard, [new_decision(2705, key="a", number=2)]))
    chain = [event.chain for event in store.events(row.shard)]
    in_batch(store, lambda: store.stage(row.shard, [state("a", 5)]))
    in_batch(store, lambda: store.write_checkpoint(row.shard, Checkpoint(5, 0, chain[-1], 2.0, 3, 0, 0, b""), [], 2.0))
    for view in (store, store.reader(), make()):
        found = {each.key: each.state for each in view.checkpoint_states(row.shard)}
        hold(found == {"a": b"a5", "b": b"b3"}, "a key has its newest state")
        if view is not store:
            view.close()
    while in_batch(store, lambda: store.purge(100)):
        pass
    found = {each.key: each.state for each in store.checkpoint_states(row.shard)}
    hold(found == {"a": b"a5", "b": b"b3"}, "older ones are erased, and no others")
    counts = store.counts(row.shard)
    hold(counts is not None and counts.keys == 2, "a key is counted once")
    in_batch(store, lambda: store.stage(row.shard, [state("c", 9)]))
    found = {each.key: each.state for each in store.checkpoint_states(row.shard)}
    hold(found == {"a": b"a5", "b": b"b3"}, "what is staged for a key that was not there is not seen")


def a_base_lets_go_of_a_key(make: Callable[[], Store], store: Store) -> None:
    """The data that a retention checkpoint keeps for a key can be dropped; the rest stays, and the log records it."""
    row = make_model(store, "base drops")
    in_batch(
        store,
        lambda: store.write_decisions(
            row.shard, [new_decision(2800 + n, key=key, number=1) for n, key in enumerate("ab")]
        ),
    )
    before = store.events(row.shard)
    in_batch(store, lambda: store.drop_checkpoint_state(row.shard, "a", 1.0))
    hold(store.events(row.shard) == before, "without a base there is nothing to drop")
    states = [CheckpointState(key, 3, 1, state_digest(key, 3, 1, key.encode()), key.encode()) for key in "ab"]
    kept = [CarriedDecision(event.seq, original_digest(event)) for event in before[1:]]
    in_batch(store, lambda: store.stage(row.shard, states))
    in_batch(
        store,
        lambda: store.write_checkpoint(row.shard, Checkpoint(3, 0, before[2].chain, 1.0, 2, 0, 0, b""), kept, 1.0),
    )
    in_batch(store, lambda: store.drop_checkpoint_state(row.shard, "a", 2.0))
    while in_batch(store, lambda: store.purge(100)):
        pass
    for view in (store, store.reader(), make()):
        hold(
            [each.key for each in view.checkpoint_states(row.shard)] == ["b"],
            "the state of the key is gone, and no other",
        )
        hold([each.seq for each in view.carried_decisions(row.shard)] == [3], "its decisions are kept no longer")
        hold(view.decision(f"{2800:024x}") is None, "they are gone")
        base, counts = view.checkpoint(row.shard), view.counts(row.shard)
        hold(
            base is not None and counts is not None and base.decisions == counts.decisions == 1, "nor are they counted"
        )
        types = [event.type for event in view.events(row.shard)]
        hold(types == ["retained", "retained"], "the log tells of the base as it is then")
        if view is not store:
            view.close()
