"""A task: a function by its name, and settings that JSON can hold. That is all that is ever sent to another process."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from smidgen.errors import InvalidArgument, SmidgenError

#: What a function does: it gives numbers while it works (how far it is), and at last its answer.
Work = Callable[[dict[str, Any]], Iterator[int | bytes]]


@dataclass(frozen=True)
class Task:
    """A call of a module-level function.

    Attributes
    ----------
    work
        The function, as ``"module:name"``. It is called with the settings and gives whole numbers, as often as it
        likes, and last its answer as bytes.
    settings
        What JSON can hold: names, numbers, paths.
    """

    work: str
    settings: dict[str, Any]

    def run(self) -> Iterator[int | bytes]:
        """Do the work here."""
        return function(self.work)(self.settings)


class WorkFailed(SmidgenError):
    """Work in another process that ended without an answer."""

    status = 500


def function(name: str) -> Work:
    """The function of this name, ``"module:name"``."""
    module, _, attribute = name.partition(":")
    found: Work | None = getattr(importlib.import_module(module), attribute, None)
    if not callable(found):
        raise InvalidArgument(
            f"there is no function {name}", "define the task's function at the top level of its module"
        )
    return found


def dump_error(error: BaseException) -> dict[str, str]:
    """An error as JSON; of ours, the class and both its parts."""
    if isinstance(error, SmidgenError):
        kind = type(error)
        return {"error": f"{kind.__module__}:{kind.__qualname__}", "problem": error.problem, "hint": error.hint}
    return {"error": "", "problem": f"{type(error).__name__}: {error}", "hint": "what is above says where"}


def load_error(message: dict[str, str]) -> SmidgenError:
    """Rebuild the error that ``message`` describes, with its own class if that is a smidgen error."""
    module, _, name = message["error"].partition(":")
    if module.startswith("smidgen"):
        kind = getattr(importlib.import_module(module), name, None)
        if isinstance(kind, type) and issubclass(kind, SmidgenError):
            return kind(message["problem"], message["hint"])
    return WorkFailed(f"the work failed: {message['problem']}", message["hint"])
