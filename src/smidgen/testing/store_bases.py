"""Laws of a store: logs that begin with a base, models that are renamed and revived, where copies are from."""

from __future__ import annotations

from collections.abc import Callable

from smidgen.service.log.base import Base, BaseState, Carried, state_digest
from smidgen.service.log.events import Chain, digest_of
from smidgen.service.storage.protocol import Store
from smidgen.testing.laws import hold
from smidgen.testing.store_play import asked, batch, feedback, model


def models_have_a_second_life(make: Callable[[], Store], store: Store) -> None:
    """An archived model can decide again, or give its name away; a copy knows where it is from."""
    first, second = model(store, "lives a"), model(store, "lives b")
    batch(store, lambda: store.archive(first.id, 9.0))
    batch(store, lambda: store.archive(second.id, 9.0))
    batch(store, lambda: store.revive(first.id))
    batch(store, lambda: store.rename(second.id, "lives c"))
    third = model(store, "lives b")
    batch(store, lambda: store.derive(third.shard, first.shard, 1))
    store.begin()
    try:
        store.rename(third.id, "lives a")
        raised = False
    except Exception:
        raised = True
    store.rollback()
    hold(raised, "a name that another model has is not given twice")
    for view in (store, store.reader(), make()):
        told = {row.id: (row.name, row.archived_at) for row in view.models()}
        hold(told[first.id] == ("lives a", None), "a model that was revived is not archived")
        hold(told[second.id] == ("lives c", 9.0), "a model that was renamed has its new name, and is archived still")
        hold(told[third.id] == ("lives b", None), "the name can be given to another")
        known = [tuple(row) for row in view.lineage() if row.shard == third.shard]
        hold(known == [(third.shard, first.shard, 1)], "a copy knows where it is from, and how far that was")
        if view is not store:
            view.close()


def a_log_can_begin_with_a_base(make: Callable[[], Store], store: Store) -> None:
    """What lies under a base is not seen from the moment it is made, and is erased step by step."""
    row = model(store, "base")
    batch(store, lambda: store.decided(row.shard, [asked(2600 + n, number=n + 1, request=f"r{n}") for n in range(4)]))
    batch(store, lambda: store.answered(row.shard, [feedback(2600), feedback(2601)]))  # events 6 and 7
    batch(store, lambda: store.append(row.shard, "taught", 40.0, b"x", changes=True, call=("c", b"digest")))  # 8
    batch(store, lambda: store.answered(row.shard, [feedback(2602)]))  # 9
    events = store.events(row.shard)
    hold(store.crossing(row.shard, 8, 500.0, 8) == [4], "a decision crosses whose answer comes later")
    hold(store.crossing(row.shard, 8, 50.0, 8) == [4, 5], "and so does one that is open")
    hold(store.crossing(row.shard, 8, 50.0, 9) == [], "of later events only: none")
    hold(store.under(row.shard, 8) == (4, 0), "what lies under an event is counted")
    hold(store.last_number(row.shard, None, 3) == 2, "the latest number up to an event can be asked for")
    state = BaseState(None, 8, 4, state_digest(None, 8, 4, b"learnt"), b"learnt")
    batch(store, lambda: store.stage(row.shard, [state]))
    hold(store.base(row.shard) is None, "a base that is staged is none yet")
    hold(store.base_state(row.shard, None) is None and store.events(row.shard) == events, "and nobody sees it")
    base = Base(8, 3, events[7].chain, 60.0, 4, 0, 3, b"settings")
    kept = [Carried(seq, digest_of(events[seq - 1])) for seq in (4, 5)]
    batch(store, lambda: store.rebase(row.shard, base, kept, 60.0))
    _look_over(store, row.shard, 0)
    steps = 0
    while batch(store, lambda: store.tidy(3)):
        steps += 1
        hold(steps < 20, "erasing comes to an end")
        for view in (store, make()):
            _look_over(view, row.shard, None)
            if view is not store:
                view.close()
    hold(steps > 1, "erasing goes step by step")
    _look_over(store, row.shard, 8)
    batch(store, lambda: store.answered(row.shard, [feedback(2603)]))
    made = store.decision(f"{2603:024x}")
    hold(made is not None and made.status == "learnt", "what is carried can be answered")
    told = [event.seq for event, decision in store.changes(row.shard) if decision is not None]
    hold(told == [9, 11], "and what was learnt of it comes with its decision")


