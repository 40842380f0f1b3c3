"""What an app says of its drafts beyond their texts: any names, hashed into a fixed number of columns."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from smidgen.decision import FloatArray
from smidgen.errors import InvalidFeatures
from smidgen.features import limits
from smidgen.features.style import MAIN, TRAITS

#: Columns of what the app gives.
GIVEN = 192
#: Fields of a context.
FIELDS = 32

Said = dict[str, float | str]


def as_given(features: Any, n: int) -> list[Said] | None:
    """The features of n drafts, each by name: from records, or from a matrix whose columns are their own names."""
    hint = f"give {n} records, e.g. {{'model': 'small', 'temperature': 0.2}}, or a matrix of {n} rows"
    if features is None:
        return None
    if isinstance(features, (str, bytes, Mapping)) or not hasattr(features, "__len__"):
        raise InvalidFeatures(f"the features are a {type(features).__name__}", hint)
    if len(features) != n:
        raise InvalidFeatures(f"there are {n} drafts and features of {len(features)}", hint)
    return [_said(each, hint) for each in features]


def _said(record: Any, hint: str) -> Said:
    if record is None:
        return {}
    if not isinstance(record, Mapping):
        try:
            numbers = np.asarray(record, np.float64)
        except (ValueError, TypeError) as error:
            raise InvalidFeatures(f"the features of a draft are a {type(record).__name__}", hint) from error
        if numbers.ndim != 1:
            raise InvalidFeatures(f"the features of a draft have the shape {numbers.shape}", hint)
        record = {str(place): value for place, value in enumerate(numbers.tolist())}
    if len(record) > limits.FIELDS:
        raise InvalidFeatures(f"a draft has {len(record):,} features", f"give at most {limits.FIELDS:,}")
    return {_name(name): _value(name, value) for name, value in record.items() if value is not None}


def _name(name: Any) -> str:
    if not isinstance(name, str) or len(name) > limits.KEY:
        raise InvalidFeatures(
            f"the name of a feature is {str(name)[:40]!r}", f"give strings of at most {limits.KEY} characters"
        )
    return name


def _value(name: str, value: Any) -> float | str:
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, str):
        if len(value) > limits.CATEGORY:
            raise InvalidFeatures(
                f"{name} has {len(value):,} characters", f"give at most {limits.CATEGORY:,}; a draft's text is its text"
            )
        return value
    number: Any = value if isinstance(value, (int, float, np.integer, np.floating)) else math.nan
    if not abs(number) <= limits.LARGEST:
        raise InvalidFeatures(f"{name} is {str(value)[:40]}", "give a string, a bool or a finite number")
    return float(number)


def as_context(context: Any) -> Said | None:
    """What is the same for all drafts, by name."""
    if context is not None and not isinstance(context, Mapping):
        raise InvalidFeatures(f"the context is a {type(context).__name__}", "give a record, e.g. {'channel': 'email'}")
    if context is not None and len(context) > FIELDS:
        raise InvalidFeatures(f"the context has {len(context):,} fields", f"give at most {FIELDS}")
    return None if context is None else _said(context, "give a record, e.g. {'channel': 'email'}")


def crossed(context: Said, said: Said) -> Said:
    """Every category of the context together with every feature of a draft."""
    return {
        f"context.{about}={value} × {name}": each
        for about, value in context.items()
        if isinstance(value, str)
        for name, each in said.items()
    }


def lay_context(context: Said, row: FloatArray, out: FloatArray) -> None:
    """Every category of the context together with the main traits of style, in hashed columns."""
    for about, value in context.items():
        if isinstance(value, str):
            for trait in MAIN:
                column, sign = _place(f"context.{about}={value} × {TRAITS[trait].name}")
                out[column] += sign * row[trait]


def lay_given(said: Said, out: FloatArray) -> None:
    """What was said in hashed columns: categories as 1, numbers as the logarithm of their size with their sign."""
    for name, value in said.items():
        term = f"{name}={value}" if isinstance(value, str) else name
        column, sign = _place(term)
        out[column] += sign * (1.0 if isinstance(value, str) else math.copysign(math.log1p(abs(value)), value))


@lru_cache(maxsize=4096)
def _place(term: str) -> tuple[int, float]:
    content = hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    number = int.from_bytes(content, "little")
    return (number >> 1) % GIVEN, 1.0 if number & 1 else -1.0
