"""Other learners as people write them: a name, and settings behind a colon."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from smidgen.errors import InvalidArgument
from smidgen.service.loops.registry import loops
from smidgen.service.messages import ModelBody

#: What belongs to the log's own learner, or to its place beside another.
_ALONE: dict[str, Any] = dict.fromkeys(("explore", "min_share", "shadow_of", "challenger_of"))


def other_body(body: ModelBody, spec: str) -> ModelBody:
    """The model's settings with another learner, which explores as its own settings say.

    Examples
    --------
    >>> from smidgen.service.messages import ModelBody
    >>> from smidgen.service.insight.specs import other_body
    >>> model = ModelBody(loop="label", learner="Banditron", params={"dim": 2, "gamma": 0.1}, labels=["a", "b"])
    >>> other_body(model, "Confidit:eta=0.1,covariance=full").params
    {'dim': 2, 'eta': 0.1, 'covariance': 'full'}
    """
    name, _, rest = spec.partition(":")
    facts = loops.find(body.loop).facts
    params: dict[str, Any] = {key: value for key, value in body.params.items() if key in facts}
    for part in re.split(r",(?=\s*\w+\s*=)", rest) if rest.strip() else ():
        key, equals, text = (each.strip() for each in part.partition("="))
        if not equals or not key.isidentifier():
            raise InvalidArgument(f"the learner is {spec!r}", 'write it as "Name:argument=value,argument=value"')
        params[key] = _value(text)
    return msgspec.structs.replace(body, learner=name.strip(), params=params, **_ALONE)


def _value(text: str) -> Any:
    """A number, a list, true, false or null as JSON says it; anything else is a word."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {"True": True, "False": False, "None": None}.get(text, text)