def _look_over(store: Store, shard: int, erased: int | None) -> None:
    """All that is asked of a log with a base."""
    base = store.base(shard)
    hold(base is not None and (base.seq, base.version, base.floor, base.body) == (8, 3, 3, b"settings"), "it is kept")
    if base is None:
        return
    hold(erased is None or base.erased == erased, "how far the erasing is stands in the base")
    state = store.base_state(shard, None)
    hold(state is not None and state.sound and state.number == 4, "the states of a base are kept, with their digests")
    hold([kept.key for kept in store.base_states(shard)] == [None], "all of them can be asked for")
    hold([kept.seq for kept in store.carried(shard)] == [4, 5], "what is carried can be asked for")
    events = store.events(shard)
    hold([event.seq for event in events] == [9, 10], "the log begins after the base, and numbers go on")
    hold(events[-1].type == "retained", "the base is an event")
    hold(Chain(base.seq, base.chain).follow(events) is None, "the chain goes on from the base")
    hold([event.seq for event, made in store.changes(shard) if made is not None] == [9], "so does what changes weights")
    hold(store.version_at(shard, 8) == 3 and store.version_at(shard, 10) == 4, "versions go on")
    hold(
        store.event(shard, 2) is None and store.event(shard, 4) is not None, "events under it are gone, but the carried"
    )
    gone = store.decision(f"{2600:024x}")
    hold(gone is None and store.requested(shard, "r0") is None and store.called(shard, "c") is None, "so is all else")
    hold(store.erased_decision(f"{2600:024x}") == shard, "that there was such a decision is known")
    hold(store.erased_decision(f"{2602:024x}") is None, "a carried one is not gone")
    hold(store.erased_decision("no id") is None, "any text may be asked for")
    hold(store.decision(f"{2602:024x}") is not None, "a carried one is found")
    hold(store.last_number(shard, None) == 4, "numbers are not given again")
    counts = store.counts(shard)
    hold(counts is not None and (counts.seq, counts.version, counts.decisions) == (10, 4, 4), "counts stay")
    hold(store.look("tally", shard) == [(2, 1, 0, 0)], "the tally is of what is seen")


def keys_have_bases_of_their_own(make: Callable[[], Store], store: Store) -> None:
    """The state of a key holds for later bases, until there is a newer one."""
    row = model(store, "base keys")
    asks = [asked(2700 + n, key=key, number=1) for n, key in enumerate("ab")]
    batch(store, lambda: store.decided(row.shard, asks))
    chain = [event.chain for event in store.events(row.shard)]

    def state(key: str, seq: int) -> BaseState:
        content = f"{key}{seq}".encode()
        return BaseState(key, seq, 1, state_digest(key, seq, 1, content), content)

    batch(store, lambda: store.stage(row.shard, [state("a", 3), state("b", 3), state("c", 3)]))
    batch(store, lambda: store.unstage(row.shard))
    hold(store.look("keys", row.shard, prefix="", limit=9) == [("a",), ("b",)], "what is dropped was never there")
    batch(store, lambda: store.stage(row.shard, [state("a", 3), state("b", 3)]))
    batch(store, lambda: store.rebase(row.shard, Base(3, 0, chain[2], 1.0, 2, 0, 0, b""), [], 1.0))  # event 4
    while batch(store, lambda: store.tidy(100)):
        pass
    hold(store.look("keys", row.shard, prefix="", limit=9) == [("a",), ("b",)], "keys under a base are keys")
    hold(store.last_number(row.shard, "a") == 1, "their numbers are known")
    batch(store, lambda: store.decided(row.shard, [asked(2705, key="a", number=2)]))
    chain = [event.chain for event in store.events(row.shard)]
    batch(store, lambda: store.stage(row.shard, [state("a", 5)]))
    batch(store, lambda: store.rebase(row.shard, Base(5, 0, chain[-1], 2.0, 3, 0, 0, b""), [], 2.0))
    for view in (store, store.reader(), make()):
        found = {each.key: each.state for each in view.base_states(row.shard)}
        hold(found == {"a": b"a5", "b": b"b3"}, "a key has its newest state")
        if view is not store:
            view.close()
    while batch(store, lambda: store.tidy(100)):
        pass
    found = {each.key: each.state for each in store.base_states(row.shard)}
    hold(found == {"a": b"a5", "b": b"b3"}, "older ones are erased, and no others")
    counts = store.counts(row.shard)
    hold(counts is not None and counts.keys == 2, "a key is counted once")
    batch(store, lambda: store.stage(row.shard, [state("c", 9)]))
    found = {each.key: each.state for each in store.base_states(row.shard)}
    hold(found == {"a": b"a5", "b": b"b3"}, "what is staged for a key that was not there is not seen")


def a_base_lets_go_of_a_key(make: Callable[[], Store], store: Store) -> None:
    """What a base holds and keeps of a key can be dropped; the rest stays, and the log tells of it."""
    row = model(store, "base drops")
    batch(store, lambda: store.decided(row.shard, [asked(2800 + n, key=key, number=1) for n, key in enumerate("ab")]))
    before = store.events(row.shard)
    batch(store, lambda: store.drop_base_state(row.shard, "a", 1.0))
    hold(store.events(row.shard) == before, "without a base there is nothing to drop")
    states = [BaseState(key, 3, 1, state_digest(key, 3, 1, key.encode()), key.encode()) for key in "ab"]
    kept = [Carried(event.seq, digest_of(event)) for event in before[1:]]
    batch(store, lambda: store.stage(row.shard, states))
    batch(store, lambda: store.rebase(row.shard, Base(3, 0, before[2].chain, 1.0, 2, 0, 0, b""), kept, 1.0))
    batch(store, lambda: store.drop_base_state(row.shard, "a", 2.0))
    while batch(store, lambda: store.tidy(100)):
        pass
    for view in (store, store.reader(), make()):
        hold([each.key for each in view.base_states(row.shard)] == ["b"], "the state of the key is gone, and no other")
        hold([each.seq for each in view.carried(row.shard)] == [3], "its decisions are kept no longer")
        hold(view.decision(f"{2800:024x}") is None, "they are gone")
        base, counts = view.base(row.shard), view.counts(row.shard)
        hold(
            base is not None and counts is not None and base.decisions == counts.decisions == 1, "nor are they counted"
        )
        told = [event.type for event in view.events(row.shard)]
        hold(told == ["retained", "retained"], "the log tells of the base as it is then")
        if view is not store:
            view.close()
