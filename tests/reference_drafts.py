"""The draft loop in slow and obvious Python: the reference of the compiled one."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from smidgen.features.words import terms

FNV, POLYNOMIAL, FINAL, MASK = 16_777_619, 1_000_003, 73_244_475, 2**31 - 1


def residues(text: str) -> tuple[int, int]:
    left, right = 17, 29
    for character in text:
        left, right = ((left ^ ord(character)) * FNV) & MASK, (right * POLYNOMIAL + ord(character) + 1) & MASK
    return left, right


def joined(first: tuple[int, int], second: tuple[int, int]) -> tuple[int, int]:
    left = ((((first[0] * 31 + 7) & MASK) ^ second[0]) * FNV) & MASK
    return left, (first[1] * POLYNOMIAL + second[1] + 1) & MASK


def stirred(left: int, right: int) -> int:
    h = left ^ (right >> 3) ^ ((right << 5) & MASK)
    h = ((h ^ (h >> 16)) * FINAL) & MASK
    h = ((h ^ (h >> 15)) * FINAL) & MASK
    return h ^ (h >> 16)


def words_row(text: str, columns: int) -> Any:
    """The words and pairs that the vectorizer finds in a text, hashed."""
    names, more = terms(text)
    row, squares = np.zeros(columns), 0.0
    for k, name in enumerate(names):
        worth = more.get(k, 1.0)
        first, *rest = name.split(" ")
        key = residues(first)
        for word in rest:
            key = joined(key, residues(word))
        h = stirred(*key)
        row[(h >> 1) % columns] += worth if h & 1 else -worth
        squares += worth * worth
    return row / math.sqrt(squares) if squares else row


def letters_row(text: str, columns: int) -> Any:
    """Runs of three to five characters, hashed."""
    plain = "".join(" " if c.isspace() and c != "\n" else c for c in text.casefold())
    row = np.zeros(columns)
    for k in range(len(plain) - 2):
        for size in (3, 4, 5):
            if k + size <= len(plain):
                run = residues(plain[k : k + size])[0]
                h = ((run ^ (run >> 15)) * FINAL) & MASK
                h ^= h >> 16
                row[(h >> 1) % columns] += 1.0 if h & 1 else -1.0
    length = float(np.linalg.norm(row))
    return row / length if length else row


def tokens(text: str) -> list[str]:
    return re.findall(r"\w+|[^\w\s]+|\n+", text)


def levenshtein(a: Sequence[Any], b: Sequence[Any]) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]


def soft_step(w: Any, delta: Any, weight: float) -> Any:
    """w + weight·σ(−w·Δ)·Δ."""
    agreement = sum(float(a) * float(b) for a, b in zip(w, delta, strict=True))
    return w + weight * (1.0 / (1.0 + math.exp(agreement))) * delta
