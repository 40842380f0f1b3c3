"""Laws of a store: decisions that lie beside others, and what they are taught."""

from __future__ import annotations

from collections.abc import Callable

from smidgen.service.log.events import Chain
from smidgen.service.storage.protocol import Store
from smidgen.testing.laws import hold
from smidgen.testing.store_play import asked, batch, feedback, model


def decisions_lie_beside_others(make: Callable[[], Store], store: Store) -> None:
    """A decision that another model made beside one that was shown is found by that one, and compared with it."""
    shown, other, third = (model(store, f"beside {n}") for n in range(3))
    out = [f"{5600 + n:024x}" for n in range(3)]
    batch(store, lambda: store.decided(shown.shard, [asked(5600 + n, number=n + 1) for n in range(3)]))
    made = [
        asked(5610, number=1, shown=False, beside=out[0], agreed=True, target=0.5, chance=0.25),
        asked(5611, number=2, shown=False, beside=out[1], agreed=False),
    ]
    batch(store, lambda: store.decided(other.shard, made))
    batch(store, lambda: store.decided(third.shard, [asked(5620, shown=False, beside=out[0])]))
    batch(store, lambda: store.answered(shown.shard, [feedback(5600, measure=0.75)]))
    for view in (store, make()):
        found = [(row.id, row.shard, row.beside, row.agreed) for row in view.beside(out[0])]
        hold(
            found == [(f"{5610:024x}", other.shard, out[0], True), (f"{5620:024x}", third.shard, out[0], None)],
            "what lies beside a decision is found by it, by shard",
        )
        hold(not view.beside(out[2]) and not view.beside("x"), "nothing lies beside others, whatever is asked for")
        pairs = [tuple(row) for row in view.look("pairs", other.shard, after=0, limit=10)]
        expected = [
            (2, True, 0.5, 0.25, shown.shard, 2, 100.0, True, None, None, 5, 0.75),
            (3, False, None, None, shown.shard, 3, 100.0, True, None, None, None, None),
        ]
        hold(pairs == expected, "a pair has what both came to")
        hold(view.look("pairs", other.shard, after=2, limit=10)[0][0] == 3, "pairs after an event can be asked for")
        hold(len(view.look("pairs", other.shard, after=0, limit=1)) == 1, "and at most so many")
        hold([tuple(row) for row in view.look("agreement", other.shard, limit=9)] == [(2, 1.0)], "agreement is counted")
        hold([tuple(row) for row in view.look("agreement", other.shard, limit=1)] == [(1, 0.0)], "of the latest")
        hold([tuple(row) for row in view.look("agreement", third.shard, limit=9)] == [(0, 0.0)], "where there is any")
        hold(not view.look("lately", other.shard, limit=9), "what lies beside counts nowhere")
        if view is not store:
            view.close()


def what_lies_beside_is_taught_once(make: Callable[[], Store], store: Store) -> None:
    """What came of the decision that was shown closes the one beside it, once, and can be taken back."""
    shown, other = model(store, "taught"), model(store, "taught beside")
    batch(store, lambda: store.decided(shown.shard, [asked(5650)]))
    batch(store, lambda: store.decided(other.shard, [asked(5660, shown=False, beside=f"{5650:024x}")]))
    plain = batch(store, lambda: store.taught(shown.shard, feedback(5650)))
    hold((plain.status, plain.seq) == ("unknown", None), "a decision that lies beside nothing is not taught")
    foreign = batch(store, lambda: store.taught(shown.shard, feedback(5660)))
    hold(foreign.status == "unknown", "nor is one of another shard")
    verdicts = [batch(store, lambda: store.taught(other.shard, feedback(5660, key="k"))) for _ in range(2)]
    hold([verdict.status for verdict in verdicts] == ["learnt", "duplicate"], "a decision beside is taught once")
    hold(verdicts[0].version == 1 and verdicts[1].version == 1, "that makes a version, once")
    for view in (store, make()):
        row = view.decision(f"{5660:024x}")
        hold(
            row is not None and (row.status, row.version, row.measure, row.shown) == ("learnt", 1, None, False),
            "it is closed, was never shown, and has no measure",
        )
        event = view.event(other.shard, verdicts[0].seq or 0)
        kept = (event.type, event.made, event.decision, event.key, event.body) if event is not None else None
        hold(kept == ("taught", 1, f"{5660:024x}", "k", b"told 5660"), "the event says what it is about")
        changes = [(change.type, about is not None) for change, about in view.changes(other.shard)]
        hold(changes == [("taught", True)], "it comes with its decision when all that changes weights is told")
        counts = view.counts(other.shard)
        hold(counts is not None and (counts.version, counts.answered) == (1, 0), "nobody has answered it")
        if view is not store:
            view.close()
    back = batch(store, lambda: store.retracted(other.shard, f"{5660:024x}", 30.0, None))
    hold((back.status, back.version) == ("learnt", 2), "what it was taught can be taken back")
    again = batch(store, lambda: store.taught(other.shard, feedback(5660)))
    hold((again.status, again.version) == ("learnt", 3), "and then be taught anew")
    counts = store.counts(other.shard)
    hold(counts is not None and counts.answered == 0, "answers are not counted by that")
    hold(Chain().follow(store.events(other.shard)) is None, "the chain holds over it")
