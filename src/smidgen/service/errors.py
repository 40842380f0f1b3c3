"""Errors that only the service raises, each with its HTTP status, and readable descriptions of invalid bodies."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import msgspec
from msgspec import inspect

from smidgen.checks import nearest, suggest
from smidgen.errors import InvalidFeatures, InvalidRecord, SmidgenError


class BadRequest(SmidgenError):
    """A body that is not JSON, or has unknown or missing fields."""

    status = 400


class NotAllowed(SmidgenError):
    """A missing or unknown token."""

    status = 401


class OutOfScope(SmidgenError):
    """A token without the scope for this call."""

    status = 403


class ForeignOrigin(SmidgenError):
    """A request that a page of another origin sent, without a token."""

    status = 403


class Unknown(SmidgenError):
    """A model or decision that does not exist, or that this token may not see."""

    status = 404


class UnknownModel(Unknown):
    """A model that does not exist, or that this token may not see."""


class UnknownDecision(Unknown):
    """A decision that does not exist, or that this token may not see."""


class TooSlow(SmidgenError):
    """A body that did not arrive in time."""

    status = 408


class Conflict(SmidgenError):
    """A name or id that is already used with another body, or an archived model."""

    status = 409


class Retained(Conflict):
    """A request for events that retention has folded into the checkpoint and erased."""


class NoHoldout(Conflict):
    """A question about the holdout of a model that has none."""


class Erased(Unknown):
    """A decision that retention has erased."""


class TooLarge(SmidgenError):
    """A body above the size limit."""

    status = 413


class WrongMedia(SmidgenError):
    """A body with the wrong Content-Type, or with a Content-Encoding."""

    status = 415


class Impossible(SmidgenError):
    """A well-formed request that the service cannot answer."""

    status = 422


class Busy(SmidgenError):
    """An overloaded or stopping service; nothing was changed, and the caller can retry."""

    status = 503


class Taken(Busy):
    """A shard that another worker is writing to, or a name that it has just created.

    The writer retries in its next batch; callers of the service never see this error.
    """


class StorageFailed(SmidgenError):
    """A failed write to the disk or database; nothing was changed."""

    status = 503


class Outdated(StorageFailed):
    """A shard that another worker has written to while this one relied on its memory; nothing was changed.

    The writer repeats the batch with locks; callers of the service never see this error.
    """


class NeedsDatabase(StorageFailed):
    """A command that needs a query, in a batch that must not wait for the database.

    The writer repeats the batch in its thread; callers of the service never see this error.
    """


class LogDamaged(InvalidRecord):
    """A log that lacks a committed event."""

    status = 500


class DatabaseFailed(StorageFailed):
    """A database server that is unreachable or returned an error.

    The text of the exception is for the operator, on the command line and in the log: it names the server.
    ``problem`` is for callers over HTTP and does not name it.
    """

    def __init__(self, problem: str, hint: str) -> None:
        super().__init__(problem, hint)
        self.problem = "the database cannot be reached or returned an error"


class NoData(StorageFailed):
    """A data folder that does not exist, or that no service has written to."""

    exit_status = 2


# Errors in a body: the path of the field, the value found there in JSON, and a fix.

_KINDS = {
    "str": "a string",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "an array",
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
_MALFORMED = re.compile(r"^JSON is malformed: (?P<what>.*) \(byte (?P<byte>\d+)\)$")
#: Names that callers of other products use, and ours.
_OTHER_NAMES = {
    "actions": "candidates",
    "algorithm": "learner",
    "arms": "candidates",
    "config": "params",
    "items": "candidates",
    "policy": "learner",
    "slots": "shards",
    "user": "key",
    "user_id": "key",
}
#: Objects with more fields than this are not listed in a hint.
_FEW = 8
_SHORT = 40
_IN_JSON = {"None": "null", "True": "true", "False": "false", "a dict of": "an object of", "a list of": "an array of"}
_PYTHON = re.compile(rf"^(.*? is )({'|'.join(_IN_JSON)})\b")


def json_text(value: Any) -> str:
    """Return a value as JSON for an error message, shortened.

    Examples
    --------
    >>> from smidgen.service.errors import json_text
    >>> json_text(None), json_text(True), json_text("red"), json_text({"a": 1}), json_text([1, 2])
    ('null', 'true', '"red"', 'an object with 1 field', 'an array of 2')
    """
    if isinstance(value, str):
        cut = msgspec.json.encode(value[:_SHORT].encode("utf-8", "replace").decode()).decode()
        return cut if len(value) <= _SHORT else f'{cut[:-1]}…" ({len(value):,} characters)'
    if isinstance(value, dict):
        return f"an object with {len(value):,} field{'' if len(value) == 1 else 's'}"
    if isinstance(value, list | tuple):
        return f"an array of {len(value):,}"
    if value is None or isinstance(value, bool):
        return str(value).lower().replace("none", "null")
    if isinstance(value, int) and value.bit_length() > 128:
        return f"a number of {value.bit_length():,} bits"
    return repr(value) if isinstance(value, int | float) else f"a {type(value).__name__}"


def not_json(error: Exception, what: str = "the body", hint: str = "fix the syntax") -> BadRequest:
    """Return the error for text that is not valid JSON, with the byte at which reading failed."""
    found = _MALFORMED.match(str(error))
    if found is not None:
        return BadRequest(f"{what} is not valid JSON (byte {found['byte']}: {found['what']})", hint)
    if "truncated" in str(error):
        return BadRequest(f"{what} is not valid JSON: it ends too early", hint)
    return BadRequest(f"{what} is not valid JSON: {error}", hint)


#: Maximum depth of objects and arrays in JSON: code that works through them level by level needs stack
#: space.
DEEP = 200


def refuse_deep(text: bytes, value: Any, place: str) -> None:
    """Refuse JSON that is nested too deep; works without recursion, which would fail.

    Parameters
    ----------
    text, value
        The JSON, and the value read from it.
    place
        Its name in the error message.
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


