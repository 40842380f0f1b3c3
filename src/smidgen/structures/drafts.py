"""Drafts of a text, of which one goes out and comes back edited.

What an app says of its drafts beyond their texts may have any names; they are hashed into a fixed number of columns.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from smidgen import checks
from smidgen._core import math as core_math
from smidgen._core import matrix
from smidgen.decision import FloatArray
from smidgen.errors import InvalidFeatures, InvalidFeedback, InvalidRecord
from smidgen.features import limits
from smidgen.features.style import DIM, LONGEST, MAIN, TRAITS, Prose, changed_share, read_style
from smidgen.features.style import DIM as TEXT
from smidgen.serialization import same, structure
from smidgen.structures.base import Structure

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
        """Copy without the text: columns, traits, and digests of its words under this salt."""
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
    """Read the bytes of `packed`, with checks: they may come from an untrusted source."""
    columns, values, traits, tokens = (np.asarray(fields[name]) for name in ("columns", "values", "traits", "tokens"))
    if columns.shape != values.shape or columns.ndim != 1 or columns.dtype.kind not in "iu":
        raise InvalidRecord("a sealed text has columns and values of different lengths", _HINT)
    if len(columns) and not (columns.min() >= 0 and columns.max() < DIM):
        raise InvalidRecord(f"a sealed text has a column outside 0 … {DIM - 1}", _HINT)
    if traits.shape != (len(TRAITS),) or tokens.ndim != 1 or tokens.dtype.kind not in "iu":
        raise InvalidRecord("a sealed text has invalid traits or tokens", _HINT)
    if not (np.isfinite(values).all() and np.isfinite(traits).all()):
        raise InvalidRecord("a sealed text holds numbers that are not finite", _HINT)
    row = np.zeros(DIM)
    row[columns] = values
    return Prose(row, traits.astype(np.float64), tokens.astype(np.int64))


#: Columns of what the app gives.
GIVEN = 192
#: Fields of a context.
FIELDS = 32

Said = dict[str, float | str]


def as_given(features: Any, n: int) -> list[Said] | None:
    """The features of n drafts, each by name: from records, or from a matrix whose columns are their own names."""
    hint = f"give {n} records, e.g. {{'model': 'small', 'temperature': 0.2}}, or a matrix of {n} rows"
    if features is None:
        return None
    if isinstance(features, (str, bytes, Mapping)) or not hasattr(features, "__len__"):
        raise InvalidFeatures(f"the features are a {type(features).__name__}", hint)
    if len(features) != n:
        raise InvalidFeatures(f"there are {n} drafts and {len(features)} feature records", hint)
    return [_said(each, hint) for each in features]


def _said(record: Any, hint: str) -> Said:
    if record is None:
        return {}
    if not isinstance(record, Mapping):
        try:
            numbers = np.asarray(record, np.float64)
        except (ValueError, TypeError) as error:
            raise InvalidFeatures(f"the features of a draft are a {type(record).__name__}", hint) from error
        if numbers.ndim != 1:
            raise InvalidFeatures(f"the features of a draft have the shape {numbers.shape}", hint)
        record = {str(place): value for place, value in enumerate(numbers.tolist())}
    if len(record) > limits.FIELDS:
        raise InvalidFeatures(f"a draft has {len(record):,} features", f"give at most {limits.FIELDS:,}")
    return {_name(name): _value(name, value) for name, value in record.items() if value is not None}


def _name(name: Any) -> str:
    if not isinstance(name, str) or len(name) > limits.KEY:
        raise InvalidFeatures(
            f"the name of a feature is {str(name)[:40]!r}", f"give strings of at most {limits.KEY} characters"
        )
    return name


def _value(name: str, value: Any) -> float | str:
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, str):
        if len(value) > limits.CATEGORY:
            raise InvalidFeatures(
                f"{name} has {len(value):,} characters",
                f"give at most {limits.CATEGORY:,}; the text of a draft is not a feature",
            )
        return value
    number: Any = value if isinstance(value, (int, float, np.integer, np.floating)) else math.nan
    if not abs(number) <= limits.LARGEST:
        raise InvalidFeatures(f"{name} is {str(value)[:40]}", "give a string, a bool or a finite number")
    return float(number)


def as_context(context: Any) -> Said | None:
    """Values shared by all drafts, by name."""
    if context is not None and not isinstance(context, Mapping):
        raise InvalidFeatures(f"the context is a {type(context).__name__}", "give a record, e.g. {'channel': 'email'}")
    if context is not None and len(context) > FIELDS:
        raise InvalidFeatures(f"the context has {len(context):,} fields", f"give at most {FIELDS}")
    return None if context is None else _said(context, "give a record, e.g. {'channel': 'email'}")


def crossed(context: Said, said: Said) -> Said:
    """Every category of the context together with every feature of a draft."""
    return {
        f"context.{about}={value} × {name}": each
        for about, value in context.items()
        if isinstance(value, str)
        for name, each in said.items()
    }


def lay_context(context: Said, row: FloatArray, out: FloatArray) -> None:
    """Every category of the context together with the main traits of style, in hashed columns."""
    for about, value in context.items():
        if isinstance(value, str):
            for trait in MAIN:
                column, sign = _place(f"context.{about}={value} × {TRAITS[trait].name}")
                out[column] += sign * row[trait]


def lay_given(said: Said, out: FloatArray) -> None:
    """The app's own fields in hashed columns: categories as 1, numbers as the signed logarithm of their size."""
    for name, value in said.items():
        term = f"{name}={value}" if isinstance(value, str) else name
        column, sign = _place(term)
        out[column] += sign * (1.0 if isinstance(value, str) else _size_of(value))


