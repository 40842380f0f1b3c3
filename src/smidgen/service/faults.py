"""What is wrong with a body, in words: the path of the field, the value found there, and the way out."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from smidgen.errors import InvalidFeatures
from smidgen.features.record import shown
from smidgen.service.refusals import Impossible

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
    >>> from smidgen.service.faults import wrong_form
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
        return Impossible(f"{name} is not a field here (an unknown field `{field['name']}`)", f"leave it out; {_DOCS}")
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
    >>> from smidgen.service.faults import in_record
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