def validation_error(error: msgspec.ValidationError, body: Any, kind: Any = None) -> Impossible:
    """Return the error for a body that does not fit its struct.

    Parameters
    ----------
    error
        The decoder's exception.
    body
        The JSON as a Python value; None if it could not be read.
    kind
        The struct that was to be read: an unknown field then gets the nearest known one as a hint.

    Examples
    --------
    >>> import msgspec
    >>> from smidgen.service.errors import validation_error
    >>> validation_error(msgspec.ValidationError("Expected `int | str`, got `float` - at `$.id`"), {"id": 1.5}).problem
    'id is 1.5'
    """
    found = _PATH.match(str(error))
    text, steps = (found["text"], found["path"] or "") if found is not None else (str(error), "")
    found_at = _with_only_keys(body, steps)
    path = found_at.removeprefix(".").replace("[...]", ".…")
    if (field := _FIELD.match(text)) is not None:
        name = f"{path}.{field['name']}" if path else field["name"]
        if field["what"].startswith("missing"):
            return Impossible(f"{name} is missing", f"add it; {_DOCS}")
        if not steps and field["name"] in getattr(kind, "fixed", ()):
            return Impossible(f'"{name}" cannot be changed', "create another model with this setting")
        near = _near(field["name"], kind, steps)
        known = () if kind is None else _known(kind, steps)
        named = f"this object has the fields {', '.join(known)}" if 0 < len(known) <= _FEW else _DOCS
        hint = f"remove it; {named}" if near is None else f'did you mean "{near}"? {_DOCS[0].upper()}{_DOCS[1:]}'
        return Impossible(f'unknown field "{name}"', hint)
    value = _at(body, found_at)
    what = f"{path or 'the body'} {'is not valid' if value is _NOWHERE else f'is {json_text(value)}'}"
    if (wanted := _WANTED.match(text)) is not None:
        kinds = [_KINDS.get(kind.strip(), kind.strip()) for kind in wanted["kinds"].split("|")]
        kinds = [kind for kind in kinds if kind != "null"] or kinds
        by_id = kinds == ["an object"] and isinstance(value, str) and kind is not None and "id" in _known(kind, steps)
        example = f', e.g. {{"id": {json_text(value)}}}' if by_id else ""
        return Impossible(what, f"send {' or '.join(kinds)}{wanted['limit']}{example}; {_DOCS}")
    if text.startswith("Invalid enum value") and value is not _NOWHERE and (names := _choices(kind, steps)):
        return Impossible(what, suggest(value, names))
    return Impossible(f"{what}: {text[:1].lower()}{text[1:]}", _DOCS)