def _size_of(value: float) -> float:
    """log(1 + |value|) with the sign of the value."""
    sizes: FloatArray = np.array([abs(value)])
    core_math.log1p(sizes, sizes)
    return math.copysign(float(sizes[0]), value)


@lru_cache(maxsize=4096)
def _place(term: str) -> tuple[int, float]:
    content = hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    number = int.from_bytes(content, "little")
    return (number >> 1) % GIVEN, 1.0 if number & 1 else -1.0


#: Drafts of one decision.
MOST = 1_000
_NAMES = tuple(trait.name for trait in TRAITS)


@structure
class Drafts(Structure):
    r"""Drafts of a text (of a language model, templates, snippets) of which one goes out and comes back edited.

    Parameters
    ----------
    texts
        The drafts, 1 to 1,000 of them, each of at most 131,072 characters.
    features
        What the app knows of each draft beyond its text: one record per draft (numbers, strings, bools by name), or a
        matrix with one row per draft. Left out: nothing.
    context
        A record of what is the same for all drafts: the channel, the kind of message. It is crossed with their features
        and with the main traits of style, so that people may like it short here and long there.

    Notes
    -----
    **Feature map** φ(y) has `Drafts.dim` columns, independent of the texts: style with names (length, sentence length,
    bullet points, greeting, sign-off, hedges, emoji, …), hashed words and pairs of words, hashed runs of three to five
    letters, and the app's own fields, hashed by name, crossed with the context. An edited text is an object like any
    other (`Edit`), whether or not it was on offer; the app's own fields are unknown for it, so it has their mean over
    the drafts on offer. **Argmax**: the draft of highest score, the first of equals. **Weight** of a step: the share of
    the text that was changed (edit distance in words, marks and line breaks, over the longer of the two). **Cost**:
    about 30 µs for 200 words; recently read texts are cached, so learning does not read them again.

    Examples
    --------
    >>> import smidgen
    >>> drafts = smidgen.Drafts(["Hello Ann,\n\nit ships on Friday!", "It ships on Friday."])
    >>> drafts.phi(0).shape == (smidgen.Drafts.dim,)
    True
    >>> drafts.traits(0)["greeting"], drafts.traits(1)["greeting"]
    (1.0, 0.0)
    >>> drafts.weight(smidgen.Edit("It ships on Monday."), 1)
    0.2
    """

    __slots__ = ("_sealed", "context", "features", "salt", "texts")
    dim: ClassVar[int] = TEXT + GIVEN

    def __init__(self, texts: Sequence[str], features: Any = None, context: Any = None) -> None:
        self.texts: tuple[str, ...] | None = _as_texts(texts)  #: None once they are sealed
        self.features: list[Said] | None = as_given(features, len(self.texts))
        self.context: Said | None = as_context(context)
        self.salt: bytes | None = None  #: of sealed drafts
        self._sealed: tuple[Packed, ...] = ()

    def __len__(self) -> int:
        return len(self._sealed if self.texts is None else self.texts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Drafts) and same(self, other)

    def __hash__(self) -> int:
        return hash(self.texts)

    def __repr__(self) -> str:
        return f"Drafts({len(self)}{' sealed' if self.texts is None else ''} texts)"

    def candidates(self) -> list[int]:
        """The drafts on offer."""
        return list(range(len(self)))

    def phi(self, y: Any) -> FloatArray:
        """The features of draft ``y``, or of an `Edit`."""
        if isinstance(y, Edit):
            return self._laid(self._read(y).row, self._given().mean(axis=0) if self.features else np.zeros(GIVEN))
        place = self._index(y)
        return self._laid(self._read(place).row, self._given()[place])

    def scores(self, w: FloatArray) -> FloatArray:
        """The score w·φ(y) of each draft."""
        rows, given = np.empty((len(self), self.dim)), self._given()
        for y, row in enumerate(rows):
            self._laid(self._read(y).row, given[y], row)
        scores: FloatArray = np.empty(len(self))
        matrix.write_dense_scores(rows, w, scores)
        return scores

    def argmax(self, w: FloatArray) -> int:
        """The draft of highest score, the first of equals."""
        return int(np.argmax(self.scores(w)))

    def present(self, w: FloatArray, /) -> tuple[int, FloatArray]:
        """The best draft, and the score of each."""
        scores = self.scores(w)
        return int(np.argmax(scores)), scores

    def check(self, y: Any) -> int | Edit:
        """Return ``y`` if it is one of the drafts, or a text that a user made from one."""
        return y if isinstance(y, Edit) else self._index(y)

    def difference(self, better: Any, shown: Any) -> FloatArray:
        """φ(better) − φ(shown)."""
        delta: FloatArray = self.phi(better) - self.phi(shown)
        return delta

    def weight(self, better: Any, shown: Any) -> float:
        """The share of the shown text that was changed."""
        return changed_share(self._read(shown).tokens, self._read(better).tokens)

    def traits(self, y: Any) -> dict[str, float]:
        """The traits of style of draft ``y``, or of an `Edit`, by name."""
        return dict(zip(_NAMES, self._read(y).traits.tolist(), strict=True))

    def sealed(self, salt: bytes) -> Drafts:
        """Copy without the texts: columns, traits, and digests of the words in order, under this salt.

        All is learnt from them that is learnt from the texts; what was changed can still be counted.
        """
        if not isinstance(salt, bytes) or not 8 <= len(salt) <= 64:
            raise InvalidFeatures("the salt is not 8 to 64 bytes", "give secrets.token_bytes(16)")
        if self.texts is None:
            return self
        return self._with([packed(read_style(text, salt)) for text in self.texts], salt)

    def to_record(self) -> dict[str, Any]:
        """The fields that rebuild these drafts."""
        said = None if self.features is None else [dict(each) for each in self.features]
        rest = {"features": said, "context": None if self.context is None else dict(self.context)}
        if self.texts is not None:
            return {"texts": list(self.texts), **rest}
        return {"sealed": [dict(each) for each in self._sealed], "salt": (self.salt or b"").hex(), **rest}

    @classmethod
    def from_record(cls, fields: dict[str, Any]) -> Drafts:
        """Rebuild from `to_record`."""
        features, context = fields["features"], fields["context"]
        if "texts" in fields:
            return cls(fields["texts"], features, context)
        sealed = [packed(unpacked(each)) for each in fields["sealed"]]
        return cls([""] * len(sealed), features, context)._with(sealed, bytes.fromhex(fields["salt"]))

    def _with(self, sealed: Sequence[Packed], salt: bytes) -> Drafts:
        """Copy with sealed texts."""
        made = Drafts([""] * len(sealed), self.features, self.context)
        made.texts, made.salt, made._sealed = None, salt, tuple(sealed)
        return made

    def _read(self, y: Any) -> Prose:
        """Draft ``y``, or an edited text, read; where the drafts are sealed, an edit is compared under their salt."""
        if isinstance(y, Edit):
            return y.prose() if self.salt is None else y.sealed(self.salt).prose()
        place = self._index(y)
        return unpacked(self._sealed[place]) if self.texts is None else read_style(self.texts[place])

    def _laid(self, row: FloatArray, given: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """A text's columns, then what the app gives, and what the context makes of the style."""
        out = np.empty(self.dim) if out is None else out
        out[:TEXT], out[TEXT:] = row, given
        if self.context is not None:
            lay_context(self.context, row, out[TEXT:])
        return out

    def _given(self) -> FloatArray:
        given: FloatArray = np.zeros((len(self), GIVEN))
        for y, said in enumerate(self.features or ()):
            lay_given(said, given[y])
            if self.context is not None:
                lay_given(crossed(self.context, said), given[y])
        return given

    def _index(self, y: Any) -> int:
        if (type(y) is not int and not checks.is_whole(y)) or not 0 <= y < len(self):
            raise InvalidFeedback(
                f"the feedback is {y!r}", f"give an Edit of the final text, or one of the drafts 0 … {len(self) - 1}"
            )
        return int(y)


def _as_texts(texts: Any) -> tuple[str, ...]:
    if isinstance(texts, (str, bytes)) or not hasattr(texts, "__iter__"):
        raise InvalidFeatures(f"the drafts are a {type(texts).__name__}", "give a list of texts")
    found = tuple(texts)
    if not 1 <= len(found) <= MOST:
        raise InvalidFeatures(f"there are {len(found):,} drafts", f"give 1 to {MOST:,} texts")
    for place, text in enumerate(found):
        if not isinstance(text, str):
            raise InvalidFeatures(f"draft {place} is a {type(text).__name__}", "give each draft as a string")
        if len(text) > LONGEST:
            raise InvalidFeatures(f"draft {place} has {len(text):,} characters", f"give at most {LONGEST:,}")
    return found
