"""The `Decision`, and the shapes of the arrays that the packages exchange."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from smidgen import markup, serialization
from smidgen.errors import InvalidRecord

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]


class Decision(msgspec.Struct, frozen=True, kw_only=True, eq=False, repr_omit_defaults=True):
    """A finished record of one decision: all that learning needs later, and nothing that changes.

    Keep it in memory, in a log or in a queue; hand it back with the feedback in a second or in a week, to the
    learner that made it or to a twin with the same settings.

    Attributes
    ----------
    kind
        The class of the learner that decided.
    settings
        A fingerprint of the settings that were asked for, the seed among them: learners with equal fingerprints are
        twins.
    number
        1, 2, … per learner. Together with the settings it names the decision (`id`).
    action
        The output: a ranking (indices, best first), an item, a label, … With several slots: an item for each.
    greedy
        The action without exploration.
    context
        The problem instance with the features that the update needs.
    explored
        Whether exploration changed the action, or put a rival next to it.
    propensity
        The probability of the action where it was drawn. With several slots: the product of theirs.
    propensities
        The probability of every candidate, where one was drawn among several; 0 for those not on offer. With several
        slots: a row for each, given what the slots before it show; so are ``scores``, ``widths`` and ``costs``.
    log_propensity
        Its logarithm, for lists, whose probability may underflow: that of the first positions, up to the depth that the
        learner draws.
    perturbation
        The unit direction of a perturbed weight vector or point.
    reach
        How far along the perturbation the point lies.
    scores
        The scores that the greedy choice went by, in the order of the candidates.
    widths
        How unsure the learner is of each score: the confidence added to it before choosing.
    margin, threshold
        Of a filter: the estimate of how relevant the item is, and the value that it had to reach (None while nothing
        has been forwarded).
    teams
        For interleaved rankings: which ranker contributed each position (0: current, 1: perturbed). For rankings whose
        neighbours may be swapped: the number of the pair at each position, −1 where there is none.
    price
        Under a budget: the price of each currency, with which the action was chosen.
    costs
        Under a budget: by currency, what each candidate costs, as it was known or estimated.
    unknown
        Fields that a newer smidgen wrote and this one does not know: kept, compared, and written back. None if there
        are none; `more` is the same as a mapping.

    Examples
    --------
    >>> import numpy as np, smidgen
    >>> learner = smidgen.PreferencePerceptron(dim=2)
    >>> d = learner.decide(smidgen.Ranking(np.array([[0.0, 1.0], [1.0, 0.0]])))
    >>> smidgen.Decision.from_json(d.to_json()) == d == smidgen.Decision.from_bytes(d.to_bytes())
    True
    """

    kind: str
    settings: str
    number: int
    action: Any
    greedy: Any
    context: Any
    explored: bool = False
    propensity: float | None = None
    propensities: FloatArray | None = None
    perturbation: FloatArray | None = None
    reach: float | None = None
    scores: FloatArray | None = None
    widths: FloatArray | None = None
    margin: float | None = None
    threshold: float | None = None
    teams: IntArray | None = None
    log_propensity: float | None = None
    price: dict[str, float] | None = None
    costs: dict[str, FloatArray] | None = None
    unknown: dict[str, Any] | None = None

    @property
    def id(self) -> str:
        """A name for this decision, the same in every replay."""
        return f"{self.settings}-{self.number}"

    @property
    def more(self) -> dict[str, Any]:
        """Fields that a newer smidgen wrote, by name."""
        return dict(self.unknown or {})

    @property
    def ids(self) -> tuple[Any, ...] | None:
        """The ids of the candidates, by position: ``decision.ids[decision.action]`` is the item chosen."""
        return getattr(self.context, "ids", None)

    @property
    def slots(self) -> tuple[str, ...] | None:
        """The ids of the slots that were filled; None where one item was chosen."""
        return getattr(self.context, "slot_ids", None) or None

    @property
    def actions(self) -> tuple[int, ...] | None:
        """The item of each slot, in the order of the slots; None where one item was chosen."""
        return None if self.slots is None else tuple(self.action.tolist())

    def costs_of_action(self) -> dict[str, float]:
        """Under a budget: by currency, what the action costs, all slots together; empty without one."""
        many = None if self.slots is None else np.arange(len(self.action))
        return {
            name: float(each[self.action]) if many is None else float(each[many, self.action].sum())
            for name, each in (self.costs or {}).items()
        }

    def to_json(self) -> bytes:
        """Write the whole decision as JSON bytes, without loss."""
        return serialization.to_json(self._fields())

    @classmethod
    def from_json(cls, data: bytes | str) -> Decision:
        """Read back what `to_json` wrote."""
        return cls.of(serialization.from_json(data))

    def to_bytes(self) -> bytes:
        """Write the whole decision as few bytes, without loss; `Learner.to_compact` needs fewer yet."""
        return serialization.encode(self._fields())

    @classmethod
    def from_bytes(cls, content: bytes | memoryview) -> Decision:
        """Read back what `to_bytes` wrote."""
        return cls.of(serialization.decode(content))

    def _repr_html_(self) -> str:
        fields = {name: getattr(self, name) for name in _NAMES if name not in ("kind", "settings", "number")}
        known = {name: value for name, value in fields.items() if value is not None}
        return markup.pairs(f"Decision {self.number} of {self.kind}", {"id": self.id, **known})

    def _fields(self) -> dict[str, Any]:
        named = ((name, getattr(self, name)) for name in _NAMES)
        fields = {name: value for name, value in named if value is not None or name in _REQUIRED}
        return fields if self.unknown is None else {**fields, **self.unknown}

    @classmethod
    def of(cls, fields: Any) -> Decision:
        """The decision that these fields describe, if they are right: what `serialization.unpack` gave, say."""
        hint = "give what Decision.to_json or Decision.to_bytes wrote"
        if not isinstance(fields, dict):
            raise InvalidRecord(f"the record is a {type(fields).__name__}, not an object", hint)
        if not fields.keys() >= _REQUIRED:
            raise InvalidRecord(f"the record lacks the fields {', '.join(sorted(_REQUIRED - fields.keys()))}", hint)
        for name, value in fields.items():
            types = _CHECKED.get(name)
            if types is None or (value is None and name not in _REQUIRED):
                continue
            if not isinstance(value, types) or isinstance(value, bool) is not (types is bool):
                raise InvalidRecord(f"the record's {name} is {value!r}, of the wrong type", hint)
        if not 1 <= fields["number"] <= _LAST:
            raise InvalidRecord(f"the record's number is {fields['number']} and must be from 1 to {_LAST}", hint)
        if fields.keys() <= _KNOWN:
            return cls(**fields)
        known = {name: value for name, value in fields.items() if name in _KNOWN}
        return cls(**known, unknown={name: value for name, value in fields.items() if name not in _KNOWN})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Decision):
            return NotImplemented
        return all(serialization.same(getattr(self, name), getattr(other, name)) for name in self.__struct_fields__)

    def __hash__(self) -> int:
        return hash(self.id)


_NAMES = tuple(name for name in Decision.__struct_fields__ if name != "unknown")
_KNOWN = frozenset(_NAMES)
#: The largest number of a decision; a learner counts on from there, and its numbers have 64 bits.
_LAST = 2**62
_REQUIRED = {"kind", "settings", "number", "action", "greedy", "context"}
_CHECKED: dict[str, Any] = {
    "kind": str,
    "settings": str,
    "number": int,
    "explored": bool,
    "propensity": float,
    "propensities": np.ndarray,
    "log_propensity": float,
    "margin": float,
    "threshold": float,
    "perturbation": np.ndarray,
    "reach": float,
    "scores": np.ndarray,
    "widths": np.ndarray,
    "teams": np.ndarray,
    "price": dict,
    "costs": dict,
}