def record_error(error: InvalidFeatures, path: str) -> Impossible:
    """Return the error for a record, with its path in the request and its value in JSON terms.

    Examples
    --------
    >>> from smidgen.errors import InvalidFeatures
    >>> from smidgen.service.errors import record_error
    >>> record_error(InvalidFeatures("price is inf", "omit it"), "candidates[2].features").problem
    'candidates[2].features.price is inf'
    """
    problem, hint = error.problem, error.hint
    if problem.startswith("the record"):
        problem = path + problem.removeprefix("the record")
    elif not problem.startswith("context"):
        problem = f"{path}.{problem}"
    problem = _PYTHON.sub(lambda found: f"{found[1]}{_IN_JSON[found[2]]}", problem, count=1)
    if "text=" in hint:
        hint = 'for prose, create the model with "features": {"auto": {"text": [its path]}}; otherwise remove the field'
    return Impossible(problem, hint)


def _near(name: str, kind: Any, steps: str) -> str | None:
    """The known field nearest to an unknown one, at a path in a struct."""
    known = () if kind is None else _known(kind, steps)
    other = _OTHER_NAMES.get(name)
    return other if other in known else nearest(name, known)


@cache
def _info(kind: Any) -> inspect.Type:
    return inspect.type_info(kind)


def _known(kind: Any, steps: str) -> tuple[str, ...]:
    """Names of the fields that a struct has at a path."""
    here = _types_at(kind, steps)
    return tuple(field.encode_name for each in here if isinstance(each, inspect.StructType) for field in each.fields)


def _choices(kind: Any, steps: str) -> list[str]:
    """Values that a field with a fixed list of values may have."""
    here = [] if kind is None else _types_at(kind, steps)
    return [str(value) for each in here if isinstance(each, inspect.LiteralType) for value in each.values]


def _types_at(kind: Any, steps: str) -> list[inspect.Type]:
    """Types that a value may have at a path."""
    here = _alternatives(_info(kind))
    for name, _ in _STEPS.findall(steps):
        inside: list[inspect.Type] = []
        for each in here:
            if isinstance(each, inspect.StructType):
                inside += [field.type for field in each.fields if field.encode_name == name]
            elif isinstance(each, inspect.DictType):
                inside.append(each.value_type)
            elif isinstance(each, inspect.ListType):
                inside.append(each.item_type)
        here = [one for each in inside for one in _alternatives(each)]
    return here


def _alternatives(kind: inspect.Type) -> list[inspect.Type]:
    return list(kind.types) if isinstance(kind, inspect.UnionType) else [kind]


def _with_only_keys(body: Any, steps: str) -> str:
    """Name the keys of mappings that have only one; msgspec writes ``[...]`` for any key."""
    while "[...]" in steps:
        before, _, after = steps.partition("[...]")
        inside = _at(body, before)
        if not isinstance(inside, dict) or len(inside) != 1:
            break
        (key,) = inside
        if not isinstance(key, str) or not key or set(key) & set(".[]"):
            break
        steps = f"{before}.{key}{after}"
    return steps


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
