"""State that the keys of a model share.

What the keys of a shard have in common: the names of its features, and what a newcomer begins with.

Both are a fold over what all keys have learned, in the order of the log, next to the folds of the keys. A key can be
folded without them: its events record its initial state, and the columns of its names.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from smidgen.decision import Decision
from smidgen.errors import CorruptFile, SmidgenError
from smidgen.features import Encoded, Vectorizer
from smidgen.features.state import Carried, Places
from smidgen.learners import Learner, saving
from smidgen.learners.pipeline import add_classes, amended
from smidgen.learners.record_adapter import RecordAdapter, as_context, with_costs
from smidgen.service.engine.blueprint import Blueprint, new_labels_of
from smidgen.service.engine.replay import (
    NOWHERE,
    TELLING,
    KeptNames,
    LearningEvent,
    UndoneVersions,
    as_example,
    as_learner_input,
    places_in,
    read_event,
    records_of,
)
from smidgen.service.log import codec
from smidgen.service.log.events import ERASED, REWINDS, Event
from smidgen.service.loops.evaluator import TrainingSignal

# The mean of what the keys of a shard have learned, in whole numbers: a key that is deleted leaves no trace.

#: A weight counts in steps of one sixteen-millionth, up to this size; so a sum of four million keys is exact.
STEP, LARGEST = 2.0**-24, 65_536.0


class ExactMean:
    """Sums of the keys' starts (`Learner.start`), and how many keys there are.

    The sums are of whole numbers. They depend on what the keys are now, not on how they came to it, to the last bit.

    Parameters
    ----------
    sums, keys
        What was saved.

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen.service.engine.shared_state import ExactMean
    >>> mean, fresh = ExactMean(), {"w": np.zeros(2)}
    >>> mean.replace(None, {"w": np.array([1.0, 0.5])})
    >>> mean.replace(None, {"w": np.array([3.0, 0.5])})
    >>> mean.values(fresh)["w"].tolist()
    [2.0, 0.5]
    >>> mean.replace({"w": np.array([3.0, 0.5])}, None)
    >>> mean.values(fresh)["w"].tolist()
    [1.0, 0.5]
    """

    def __init__(self, sums: Mapping[str, NDArray[np.int64]] | None = None, keys: int = 0) -> None:
        self.sums: dict[str, NDArray[np.int64]] = {name: np.array(array) for name, array in (sums or {}).items()}
        self.keys = keys

    def replace(self, before: Mapping[str, NDArray[Any]] | None, after: Mapping[str, NDArray[Any]] | None) -> None:
        """Replace the contribution of a key by the present one; None if it had, or has, learned nothing."""
        for start, sign in ((before, -1), (after, 1)):
            if start is not None:
                self.keys += sign
                for name, array in start.items():
                    self._add(name, sign * _as_integers(array))

    def values(self, fresh: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[np.float64]]:
        """The mean, in the form of a fresh start; that, if there is no key."""
        if not self.keys:
            return dict(fresh)
        found = {name: np.array(array, dtype=np.float64) for name, array in fresh.items()}
        for name, array in self.sums.items():
            found[name][tuple(slice(extent) for extent in array.shape)] = array * (STEP / self.keys)
        return found

    def _add(self, name: str, array: NDArray[np.int64]) -> None:
        known = self.sums.get(name)
        if known is None or known.shape != array.shape:  # labels were added
            wide = tuple(map(max, array.shape, known.shape)) if known is not None else array.shape
            self.sums[name] = _widen(known, wide)
            array = _widen(array, wide)
        self.sums[name] += array


def _as_integers(array: NDArray[Any]) -> NDArray[np.int64]:
    out: NDArray[np.int64] = np.rint(np.clip(array, -LARGEST, LARGEST) / STEP).astype(np.int64)
    return out


def _widen(array: NDArray[np.int64] | None, shape: tuple[int, ...]) -> NDArray[np.int64]:
    out = np.zeros(shape, np.int64)
    if array is not None:
        out[tuple(slice(extent) for extent in array.shape)] = array
    return out


KIND, STATE_VERSION = "Group", 1
#: What a key that has learnt nothing knows of columns.
NONE: NDArray[np.uint32] = np.empty(0, np.uint32)
_HINT = "it is rebuilt from the log"


class SharedKeyState:
    """State that the keys of a shard share: the table of names, and the mean of their weights.

    Parameters
    ----------
    blueprint
        The model's settings; they say what is shared.

    Attributes
    ----------
    table
        The names of columns and the statistics of numbers; None if the model takes no records.
    pooled
        A learner that is taught the feedback of all keys; None if new keys need none.
    mean
        The mean of the keys' weights; None if newcomers need none.
    """

    def __init__(self, blueprint: Blueprint) -> None:
        self._blueprint = blueprint
        how = blueprint.shared_start
        self.table: Vectorizer | None = None
        self._front: RecordAdapter | None = None
        if blueprint.shared.names and blueprint.features is not None and blueprint.dim is not None:
            self.table = blueprint.features.fresh()
            self._front = RecordAdapter(blueprint.learner(None), blueprint.dim)
        self.pooled: Learner | None = blueprint.learner(None) if how == "pooled" else None
        self.mean: ExactMean | None = ExactMean() if how == "mean" else None

    # Deciding

    def decide(self, learner: Learner, context: Any, known: NDArray[np.uint32]) -> tuple[Decision, Carried]:
        """Decide with a key's learner. Returns the decision, and the names new to this key."""
        if self.table is None or self._front is None:
            return learner.decide(context), ()
        encoded = self._front.encode(self.table, context, deciding=True)
        state = learner.decide(with_costs(as_context(encoded, self.table.planned(encoded)[1]), context))
        return structs.replace(state, context=encoded), self.table.carried(encoded, known)

    def start(self, learner: Learner) -> bytes | None:
        """Start of a new key, as its log records it; None if it starts from nothing."""
        fresh = learner.start() if self.pooled is not None or self.mean is not None else {}
        if self.pooled is not None:
            found: Mapping[str, NDArray[Any]] = self.pooled.start() if self.pooled.rounds else fresh
        elif self.mean is not None:
            found = self.mean.values(fresh)
        else:
            return None
        return None if saving.is_empty_start(found, fresh) else saving.write_start(found, fresh)

    # Learning

    def places(self, decision: Decision) -> Places | None:
        """Places of a decision's new names if it is learned next; None if it has none."""
        return self.places_of(decision.context)

    def places_of(self, context: Any) -> Places | None:
        """Places of the new names of an encoded context; None if it has none."""
        if self.table is None or not isinstance(context, Encoded) or not context.names:
            return None
        return self.table.places(context, self.table.planned(context)[0])

    def carried_names(self, context: Any, known: NDArray[np.uint32]) -> Carried:
        """Names in an encoded record that are new to a key."""
        return self.table.carried(context, known) if self.table is not None and isinstance(context, Encoded) else ()

    def encode(self, context: Any) -> Any:
        """An example as a log keeps it."""
        if self.table is None or self._front is None:
            return context
        return self._front.encode(self.table, context).settled()

    def again(self, encoded: Encoded) -> Encoded:
        """Encode again by the present names and statistics, to be learned."""
        if self.table is None or self._front is None:
            return encoded.settled()
        return self._front.again(self.table, encoded)

    def apply(self, change: LearningEvent) -> None:
        """Take what a key has learnt."""
        learner_input = change.learner_input
        if change.type not in TELLING:
            return
        for table, context, places, names in self._records(change):
            table.absorb_at(context, places, names)
        if change.type == "taught" and not isinstance(learner_input, TrainingSignal):
            for (context, answer), places in zip(
                learner_input, change.places or [None] * len(learner_input), strict=True
            ):
                self._teach(context, answer, places)
        elif isinstance(learner_input, TrainingSignal) and learner_input.is_standalone:
            if learner_input.answer is not None:
                self._teach(learner_input.context, learner_input.answer, change.places)
        elif change.decision is not None:
            self._learn(change)

    def keep_names(self, change: LearningEvent) -> None:
        """Take the names of what a key had learnt and was taken back: they keep their columns."""
        for table, context, places, names in self._records(change):
            table.note_at(context, places, names)

    def keep_all_names(self, content: bytes, source: str) -> None:
        """Take the names of what was shared and was taken back."""
        other = SharedKeyState.from_bytes(content, self._blueprint, source)
        if self.table is not None and other.table is not None:
            self.table.adopt(other.table.known())
            self.table.reserve(other.table.extent)

    def reserve(self, extent: Any) -> None:
        """Let the places of names that are forgotten stay empty; ``extent`` is as the log says it."""
        if self.table is not None and extent is not None:
            self.table.reserve(extent)

    def names_at(self, places: Container[int]) -> SharedKeyState:
        """Another one that knows the names at these places, and nothing else."""
        state = SharedKeyState(self._blueprint)
        if self.table is not None and state.table is not None:
            state.table.adopt([each for each in self.table.known() if each[0] in places])
            state.table.reserve(self.table.extent)
        return state

    def replace_start(self, before: Mapping[str, NDArray[Any]] | None, learner: Learner) -> None:
        """Take in that a key's learner changed; ``before`` is its start as it was, None if it had learnt nothing."""
        if self.mean is not None:
            self.mean.replace(before, learner.start() if learner.rounds else None)

    def amend(self, amendment: Mapping[str, Any]) -> None:
        """Go on under other settings."""
        settings = dict(amendment["settings"])
        text = settings.pop("text", None)
        if text is not None and self.table is not None:
            state, settings_of = self.table.state(), self.table.to_record()
            self.table = Vectorizer.at(self.table.built_at, **{**settings_of, "text": text})
            self.table.restore(state)
        if self.pooled is not None and settings:
            self.pooled = amended(self.pooled, **settings)
        if self.pooled is not None and amendment["labels"] is not None:
            add_classes(self.pooled, *new_labels_of(amendment))

    def _records(self, change: LearningEvent) -> Iterator[tuple[Vectorizer, Encoded, Places, Carried]]:
        """Records of an event for the shared table: vectorizer, encoded record, places of names, repeated names."""
        for context, places, names in records_of(change):
            if self.table is not None and isinstance(context, Encoded) and context.dim == self.table.dim:
                yield self.table, context, (places_in(context, places), (places or NOWHERE)[1]), names

    def _learn(self, change: LearningEvent) -> None:
        if self.pooled is None:
            return
        pooled = self.pooled
        decision, learner_input = as_learner_input(pooled, change)
        if decision is None:
            return
        decision = structs.replace(decision, kind=pooled._kind, settings=pooled._settings, number=pooled.decisions + 1)
        with suppress(SmidgenError):  # what a key could learn and the pool cannot is left out, here and in every replay
            if isinstance(learner_input, TrainingSignal):
                learner_input.give(pooled, decision)
            else:
                pooled.learn(decision, learner_input)

    def _teach(self, context: Any, answer: Any, places: Any) -> None:
        if self.pooled is not None:
            with suppress(SmidgenError):
                self.pooled.teach(*as_example(context, answer, places))

    # As bytes

    def to_bytes(self) -> bytes:
        """All that is shared, for a snapshot."""
        arrays: dict[str, NDArray[Any]] = {}
        if self.table is not None:
            arrays |= {f"table_{name}": array for name, array in self.table.state().items()}
        if self.pooled is not None:
            arrays["pooled"] = np.frombuffer(self.pooled.to_bytes(), np.uint8)
        notes: dict[str, Any] = {"text": list(self.table.text) if self.table is not None else []}
        if self.mean is not None:
            arrays |= {f"mean_{name}": array for name, array in self.mean.sums.items()}
            notes["keys"] = self.mean.keys
        header = saving.Header(
            kind=KIND, settings_version=1, state_version=STATE_VERSION, params={}, decided=0, taught=0, notes=notes
        )
        return saving.encode_learner(header, arrays)

    @classmethod
    def from_bytes(cls, content: bytes, blueprint: Blueprint, source: str = "the record") -> SharedKeyState:
        """Read what `to_bytes` gave, of a model with these settings."""
        header, arrays = saving.decode_learner(content, source)
        if header.kind != KIND or header.state_version != STATE_VERSION:
            raise CorruptFile(f"{source} holds a {header.kind}, not the shared state of keys", _HINT)
        state = cls(blueprint)
        table = {name.removeprefix("table_"): array for name, array in arrays.items() if name.startswith("table_")}
        if bool(table) != (state.table is not None) or ("pooled" in arrays) != (state.pooled is not None):
            raise CorruptFile(f"{source} holds other shared state than the model", _HINT)
        if state.table is not None:
            if list(state.table.text) != header.notes["text"]:
                state.amend({"settings": {"text": header.notes["text"]}, "labels": None})
            state.table.check_state(table)
            state.table.restore(table)
        if state.pooled is not None:
            state.pooled = Learner.from_bytes(arrays["pooled"].tobytes(), source)
        if state.mean is not None:
            sums = {name.removeprefix("mean_"): array for name, array in arrays.items() if name.startswith("mean_")}
            state.mean = ExactMean(sums, int(header.notes["keys"]))
        return state


