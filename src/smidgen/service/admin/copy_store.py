"""All of a store written into another one: every row, compared, and every log learnt again; or nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from smidgen.service.engine.inspection import Inspection, open_read_only
from smidgen.service.engine.log_reader import EventLog
from smidgen.service.engine.log_sources import StoreSource
from smidgen.service.engine.model import ServedModel
from smidgen.service.engine.rebuild import Rebuilder, rebuild
from smidgen.service.engine.recovery import current_states, state_problem
from smidgen.service.engine.registry import load_models
from smidgen.service.errors import StorageFailed
from smidgen.service.log.events import Chain
from smidgen.service.storage.address import Database, Place, open_store
from smidgen.service.storage.data_dir import in_use, lock_folder
from smidgen.service.storage.reader import SqlStoreReader
from smidgen.service.storage.sql import TABLES

if TYPE_CHECKING:
    from smidgen.service.storage.address import Opened

#: Called with the progress: the step, the amount done, and the total.
Progress = Callable[[str, int, int], None]
_SIGN = 500  # rows between two signs of life


class Copied(NamedTuple):
    """Contents that were written.

    Attributes
    ----------
    models, events, tokens, states
        Number of rows; states are saved learners.
    running
        Whether a service was writing to the source meanwhile: what it acknowledged later is not in the copy.
    """

    models: int
    events: int
    tokens: int
    states: int
    running: bool


class _WithLog(NamedTuple):
    """A store that is looked at for its logs."""

    log: EventLog


def copy(source: Place, target: Place, progress: Progress = lambda what, done, of: None) -> Copied:
    """Write all of a store into another one, which must be empty.

    The source is read as of one moment, and not changed. Everything is written in one batch, which is committed when
    every row was read back the same, the chain of every log holds, and every log leads to the same learners, bit for
    bit. Then the states that make a start quick are written as well.

    Parameters
    ----------
    source, target
        A data folder, or a database.
    progress
        Called with the progress.

    Raises
    ------
    StorageFailed
        If the target is not empty, or anything differs; then nothing was written.
    """
    if _same(source, target):
        raise StorageFailed(f"source and target are both {target}", "give an empty folder or database as the target")
    with _source(source) as (seen, running), _target(target) as store:
        store.begin()
        try:
            _refuse_filled(store, target)
            rows = {name: _fill(seen.reading, store, name, progress) for name in TABLES}
            for name in TABLES:
                _compare(seen.reading, store, name, rows[name], progress)
            models, events = load_models(seen.reading), 0
            for model in models:
                events += _check_chain(store, model)
                _compare_replays(seen, store, model, progress)
            store.commit()
        except BaseException:
            store.rollback()
            raise
        states = rows["key_states"] + sum(_state(seen.reading, store, model.shard) for model in models)
    return Copied(sum(model.part == 0 for model in models), events, rows["tokens"], states, running)


def _same(source: Place, target: Place) -> bool:
    if isinstance(source, Path) and isinstance(target, Path):
        return source.resolve() == target.resolve()
    return source == target


@contextmanager
def _source(place: Place) -> Iterator[tuple[Inspection, bool]]:
    if not isinstance(place, Path):
        with Inspection(place) as seen:
            yield seen, False
        return
    if in_use(place):
        with open_read_only(place, running=True) as seen:
            yield seen, True
        return
    Inspection(place).reading.close()  # before a lock is made where no service ever was
    with lock_folder(place), open_read_only(place, running=False) as seen:
        yield seen, False


@contextmanager
def _target(place: Place) -> Iterator[Opened]:
    """The store to fill; its batch has no time limit."""
    if isinstance(place, Database):
        place = Database(f"{place.url}{'&' if urlsplit(place.url).query else '?'}idle_s=3600")
    store = open_store(place)
    try:
        yield store
    finally:
        store.close()
    if isinstance(place, Path):
        open_store(place).close()  # which writes the heads of the logs next to them


def _refuse_filled(store: Opened, place: Place) -> None:
    store.acquire_catalogue()
    for name in TABLES:
        if store.count_of_rows(name):
            raise StorageFailed(f"{place} is not empty: it holds {name}", "give an empty folder, or another ?schema=")


def _fill(reading: SqlStoreReader, store: Opened, name: str, progress: Progress) -> int:
    of, count = reading.count_of_rows(name), 0
    for count, row in enumerate(reading.rows_of(name), 1):
        store.add_row(name, row)
        if count % _SIGN == 0:
            progress(f"writing {name}", count, of)
    return count


def _compare(reading: SqlStoreReader, store: Opened, name: str, rows: int, progress: Progress) -> None:
    """Read a table back, and hold it against where it is from."""
    progress(f"comparing {name}", 0, rows)
    before, after = (_digest(view.rows_of(name)) for view in (reading, store))
    if before != after:
        raise StorageFailed(
            f"the table {name} differs from the source after the copy", "nothing was kept; run the copy again"
        )


def _digest(rows: Iterator[Any]) -> bytes:
    whole, encode = blake2b(), msgspec.msgpack.Encoder().encode
    for row in rows:
        whole.update(encode(list(row)))
    return whole.digest()


def _check_chain(store: Opened, model: ServedModel) -> int:
    """The chain of a log holds in its new place, up to the head; of how many events."""
    base = store.checkpoint(model.shard)
    chain = Chain() if base is None else Chain(base.seq, base.chain)
    problem = chain.check_all(EventLog(store).events_of(model.shard))
    if problem is not None or (chain.seq, chain.chain) != (model.counts.seq, model.counts.chain):
        raise StorageFailed(
            f"the log of {model.name} has errors: {problem or 'it ends at another event than its head'}",
            "nothing was written; run smidgen fsck on the source for details",
        )
    return chain.seq - (base.seq if base is not None else 0)


def _compare_replays(seen: Inspection, store: Opened, model: ServedModel, progress: Progress) -> None:
    """Learn a log again in both places, and compare what it leads to."""
    if not model.seq:
        return
    progress(f"learning {model.name} again", 0, 0)
    here, there = (rebuild(StoreSource(view, model)) for view in (seen, _WithLog(EventLog(store))))
    if _learners(here) != _learners(there):
        raise StorageFailed(
            f"the log of {model.name} replays to another learner in the target", "nothing was kept; run the copy again"
        )


def _learners(rebuilt: Rebuilder) -> tuple[int, int, dict[str | None, bytes], bytes | None]:
    keys = list(dict.fromkeys([*rebuilt.learners, *rebuilt.numbers]))
    group = rebuilt.group.to_bytes() if rebuilt.group is not None else None
    return rebuilt.seq, rebuilt.version, {key: rebuilt.learner(key).to_bytes() for key in keys}, group


def _state(reading: SqlStoreReader, store: Opened, shard: int) -> int:
    """The newest good state of a shard makes the first start quick."""
    for state in current_states(reading, shard):
        if state.own and state_problem(state) is None:
            return int(store.publish(shard, None, state.seq, state.content))
    return 0
