"""Exceptions of decoders. Not in `smidgen.errors`, which every ``--help`` imports: msgspec would make it slower."""

from __future__ import annotations

import msgspec

#: What decoders of JSON and MessagePack raise when bytes are not what they should be, or nested too deep.
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
