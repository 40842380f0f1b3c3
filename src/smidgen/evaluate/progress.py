"""A bar for long runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from smidgen.errors import MissingExtra

T = TypeVar("T")


def tracked(rounds: Iterable[T], progress: bool | Callable[[int], None]) -> Iterable[T]:
    """The rounds, behind a progress bar if ``progress`` is True (a function is for the caller to call)."""
    if progress is not True:
        return rounds
    try:
        from rich.progress import track
    except ImportError as error:
        raise MissingExtra("a progress bar needs rich", 'pip install "smidgen[cli]"') from error
    return track(rounds, description="learning")
