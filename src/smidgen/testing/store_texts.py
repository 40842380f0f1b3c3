"""Laws of a store: texts of apps may hold any character."""

from __future__ import annotations

from collections.abc import Callable

from smidgen.service.storage.protocol import Store
from smidgen.testing.laws import hold
from smidgen.testing.store_play import asked, batch, feedback, model

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
    row = model(store, "texts")
    made = [asked(6100 + n, key=text, request=text, number=1) for n, text in enumerate(_TEXTS)]
    batch(store, lambda: store.decided(row.shard, made))
    store.begin()
    for n, text in enumerate(_TEXTS):
        store.answered(row.shard, [feedback(6100 + n, key=text)])
        store.publish(row.shard, text, 2, text.encode())
        store.append(row.shard, "rumour", 9.0, b"x", call=(text, text.encode()))
    store.commit()
    for view in (store, make()):
        for n, text in enumerate(_TEXTS):
            found = view.requested(row.shard, text)
            hold(found is not None and found.id == made[n].decision, "the id of a request may hold any character")
            mine = [(event.type, event.key) for event in view.of_key(row.shard, text)]
            hold(mine == [("decision", text), ("feedback", text)], "a key may hold any character")
            hold([state.content for state in view.states(row.shard, text)] == [text.encode()], "so may that of a state")
            call = view.called(row.shard, text)
            hold(call is not None and call.hash == text.encode(), "so may the id of a call")
        hold(view.state_keys(row.shard) == sorted(_TEXTS), "keys come in the order of their characters")
        keys = [key for (key,) in view.look("keys", row.shard, prefix="", limit=100)]
        hold(keys == sorted(_TEXTS), "so do those that have events")
        if view is not store:
            view.close()
    store.begin()
    store.savepoint()
    try:
        store.decided(row.shard, [asked(6190, key="\ud800")])
        refused = False
    except ValueError:
        refused = True
    store.undo()
    hold(refused, "half a character is refused at once")
    store.decided(row.shard, [asked(6191, number=2)])
    store.commit()
    hold(store.decision(asked(6191).decision) is not None, "and the batch goes on")
