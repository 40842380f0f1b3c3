"""Records as other systems write them, in the form that ours takes: nothing is refused that has a plain meaning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def record(given: Mapping[str, Any]) -> dict[str, Any]:
    """An object as a record: names with an underscore first are for people, and lists are sets of words.

    Examples
    --------
    >>> from smidgen.service.lenient import record
    >>> record({"day": "mon", "_note": "?", "sizes": [1, 2], "os": {"name": "ios"}})
    {'day': 'mon', 'sizes': ['1', '2'], 'os': {'name': 'ios'}}
    """
    return {name: _value(value) for name, value in given.items() if name and not name.startswith("_")}


def gathered(given: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Several objects as one record; words under one name are a set, objects are gathered, else the last one counts.

    Examples
    --------
    >>> from smidgen.service.lenient import gathered
    >>> gathered([{"tag": "a", "n": 1}, {"tag": "b", "n": 2}])
    {'tag': ['a', 'b'], 'n': 2}
    """
    found: dict[str, Any] = {}
    for each in given:
        for name, value in record(each).items():
            found[name] = _both(found[name], value) if name in found else value
    return found


def _both(first: Any, second: Any) -> Any:
    if isinstance(first, dict) and isinstance(second, dict):
        return gathered((first, second))
    if isinstance(first, str | list) and isinstance(second, str | list):
        words = [*_words(first), *_words(second)]
        return list(dict.fromkeys(words)) if len(set(words)) > 1 else words[0]
    return second


def _words(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _value(value: Any) -> Any:
    if isinstance(value, dict):
        return record(value)
    if not isinstance(value, list):
        return value
    if any(isinstance(each, dict) for each in value):
        return gathered(each for each in value if isinstance(each, dict))
    return list(dict.fromkeys(_word(each) for each in value if each is not None and not isinstance(each, list)))


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)
