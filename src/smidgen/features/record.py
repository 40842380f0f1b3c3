"""What people hand over as a record, as a dict; and how refusals speak of what was found in it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

from smidgen.errors import InvalidFeatures
from smidgen.features import limits
from smidgen.features.frames import frame_records, is_frame, missing

FORMS = "give a mapping, a dataclass, or a row of a pandas or polars frame"


def as_record(value: Any, path: str = "the record") -> dict[Any, Any]:
    """A record as a dict; the values are still to be looked at."""
    if type(value) is dict:
        return value
    if isinstance(value, Mapping):
        if len(value) > limits.FIELDS:
            refuse_many(path, len(value))
        return dict(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if hasattr(value, "__struct_fields__"):
        return {name: getattr(value, name) for name in value.__struct_fields__}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return dict(value._asdict())
    if hasattr(value, "to_dict") and hasattr(value, "index") and getattr(value, "ndim", 0) == 1:  # a pandas row
        if len(value) > limits.FIELDS:
            refuse_many(path, len(value))
        return {key: None if missing(entry) else entry for key, entry in value.to_dict().items()}
    if is_frame(value) and len(value) == 1:
        return frame_records(value)[0]
    raise InvalidFeatures(f"{path} is {shown(value)} and must be a record", FORMS)


def plain(value: Any) -> Any:
    """A value of Python's or numpy's own kinds as JSON would say it; what has no such form comes back as it is."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, np.generic):
        return _of_numpy(value)
    if type(value).__name__ in ("NAType", "NaTType"):  # the latter says that it is a date
        return None
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, bool):
        return bool(value)
    if isinstance(value, (int, float, Decimal, Fraction)):
        return _number(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, (set, frozenset)):
        return sorted(value) if all(isinstance(item, str) for item in value) else list(value)
    if isinstance(value, tuple) and not hasattr(value, "_asdict"):
        return list(value)
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return value[: limits.LIST + 1].tolist()
    structured = isinstance(value, (Mapping, tuple)) or hasattr(value, "__struct_fields__")
    structured = structured or (dataclasses.is_dataclass(value) and not isinstance(value, type))
    return as_record(value) if structured and not isinstance(value, bytes) else value


def _of_numpy(value: Any) -> Any:
    """A scalar of numpy's; a moment that is none is nothing."""
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return None if np.isnat(value) else str(value)
    return str(value) if isinstance(value, np.void) else plain(value.item())


def _number(value: Any) -> float:
    try:
        return float(value)
    except (OverflowError, ValueError):
        return float("inf")


def shown(value: Any) -> str:
    """A value for a refusal: short, whatever it is."""
    if isinstance(value, str):
        return repr(value) if len(value) <= 40 else f"{value[:40]!r}… ({len(value):,} characters)"
    if value is None or isinstance(value, (bool, float)):
        return repr(value)
    if isinstance(value, int):
        return repr(value) if value.bit_length() <= 128 else f"a number of {value.bit_length():,} bits"
    if isinstance(value, (list, tuple, dict, set, frozenset, bytes, bytearray)):
        return f"a {type(value).__name__} of {len(value):,}"
    return f"a {type(value).__name__}"


def refuse_many(path: str, fields: int) -> NoReturn:
    """Too many fields."""
    raise InvalidFeatures(
        f"{path} has {fields:,} fields or more, and at most {limits.FIELDS:,} are taken",
        "leave fields out, or give a matrix of features",
    )


def refuse_number(path: str, value: Any) -> NoReturn:
    """NaN, infinity, or far too large."""
    raise InvalidFeatures(
        f"{path} is {shown(value)}, and a number must be finite and within ±{limits.LARGEST:g}",
        "say null where it is not known, or leave the field out",
    )


def refuse_kind(path: str, value: Any) -> NoReturn:
    """What no record can hold."""
    hint = "give a number, a bool, a string, null, a list of strings, or an object"
    if isinstance(value, (bytes, bytearray)):
        hint = "decode it to a string first"
    raise InvalidFeatures(f"{path} is {shown(value)}", hint)
