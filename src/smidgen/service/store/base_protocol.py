"""The part of the store's door that is about bases (logs whose beginning is erased), and about models as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from smidgen.service.store.bases import Base, BaseState, Carried, Lineage


class BaseReading(Protocol):
    """What can be asked about bases and lineage."""

    def base(self, slot: int) -> Base | None:
        """Where the log of a slot begins, if not with its first event: what lies under it is not seen any more."""
        ...

    def base_state(self, slot: int, key: str | None) -> BaseState | None:
        """What a learner had become at the base; None if it was not there yet."""
        ...

    def base_states(self, slot: int) -> Iterator[BaseState]:
        """What all learners had become at the base, in the order of their keys."""
        ...

    def carried(self, slot: int) -> list[Carried]:
        """The decisions under the base that are kept, in order."""
        ...

    def crossing(self, slot: int, seq: int, now: float, after: int) -> list[int]:
        """The decisions up to an event that later events are about, or that are open at a moment, in order.

        With ``after`` beyond ``seq``: only those that events after it are about.
        """
        ...

    def under(self, slot: int, seq: int) -> tuple[int, int]:
        """How many decisions and late answers there were up to an event."""
        ...

    def erased_decision(self, id: str) -> int | None:
        """The slot of a decision that was erased since it lies under a base; None if none is known."""
        ...

    def lineage(self) -> list[Lineage]:
        """Which models began with what others had learnt."""
        ...


class Retaining(Protocol):
    """What changes where a log begins, and what a model is called."""

    def revive(self, model: int) -> None:
        """Note that an archived model decides again."""
        ...

    def rename(self, model: int, name: str) -> None:
        """Give a model another name, which no other has."""
        ...

    def derive(self, slot: int, source: int, seq: int) -> None:
        """Note that a model began with what another had learnt up to an event."""
        ...

    def stage(self, slot: int, states: Sequence[BaseState]) -> None:
        """Write states of a base that is still to come; until it does, nobody sees them."""
        ...

    def unstage(self, slot: int) -> None:
        """Drop the states of a base that did not come."""
        ...

    def rebase(self, slot: int, base: Base, carried: Sequence[Carried], at: float) -> int:
        """Let a log begin after a base whose states are staged; the number of the event that says so.

        What lies under the base is not seen any more, but for the decisions that are carried; `Store.tidy` erases it.
        """
        ...

    def drop_base_state(self, slot: int, key: str, at: float) -> None:
        """Let a base hold nothing of a key, nor keep any of its decisions; an event tells of the base as it is then."""
        ...

    def tidy(self, limit: int) -> bool:
        """Erase some of what lies under a base, about so many events; False if nothing is left."""
        ...
