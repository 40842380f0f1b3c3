"""The root of all bodies, and the hash by which one is known again."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec
from msgspec import Struct

from smidgen.service.refusals import Impossible


class Message(Struct, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """The root of all bodies."""


def digest(body: Message | dict[str, Any]) -> bytes:
    """The hash of a body, or of its fields, by which the same one is known again.

    MessagePack writes numbers far quicker than JSON.
    """
    try:
        return hashlib.sha256(msgspec.msgpack.encode(body, order="deterministic")).digest()[:16]
    except OverflowError as error:
        raise Impossible("the body holds a whole number of more than 64 bits", "send it as a string") from error
