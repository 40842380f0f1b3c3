"""A small log to try a store with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from smidgen.service.storage.protocol import Store
from smidgen.service.storage.records import Asked, ModelRow, Told


def model(store: Store, name: str) -> ModelRow:
    """A model with its first event, committed."""
    store.begin()
    row = store.create(name, b'{"of":1}', {"learner": name}, 5.0)
    store.append(row.shard, "created", 5.0, b"made")
    store.commit()
    return row


def asked(place: int, **changes: Any) -> Asked:
    """A decision; its place among the contract's decisions is its id."""
    made = Asked(f"{place:024x}", 10.0, 100.0, None, 1, None, None, False, None, b"asked %d" % place)
    return made._replace(**changes)


def feedback(place: int, **changes: Any) -> Told:
    """Feedback on the decision of that place."""
    made = Told(f"{place:024x}", 20.0, None, b"hash %d" % place, 1.0, None, b"told %d" % place)
    return made._replace(**changes)


def batch(store: Store, command: Callable[[], Any]) -> Any:
    """One command, committed."""
    store.begin()
    store.savepoint()
    answer = command()
    store.release()
    store.commit()
    return answer
