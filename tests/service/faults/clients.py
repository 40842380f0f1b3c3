"""Clients that go on when they are refused: a failing disk leads to 503, and the same request is sent again."""

from __future__ import annotations

import http.client
import time
from collections import Counter
from typing import Any

from service.bodies import MODELS
from service.killable_services import NAMES, Line, Writer

#: What a service may say when its disk fails. Anything else that is no success is a fault.
REFUSALS = (500, 503)


class Stubborn(Writer):
    """A writer that receives 503 or 500 now and then, and whose feedback may be late.

    Attributes
    ----------
    refused
        Number of such replies, by status.
    """

    def __init__(self, number: int, seed: int) -> None:
        super().__init__(number, seed)
        self.refused: Counter[int] = Counter()

    @property
    def acknowledged(self) -> int:
        """Number of decisions and feedback that were acknowledged."""
        return len(self.made) + len(self.learnt) + len(self.late)

    def work(self, url: str, *, until_idle: bool = False) -> None:
        """Write until the service is gone, or until nothing is open; the models are made first, if need be."""
        line = Line(url)
        try:
            for name in NAMES:
                if not self._make(line, name):
                    return
        except (OSError, http.client.HTTPException):
            return
        finally:
            line.close()
        super().work(url, until_idle=until_idle)

    def _make(self, line: Line, name: str) -> bool:
        for _ in range(2000):
            status, reply = line("PUT", f"/v1/models/{name}", MODELS[name])
            if status in (200, 201):
                self.created.add(name)
                return True
            self._was_refused(status, reply)
        return False

    def _step(self, line: Line) -> None:
        if self._telling is not None:
            self._tell(line, *self._telling)
            return
        if self._asking is None:
            self._begin()
        assert self._asking is not None
        name, body = self._asking
        status, reply = line("POST", f"/v1/models/{name}/decisions", body)
        if status != 201:
            self._was_refused(status, reply)
            return
        self._note_reply(name, reply)

    def _tell(self, line: Line, model: str, id: str, feedback: dict[str, Any]) -> None:
        self.sent[id] = (model, feedback)
        status, reply = line("POST", f"/v1/decisions/{id}/feedback", feedback)
        if status not in (200, 202):
            self._was_refused(status, reply)
            return
        self._telling = None
        if reply["status"] == "late":
            assert status == 202
            self.late.add(id)
        else:
            self.learnt[id] = reply["model_version"] if reply["status"] == "learnt" else 0
            self.repeated += reply["status"] == "duplicate"

    def _was_refused(self, status: int, reply: Any) -> None:
        assert status in REFUSALS, (status, reply)
        self.refused[status] += 1
        time.sleep(0.005)
