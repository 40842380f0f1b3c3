"""What must be put back in memory when a command, or a whole batch, is undone in the store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Undo:
    """Steps back, newest last.

    Examples
    --------
    >>> from smidgen.service.models.undo import Undo
    >>> undo, names = Undo(), ["a"]
    >>> mark = undo.mark()
    >>> names.append("b"); undo.note(names.pop)
    >>> undo.back(mark); names
    ['a']
    """

    def __init__(self) -> None:
        self._steps: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []

    def note(self, step: Callable[..., Any], *arguments: Any) -> None:
        """Remember how to take the latest change back."""
        self._steps.append((step, arguments))

    def mark(self) -> int:
        """A place to come back to."""
        return len(self._steps)

    def back(self, mark: int = 0) -> None:
        """Take back all changes since the place."""
        while len(self._steps) > mark:
            step, arguments = self._steps.pop()
            step(*arguments)

    def clear(self) -> None:
        """The changes last."""
        self._steps.clear()
