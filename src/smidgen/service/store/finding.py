"""Something that is wrong with a data folder, in words, with the way out."""

from __future__ import annotations

import msgspec

#: How many findings of one code about one thing are told; of the rest only how many there are.
MOST = 20


class Fault(msgspec.Struct, frozen=True):
    """Something that is wrong.

    Attributes
    ----------
    code
        One word, for programs: ``database``, ``tables``, ``chain``, ``counts``, ``lost``, ``head``, ``snapshot``,
        ``state``, ``replay``, ``settings``, ``learner``, ``token``, ``mode``.
    where
        A model, or a file of the folder.
    problem
        What is wrong.
    hint
        The way out.
    """

    code: str
    where: str
    problem: str
    hint: str


class Findings:
    """Collects findings; a long log that is wrong throughout does not fill the memory."""

    def __init__(self) -> None:
        self._found: list[Fault] = []
        self._counts: dict[tuple[str, str], int] = {}
        self._hints: dict[tuple[str, str], str] = {}

    def add(self, code: str, where: str, problem: str, hint: str) -> None:
        """Something is wrong."""
        place = (code, where)
        self._counts[place] = count = self._counts.get(place, 0) + 1
        self._hints[place] = hint
        if count <= MOST:
            self._found.append(Fault(code, where, problem, hint))

    def all(self) -> list[Fault]:
        """What was found, in order, and how many more there are of each."""
        more = [
            Fault(code, where, f"and {count - MOST} more", self._hints[code, where])
            for (code, where), count in self._counts.items()
            if count > MOST
        ]
        return [*self._found, *more]
