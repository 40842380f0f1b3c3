"""How a law speaks: one sentence when it does not hold, and what a refusal must be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from smidgen.errors import SmidgenError


def hold(fact: object, sentence: str) -> None:
    """A law that does not hold is told in one sentence."""
    if not fact:
        raise AssertionError(sentence)


def refused(what: str, call: Callable[..., Any], *given: Any, kind: type[SmidgenError] = SmidgenError) -> None:
    """The call, with what it is given, is refused by an error of ours, and by no other."""
    try:
        call(*given)
    except kind:
        return
    except Exception as error:
        raise AssertionError(
            f"{what} must be refused by a {kind.__name__}, and raised {type(error).__name__}: {error}"
        ) from error
    raise AssertionError(f"{what} must be refused, and was taken")


def kept(law: Callable[[Any], None], of: Any, about: str) -> None:
    """Hold one thing against one law; whatever goes wrong is told with the law's name."""
    name = law.__name__.replace("_", " ")
    try:
        law(of)
    except AssertionError as error:
        raise AssertionError(f"{about}: the law '{name}' does not hold: {error}") from error
    except Exception as error:
        raise AssertionError(f"{about}: the law '{name}' broke off with {type(error).__name__}: {error}") from error
