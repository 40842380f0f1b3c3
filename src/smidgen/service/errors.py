"""Errors that only the service raises, each with its HTTP status, and readable descriptions of invalid bodies."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from smidgen.errors import InvalidFeatures, InvalidRecord, SmidgenError
from smidgen.features.parse import shown

# What only the service refuses; each type has its HTTP status, as in `smidgen.errors`.


class BadRequest(SmidgenError):
    """A body that is not JSON, or has unknown or missing fields."""

    status = 400


class NotAllowed(SmidgenError):
    """No token, or one that is not known."""

    status = 401


class OutOfScope(SmidgenError):
    """A token that may not do this."""

    status = 403


class ForeignOrigin(SmidgenError):
    """A request that a page of another origin sent, without a token."""

    status = 403


class Unknown(SmidgenError):
    """A model or decision that is not there, or not for this token."""

    status = 404


class UnknownModel(Unknown):
    """A model that is not there, or not for this token."""


class UnknownDecision(Unknown):
    """A decision that is not there, or not for this token."""


class TooSlow(SmidgenError):
    """A body that does not arrive."""

    status = 408


class Conflict(SmidgenError):
    """The same name or id with another body, or a model that is archived."""

    status = 409


class Retained(Conflict):
    """What lies under the base of a log, whose events retention has folded and erased."""


class Erased(Unknown):
    """A decision that was there, and that retention has erased."""


class TooLarge(SmidgenError):
    """A body beyond the limit."""

    status = 413


class WrongMedia(SmidgenError):
    """A body that is not JSON by its headers, or is encoded."""

    status = 415


class Impossible(SmidgenError):
    """A request that is well formed and cannot be answered."""

    status = 422


class Busy(SmidgenError):
    """More work than the service can take on; nothing was lost, try again."""

    status = 503


class Taken(Busy):
    """A shard that another worker is writing to, or a name that it has just made: do it again in the next batch.

    The writer does so by itself; callers of the service never see it.
    """


class StorageFailed(SmidgenError):
    """The disk refused; what was asked was not done."""

    status = 503


class LogDamaged(InvalidRecord):
    """A log of which an event is missing that was committed."""

    status = 500


class DatabaseFailed(StorageFailed):
    """The database server refused, or cannot be reached.

    The text of the exception is for the operator, on the command line and in the log: it names the server.
    ``problem`` is for callers over HTTP, and does not.
    """

    def __init__(self, problem: str, hint: str) -> None:
        super().__init__(problem, hint)
        self.problem = "the database refused, or cannot be reached"


class NoData(StorageFailed):
    """A data folder that does not exist, or a folder that no service has written to."""

    exit_status = 2


# What is wrong with a body, in words: the path of the field, the value found there, and the way out.

_KINDS = {
    "str": "a string",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
    "bytes": "base64",
}
_PATH = re.compile(r"^(?P<text>.*?)(?: - at `\$(?P<path>.*)`)?$", re.DOTALL)
_WANTED = re.compile(r"^Expected `(?P<kinds>[^`]*)`(?P<limit>.*?)(?:, got `[^`]*`)?$", re.DOTALL)
_FIELD = re.compile(r"^Object (?P<what>contains unknown|missing required) field `(?P<name>[^`]*)`$")
_STEPS = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")
_NOWHERE = object()
_DOCS = "see /docs for the fields of this body"


#: How many objects and lists of JSON may be nested: what works through them level by level needs some stack for each.
DEEP = 200


def refuse_deep(text: bytes, value: Any, place: str) -> None:
    """Refuse JSON that is nested too deep; without recursion, which is what would fail.

    Parameters
    ----------
    text, value
        The JSON, and what it was read as.
    place
        Its name in the refusal.
    """
    if text.count(b"[") + text.count(b"{") <= DEEP:
        return
    ahead = [(value, 1)]
    while ahead:
        each, depth = ahead.pop()
        if depth > DEEP:
            raise BadRequest(f"{place} is nested more than {DEEP} levels deep", "send fewer levels")
        inside = each.values() if isinstance(each, dict) else each
        ahead += [(inner, depth + 1) for inner in inside if isinstance(inner, dict | list)]


def wrong_form(error: msgspec.ValidationError, body: Any) -> Impossible:
    """The refusal for a body that a struct could not be read from.

    Parameters
    ----------
    error
        What the decoder says.
    body
        The JSON as Python has it; None if it could not be read.

    Examples
    --------
    >>> import msgspec
    >>> from smidgen.service.errors import wrong_form
    >>> wrong_form(msgspec.ValidationError("Expected `int | str`, got `float` - at `$.id`"), {"id": 1.5}).problem
    'id is 1.5'
    """
    found = _PATH.match(str(error))
    text, steps = (found["text"], found["path"] or "") if found is not None else (str(error), "")
    path = steps.removeprefix(".").replace("[...]", ".…")
    if (field := _FIELD.match(text)) is not None:
        name = f"{path}.{field['name']}" if path else field["name"]
        if field["what"].startswith("missing"):
            return Impossible(f"{name} is missing", f"give it; {_DOCS}")
        hint = f"leave it out; {_DOCS}"
        if name == "slots" and isinstance(body, dict) and "loop" in body:  # the settings of a model
            hint = f'the number of shards of a keyed model is called "shards"; {_DOCS}'
        return Impossible(f"{name} is not a field here (an unknown field `{field['name']}`)", hint)
    value = _at(body, steps)
    what = f"{path or 'the body'} {'cannot be taken' if value is _NOWHERE else f'is {shown(value)}'}"
    if (wanted := _WANTED.match(text)) is not None:
        kinds = [_KINDS.get(kind.strip(), kind.strip()) for kind in wanted["kinds"].split("|")]
        kinds = [kind for kind in kinds if kind != "null"] or kinds
        return Impossible(what, f"give {' or '.join(kinds)}{wanted['limit']}; {_DOCS}")
    return Impossible(f"{what}: {text[:1].lower()}{text[1:]}", _DOCS)


def in_record(error: InvalidFeatures, path: str) -> Impossible:
    """The refusal of a record, with the place where it stands in the request.

    Examples
    --------
    >>> from smidgen.errors import InvalidFeatures
    >>> from smidgen.service.errors import in_record
    >>> in_record(InvalidFeatures("price is inf", "leave it out"), "candidates[2].features").problem
    'candidates[2].features.price is inf'
    """
    problem, hint = error.problem, error.hint
    if problem.startswith("the record"):
        problem = path + problem.removeprefix("the record")
    elif not problem.startswith("context"):
        problem = f"{path}.{problem}"
    if "say text=" in hint:
        hint = 'if it is a text, make the model with "features": {"auto": {"text": [its path]}}; else leave it out'
    return Impossible(problem, hint)


def _at(body: Any, steps: str) -> Any:
    """The value at a path."""
    if body is None:
        return _NOWHERE
    for name, index in _STEPS.findall(steps):
        if name and isinstance(body, dict) and name in body:
            body = body[name]
        elif index.isdigit() and isinstance(body, list) and int(index) < len(body):
            body = body[int(index)]
        else:
            return _NOWHERE
    return body
