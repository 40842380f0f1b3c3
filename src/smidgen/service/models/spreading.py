"""Which slot of a model a key is at home in: fixed for ever, and the same in every language."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256


def slot_of(key: str, slots: int) -> int:
    """The slot of a key: the first eight bytes of the SHA-256 of its UTF-8, as a big-endian number, modulo the slots.

    Examples
    --------
    >>> from smidgen.service.models.spreading import slot_of
    >>> [slot_of(key, 4) for key in ("ann", "bob", "eve")]
    [2, 2, 3]
    """
    return int.from_bytes(sha256(key.encode()).digest()[:8], "big") % slots if slots > 1 else 0


def row_names(name: str, slots: int) -> list[str]:
    """What the store calls the parts of a model: no app can give a name with a slash.

    Examples
    --------
    >>> from smidgen.service.models.spreading import row_names
    >>> row_names("shop", 1), row_names("shop", 3)
    (['shop'], ['shop/0', 'shop/1', 'shop/2'])
    """
    return [f"{name}/{slot}" for slot in range(slots)] if slots > 1 else [name]


def name_and_part(row: str) -> tuple[str, int]:
    """The model's name, and which of its parts it is, from what the store calls it.

    Examples
    --------
    >>> from smidgen.service.models.spreading import name_and_part
    >>> name_and_part("shop"), name_and_part("shop/2")
    (('shop', 0), ('shop', 2))
    """
    name, _, part = row.partition("/")
    return name, int(part or 0)


def count_of_models(rows: Iterable[str]) -> int:
    """How many models there are, from what the store calls their parts.

    Examples
    --------
    >>> from smidgen.service.models.spreading import count_of_models
    >>> count_of_models(["news", "shop/0", "shop/1", "shop/2"])
    2
    """
    return sum(name_and_part(row)[1] == 0 for row in rows)
