"""Taking what was erased out of PostgreSQL's tables: a vacuum aside, by one worker for all."""

from __future__ import annotations

import logging
import threading

from smidgen.service.refusals import StorageFailed
from smidgen.service.store.postgres_batch import Batch
from smidgen.service.store.postgres_wire import Sent, Wire, call

_log = logging.getLogger("smidgen.service")
_LOCK = 0x73766163
_TABLES = ("events", "decisions", "calls", "states", "key_states", "base_states", "carried")


class Cleansing:
    """Vacuums the tables after something was erased; it may take long, so it happens in a thread of its own.

    Parameters
    ----------
    side
        A connection for questions.
    """

    def __init__(self, side: Batch) -> None:
        self._side = side
        self._thread: threading.Thread | None = None

    def done(self) -> bool:
        """Whether nothing is left to do; else it is begun, or goes on."""
        if self._thread is not None and self._thread.is_alive():
            return False
        (((unclean,),),) = self._side.ask(call("SELECT unclean FROM catalogue"))
        if not unclean:
            return True
        self._thread = threading.Thread(target=self._vacuum, args=(unclean,), name="smidgen vacuum", daemon=True)
        self._thread.start()
        return False

    def close(self) -> None:
        """Wait a little for a vacuum that is under way; else the server goes on alone."""
        if self._thread is not None:
            self._thread.join(1.0)

    def _vacuum(self, unclean: int) -> None:
        try:
            wire = Wire(self._side.address, statement_s=None)
        except StorageFailed as error:
            _log.warning("what was erased is still in the tables: %s", error)
            return
        try:
            schema = self._side.address.schema
            locked = f"SELECT pg_try_advisory_lock({_LOCK}, hashtext('{schema}'))"
            (((mine,),),) = wire.ask([Sent(locked, [], [], plain=True)])
            if mine:
                for table in _TABLES:
                    wire.ask([Sent(f"VACUUM (TRUNCATE FALSE) {table}", [], [], plain=True)])
                wire.ask([call("UPDATE catalogue SET unclean = 0 WHERE unclean = ?", (unclean,))])
        except StorageFailed as error:
            _log.warning("what was erased is still in the tables: %s", error)
        finally:
            wire.close()