def fold(
    group: SharedKeyState,
    blueprint: Blueprint,
    changes: Iterable[tuple[Event, Event | None]],
    undone: UndoneVersions,
    since: int = 0,
) -> SharedKeyState:
    """Take what all keys have learnt, but for what was taken back, and but for the mean of their weights.

    Parameters
    ----------
    group, blueprint, changes, undone
        What is known, of a model with which settings, what comes, and what counts no more.
    since
        From this event on these settings decide; what does not fit them before it, does not matter.
    """
    reader = blueprint.learner(None)
    kept = KeptNames(undone)
    for event, decision_event in changes:
        counts = event.made is None or event.made not in undone
        if not counts and not kept.has(event.type, event.made or 0):
            continue
        try:
            if event.type == "amended":
                group.amend(codec.read_learner_input(event))
            elif event.type in ("imported", "promoted"):
                content = codec.read_fields(event.body, event.seq).get("group")
                if isinstance(content, bytes) and counts:
                    group = SharedKeyState.from_bytes(content, blueprint, f"event {event.seq}")
                elif isinstance(content, bytes):
                    group.keep_all_names(content, f"event {event.seq}")
            elif event.type == ERASED and event.salt is not None:
                group.reserve(codec.read_fields(event.body, event.seq).get("places"))
            elif event.type not in (ERASED, *REWINDS):
                (group.apply if counts else group.keep_names)(read_event(reader, event, decision_event))
        except SmidgenError:
            if event.seq > since:
                raise
    return group
