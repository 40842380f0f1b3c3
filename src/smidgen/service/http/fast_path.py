"""The two calls that come most, answered without a detour: a decision, and feedback on one.

What is here does nothing of its own. It takes a request whose head and body arrived together and in which nothing is
unusual, and gives its command to the writer. Everything else, and all that is to be refused before a command is made,
is left to the ordinary way, which looks at the request from its beginning.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial
from http import HTTPStatus
from time import perf_counter
from typing import Any

import msgspec

from smidgen.errors import SmidgenError
from smidgen.service.http.auth import EVERYTHING
from smidgen.service.http.endpoints import DECISION, MODEL
from smidgen.service.http.errors import error_response
from smidgen.service.http.middleware import LARGE, Gate, InFlightBytes, decode
from smidgen.service.http.resources import Service
from smidgen.service.http.rights import MATRIX, Grant
from smidgen.service.http.telemetry import REQUEST_ID, request_id
from smidgen.service.http.tracing import TRACEPARENT, RequestTrace
from smidgen.service.loops.registry import loops
from smidgen.service.schemas import ErrorReply, FeedbackReply, internal_error

_log = logging.getLogger("smidgen.service")
_DECISION, _FEEDBACK = b"/v1/decisions/", b"/feedback"
_MODEL, _DECISIONS = b"/v1/models/", b"/decisions"
_FEEDBACK_ROUTE, _DECIDE_ROUTE = f"{DECISION}/feedback", f"{MODEL}/decisions"
_REACT, _DECIDE = MATRIX[f"POST {_FEEDBACK_ROUTE}"], MATRIX[f"POST {_DECIDE_ROUTE}"]
_encode = msgspec.json.Encoder().encode

#: Writes an answer: its status, its body, and additional headers.
Respond = Callable[[int, bytes, dict[str, str]], None]


class FastPath:
    """Takes requests off a connection.

    Parameters
    ----------
    here
        The running service.
    holding
        The bytes of bodies that the service holds, counted here too.
    gate
        Judges heads, as it does for the ordinary way.
    """

    def __init__(self, here: Service, holding: InFlightBytes, gate: Gate) -> None:
        self._here = here
        self._gate = gate
        self._holding = holding
        self._largest = min(LARGE, here.options.max_body)
        self._open: bool | None = None  # whether there is no token, in this turn of the event loop

    @staticmethod
    def matches(target: bytes) -> bool:
        """Check whether a POST to this target may be one of those."""
        return target.endswith((_FEEDBACK, _DECISIONS))

    def handle(
        self,
        target: bytes,
        headers: list[tuple[bytes, bytes]],
        body: bytes,
        respond: Respond,
        peer: str | None = None,
    ) -> bool:
        """Take a POST; False, if it is for the ordinary way, and then nothing has happened.

        ``peer`` is the address of the other end of the connection.
        """
        began, observer = perf_counter(), self._here.observer
        size, held, found = len(body), self._holding, dict(headers)
        if size > self._largest or held.held + size > held.limit or len(found) < len(headers) or not _is_plain(found):
            return False
        if not self._passes_gate(headers, peer):
            return False
        try:
            id, trace = request_id(found.get(REQUEST_ID)), observer.trace(found.get(TRACEPARENT))
            made = self._command(target, found.get(b"authorization"), body, id, trace)
            if made is None:
                return False
            command, at_hand, tell, about, route = made

            def observed(status: int, content: bytes, more: dict[str, str]) -> None:
                respond(status, content, more if id is None else {**more, "x-request-id": id})
                path = target.decode("latin-1")
                observer.finish(route, "POST", path, status, perf_counter() - began, id, peer, trace)

            def done(answer: Any, refusal: Exception | None) -> None:
                held.held -= size
                if trace is not None:
                    trace.commit()
                if refusal is None:
                    tell(answer, observed)
                else:
                    self._refuse(refusal, observed)

            self._here.writer.submit(command, done, at_hand, about)
        except SmidgenError:
            return False
        held.held += size
        return True

    def _passes_gate(self, headers: list[tuple[bytes, bytes]], peer: str | None) -> bool:
        """Check host and origin; where they need a token, whether tokens exist."""
        verdict = self._gate.judge("POST", headers, peer)
        return verdict.refusal is None and (verdict.while_open is None or not self._has_no_tokens())

    def admits(self, target: bytes, headers: list[tuple[bytes, bytes]], peer: str | None) -> bool:
        """Judge a request by its head and its token, as `handle` does, before it is sent to another machine."""
        if not self._passes_gate(headers, peer):
            return False
        token = dict(headers).get(b"authorization")
        header = None if token is None else token.decode("latin-1")
        name = None
        if not target.startswith(_DECISION):
            name = target[len(_MODEL) : -len(_DECISIONS)].decode("latin-1")
        try:
            rights = EVERYTHING if self._has_no_tokens() else self._here.tokens.rights(header)
            Grant(self._here, _REACT if name is None else _DECIDE, rights, header, name)
        except SmidgenError:
            return False
        return True

    def _has_no_tokens(self) -> bool:
        """Check whether there is no token; those who come in the same turn of the event loop come at one time."""
        if self._open is None:
            self._open = not self._here.tokens.any()
            asyncio.get_running_loop().call_soon(self._forget_answer)
        return self._open

    def _forget_answer(self) -> None:
        self._open = None

    def _command(
        self, target: bytes, token: bytes | None, raw: bytes, request: str | None, trace: RequestTrace | None
    ) -> tuple[Callable[[], Any], Callable[[], str | None], Callable[[Any, Respond], None], Sequence[str], str] | None:
        """Make the command, whether it is hot, the sender of its answer, the decisions that it is about, its route."""
        here = self._here
        header = None if token is None else token.decode("latin-1")
        rights = EVERYTHING if self._has_no_tokens() else here.tokens.rights(header)
        if target.startswith(_DECISION):
            id = target[len(_DECISION) : -len(_FEEDBACK)].decode("latin-1")
            if not target.endswith(_FEEDBACK) or not (id.isascii() and id.isalnum()):
                return None
            grant = Grant(here, _REACT, rights, header, trace=trace)
            feedback = decode(raw, loops.feedback)
            command = grant.command(partial(here.engine.feedback, id, feedback))
            return (
                command,
                partial(here.engine.is_hot_for_feedback, id),
                self._send_feedback_reply,
                (id,),
                _FEEDBACK_ROUTE,
            )
        name = target[len(_MODEL) : -len(_DECISIONS)].decode("latin-1")
        if not target.startswith(_MODEL) or not target.endswith(_DECISIONS) or name not in here.engine.models:
            return None
        grant = Grant(here, _DECIDE, rights, header, name, request, trace)
        body = decode(raw, loops.decision)
        made = grant.command(lambda _: here.engine.decide(name, body))
        return made, partial(here.engine.is_hot_for_decide, name, body.key), _send_decision, (), _DECIDE_ROUTE

    def _send_feedback_reply(self, answer: FeedbackReply, respond: Respond) -> None:
        self._here.metrics.count("feedback", answer.status)
        respond(202 if answer.status == "late" else 200, _encode(answer), {})

    def _refuse(self, error: Exception, respond: Respond) -> None:
        if isinstance(error, SmidgenError):
            self._here.metrics.count("refused", type(error).__name__)
            respond(error.status, *error_response(error))
        else:
            _log.error("a request failed", exc_info=error)
            respond(HTTPStatus.INTERNAL_SERVER_ERROR, _encode(ErrorReply(error=internal_error())), {})


def _send_decision(answer: dict[str, Any], respond: Respond) -> None:
    respond(201, _encode(answer), {})


def _is_plain(found: dict[bytes, bytes]) -> bool:
    """Check whether the head says nothing but the usual."""
    return (
        b"content-length" in found
        and b"content-encoding" not in found
        and b"expect" not in found
        and _is_json(found.get(b"content-type", b""))
    )


def _is_json(media: bytes) -> bool:
    return media == b"application/json" or media.partition(b";")[0].strip().lower() == b"application/json"
