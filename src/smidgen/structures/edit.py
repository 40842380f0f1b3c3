"""The text that a person made of a draft."""

from __future__ import annotations

from typing import Any

import numpy as np

from smidgen.errors import InvalidFeedback, InvalidRecord
from smidgen.features.style import DIM, LONGEST, TRAITS, Prose, read_style
from smidgen.records import same, structure

_HINT = "give what to_record gave"
#: A text that was read, in few bytes.
Packed = dict[str, Any]


@structure
class Edit:
    """Feedback on a draft: the final text, as the person left it.

    The text that was shown, unchanged, is feedback too: it was good as it was.

    Parameters
    ----------
    text
        The final text, of at most 131,072 characters.

    Examples
    --------
    >>> import smidgen
    >>> learner = smidgen.SoftPreferencePerceptron()
    >>> decision = learner.decide(smidgen.Drafts(["Hi! Great to hear from you!!", "Hello."]))
    >>> learner.learn(decision, smidgen.Edit("Hello."))
    >>> learner.predict(smidgen.Drafts(["Hi! Thanks a lot!!", "Thanks."]))
    1
    """

    __slots__ = ("_sealed", "text")

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise InvalidFeedback(f"the final text is a {type(text).__name__}", "give it as a string")
        if len(text) > LONGEST:
            raise InvalidFeedback(f"the final text has {len(text):,} characters", f"give at most {LONGEST:,}")
        self.text: str | None = text  #: None once it is sealed
        self._sealed: Packed = {}

    def prose(self) -> Prose:
        """The text as numbers."""
        return read_style(self.text) if self.text is not None else unpacked(self._sealed)

    def sealed(self, salt: bytes) -> Edit:
        """The same without its text: columns, traits, and digests of its words under this salt."""
        if self.text is None:
            return self
        return _sealed(packed(read_style(self.text, salt)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Edit) and same(self, other)

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        if self.text is None:
            return f"Edit(a sealed text of {len(self.prose().tokens)} tokens)"
        return f"Edit({self.text if len(self.text) <= 60 else self.text[:57] + '…'!r})"

    def to_record(self) -> dict[str, Any]:
        """The fields that rebuild this edit: its text, or what a sealed one has in its place."""
        return {"text": self.text} if self.text is not None else dict(self._sealed)

    @classmethod
    def from_record(cls, fields: dict[str, Any]) -> Edit:
        """Rebuild from `to_record`."""
        return cls(fields["text"]) if "text" in fields else _sealed(packed(unpacked(fields)))


def _sealed(content: Packed) -> Edit:
    made = Edit("")
    made.text, made._sealed = None, content
    return made


def packed(prose: Prose) -> Packed:
    """A text that was read, in few bytes."""
    columns = np.flatnonzero(prose.row)
    return {
        "columns": columns,
        "values": prose.row[columns].astype(np.float32),
        "traits": prose.traits,
        "tokens": prose.tokens,
    }


def unpacked(fields: Packed) -> Prose:
    """What `packed` wrote, checked: the bytes may come from anywhere."""
    columns, values, traits, tokens = (np.asarray(fields[name]) for name in ("columns", "values", "traits", "tokens"))
    if columns.shape != values.shape or columns.ndim != 1 or columns.dtype.kind not in "iu":
        raise InvalidRecord("the columns of a sealed text do not fit its values", _HINT)
    if len(columns) and not (columns.min() >= 0 and columns.max() < DIM):
        raise InvalidRecord(f"a sealed text has a column outside 0 … {DIM - 1}", _HINT)
    if traits.shape != (len(TRAITS),) or tokens.ndim != 1 or tokens.dtype.kind not in "iu":
        raise InvalidRecord("the traits or the tokens of a sealed text are not what they should be", _HINT)
    if not (np.isfinite(values).all() and np.isfinite(traits).all()):
        raise InvalidRecord("a sealed text holds numbers that are not finite", _HINT)
    row = np.zeros(DIM)
    row[columns] = values
    return Prose(row, traits.astype(np.float64), tokens.astype(np.int64))
