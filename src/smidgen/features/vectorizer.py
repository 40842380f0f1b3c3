"""Records in, numbers inside, names out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen import checks
from smidgen.arrays import read_only, scipy, writable
from smidgen.decision import IntArray
from smidgen.errors import InvalidArgument, InvalidRecord
from smidgen.features import limits
from smidgen.features.batch import listed, read_many
from smidgen.features.crossing import Crossing, as_pairs
from smidgen.features.encode import Encoder
from smidgen.features.encoded import Encoded, joined
from smidgen.features.names import HOLE
from smidgen.features.parse import ParsedRecords, Reader
from smidgen.features.row import Row
from smidgen.features.rows import SparseRows, sparse_rows
from smidgen.features.state import Carried, Places, VectorizerState
from smidgen.serialization import structure
from smidgen.settings import VersionedSettings, non_default_args

#: The bytes of a column in the tables of a fresh vectorizer.
COLUMN = 32
_NONE: IntArray = np.empty(0, np.int64)
_NO_COLUMNS: NDArray[np.uint32] = np.empty(0, np.uint32)


@structure
class Vectorizer(VersionedSettings):
    """Turns records into rows of features, and remembers the names of their columns.

    A record is what JSON can say: numbers, bools, strings, null, lists of strings, vectors (lists of 2 to 4,096
    numbers, or numpy arrays), objects inside objects; also a dataclass, a mapping, a row of a frame. A string is a
    category (``country=se``), a list of strings a set, a field named in ``text`` is words and word pairs, a string with
    a date is split into its parts, null is nothing.

    Parameters
    ----------
    dim
        The number of columns. While there are fewer names each has a column of its own; later ones share.
    text
        The paths of fields that hold texts, e.g. ``("title", "seller.note")``.
    crosses
        What is crossed: "auto", every feature of the context with every category of a candidate (and its categories
        with every number), up to a limit; () for nothing; or pairs of paths, the context's then the candidate's. In one
        record, a pair is two of its own fields.
    constant
        Whether a column is 1 in every row (0.2 in that of a record with words, whose texts have unit length), so that
        there can be an offset. It lies within ``dim``.
    scale
        Whether numbers are brought to comparable size: z = (v − mean)/sd, clipped to ±4.
    id_feature
        Whether the id of a candidate is one of its categories.
    vectors
        The most columns that a vector (a list of numbers, such as an embedding) may have: a longer one is projected.
        It should cover the intrinsic dimension of the vectors. 0: vectors are refused.
    seed
        Seeds the projection of vectors.

    Notes
    -----
    Encoding changes nothing, but for tables of the names that were met, which save time. What a vectorizer knows (names
    and their columns, statistics of numbers, frequencies of words) changes in `learn` only; inside a `Pipeline`, when
    the pipeline learns. A name that is not known yet is put into the column that it would get if it were learnt next.

    A z is 0 until two different values are known. Of each number the lowest and the highest value so far are held back;
    what is counted is brought within four standard deviations. So one value of 1e100 spoils nothing.

    A vector has unit length (one of zeros stays zero). Its length is fixed by the first decision that has one, in
    `fix_lengths`. In candidates, a context's vector is crossed with each candidate's id, and of two vectors of one name
    and length, one of the context and one of the candidate, the cosine is a feature (``emb·emb``).

    Words weigh (1 + ln n)·ln(1 + (t + 1)/(df + 1)) for n occurrences, t rows learnt and df of them with the word; a
    text has unit length.

    Examples
    --------
    >>> import smidgen
    >>> features = smidgen.Vectorizer(dim=16)
    >>> for age, country in ((31, "se"), (45, "no"), (28, "se")):
    ...     features.learn({"age": age, "country": country})
    >>> row = features.row({"age": 31, "country": "se"})
    >>> {features.names[i]: round(float(v), 2) for i, v in zip(row.indices, row.values)}
    {'(constant)': 1.0, 'age': -0.49, 'country=se': 1.0}
    """

    def __init__(
        self,
        *,
        dim: int = 4096,
        text: Any = (),
        crosses: Any = "auto",
        constant: bool = True,
        scale: bool = True,
        id_feature: bool = True,
        vectors: int = 32,
        seed: int = 0,
    ) -> None:
        self.dim = checks.whole("dim", dim, "give the number of columns, e.g. dim=4096", at_least=2, below=2**24)
        self.text = _as_paths(text)
        self.crosses = as_pairs(crosses)
        self.constant = checks.flag("constant", constant, "give True or False")
        self.scale = checks.flag("scale", scale, "give True or False")
        self.id_feature = checks.flag("id_feature", id_feature, "give True or False")
        hint = f"give the number of columns of a vector, 0 to {limits.VECTOR_CROSSES:,}; 0 refuses vectors"
        self.vectors = checks.whole("vectors", vectors, hint, at_least=0, below=limits.VECTOR_CROSSES + 1)
        self.seed = checks.whole("seed", seed, "give a whole number, e.g. seed=0", at_least=0, below=2**64)
        self._memory = VectorizerState(self.dim, self.constant)
        lengths = self._memory.lengths if self.vectors else None
        reader = Reader(self._memory.book, self._memory.scaling, self.text, lengths)
        crossing = Crossing(self._memory.book, self.crosses)
        given = self.vectors, self.seed
        self._encoder = Encoder(self._memory, reader, crossing, self.constant, self.scale, given)

    @classmethod
    def estimate_size(cls, arguments: Mapping[str, Any]) -> int:
        """Estimate the bytes of its tables: of columns, of how often words were met."""
        return COLUMN * int(arguments["dim"])

    def row(self, record: Any) -> Row:
        """Encode a record as a row that every learner accepts. Changes nothing."""
        made = self._encoder.row(record)
        if isinstance(made, Encoded):
            _, indices, values = self._complete(made)
            return Row(read_only(indices), writable(values), self.dim)
        made[0].flags.writeable = False  # ours alone so far: a view that says so would take longer
        return Row(*made, self.dim)

    def rows(self, records: Any) -> Any:
        """Many records (a list, a frame), or `Candidates`, as a scipy CSR matrix: one row each. Changes nothing."""
        sparse = scipy("sparse", "a matrix of rows")
        if not _are_candidates(records):
            records = listed(records)
            if (laid := self._encoder.matrix(records)) is not None:
                starts, narrow, values = laid
                return sparse.csr_array((values, narrow, starts), shape=(len(starts) - 1, self.dim))
        encoded = self.encode_many(records)
        starts, indices, values = self._complete(encoded)
        return sparse.csr_array((values, indices.astype(np.int32), starts), shape=(len(encoded), self.dim))

    def sparse_rows(self, records: Any) -> SparseRows:
        """Encode records as rows that every learner accepts; works without SciPy."""
        starts, indices, values = self._complete(self.encode_many(records))
        return sparse_rows(values, indices, starts, self.dim)

    def learn(self, record: Any) -> None:
        """Learn the names, the numbers and the words of one record. A `Pipeline` does so by itself."""
        encoded = self.encode(record)
        self.absorb(encoded, self.planned(encoded)[0])

    @property
    def names(self) -> list[str]:
        """The names known so far; the first ``dim`` of them are those of the columns."""
        return ["" if name == HOLE else name for name in self._memory.book.names]

    @property
    def clipped(self) -> int:
        """Number of values in learnt records that were clipped as outliers."""
        return self._memory.scaling.clipped

    @property
    def columns_in_use(self) -> int:
        """Number of columns that have a name."""
        return self._memory.book.columns_in_use

    def named_columns(self) -> list[tuple[int, str]]:
        """Every column in use and its name; a shared one has the names of all that are known to share it."""
        return self._memory.book.by_column()

    def encode(self, record: Any) -> Encoded:
        """Encode a record, with the values that learning needs later."""
        return self._encoder.record(record)

    def encode_many(self, records: Any) -> Encoded:
        """Many records, or candidates, in the same form."""
        if _are_candidates(records):
            return self.encode_candidates(records)
        given, gathered = listed(records), ParsedRecords()
        read_many(self._encoder.reader, given, gathered)
        return self._encoder.laid(gathered)

    def encode_candidates(self, candidates: Any, mains: bool = True, directions: bool = False) -> Encoded:
        """Candidates with their context; with ``mains`` also what is the same for all of them.

        With ``directions`` the context's vectors stand apart, for a learner that crosses them itself.
        """
        if getattr(candidates, "slots", ()):
            parts = [self.encode_candidates(each, mains, directions) for each in candidates.for_slots()]
            return joined(parts, candidates.entries)
        given, gathered, ids = candidates.records, ParsedRecords(), candidates.ids
        read_many(self._encoder.reader, given, gathered)
        if ids is not None and self.id_feature:
            self._encoder.reader.read_ids(ids, gathered)
        return self._encoder.candidates(gathered, candidates.context, mains, ids, candidates.top, directions)

    def fix_lengths(self, lengths: Mapping[str, int]) -> list[str]:
        """Let the vectors of a decision fix the lengths of their fields; which of these had none yet.

        They hold until `free_lengths`, or until they are learnt: what was only decided on is not saved.
        """
        known = self._memory.lengths
        new = [path for path in lengths if known.of(path) is None]
        known.decided |= {path: lengths[path] for path in new}
        return new

    def free_lengths(self, paths: Iterable[str]) -> None:
        """Take lengths back that `fix_lengths` has fixed."""
        for path in paths:
            self._memory.lengths.decided.pop(path, None)

    @property
    def lengths(self) -> dict[str, int]:
        """The fields that hold vectors, and how many numbers each of these has."""
        return {**self._memory.lengths.decided, **self._memory.lengths.known}

    def planned(self, encoded: Encoded) -> tuple[IntArray, NDArray[np.uint32]]:
        """Ids and columns that new names get, if this is learnt next."""
        return self._memory.planned(encoded) if encoded.names else (_NONE, _NO_COLUMNS)

    @property
    def changes(self) -> int:
        """Number of state changes since creation. Two encodings without a change between them are equal."""
        return self._memory.changes

    def columns_with(self, ids: IntArray) -> int:
        """Number of columns in use once names with these ids are known."""
        return self._memory.columns_with(ids)

    def absorb(self, encoded: Encoded, ids: IntArray) -> None:
        """Learn the names, numbers and words of what was encoded; ``ids`` is what `planned` gave."""
        self._memory.absorb(encoded, ids)

    def places(self, encoded: Encoded, ids: IntArray) -> Places:
        """Places that the new names of an encoded record would get now, for a log that passes them to `absorb_at`."""
        return self._memory.places(encoded, ids)

    def carried(self, encoded: Encoded, known: NDArray[np.uint32]) -> Carried:
        """The names of columns of their own that stand in what was encoded and are not among those known."""
        return self._memory.carried(encoded, known)

    def known(self) -> Carried:
        """Every name that is known, where it is."""
        return self._memory.known()

    def adopt(self, carried: Carried) -> None:
        """Give names the places that the caller passes."""
        self._memory.adopt(carried)

    def absorb_at(self, encoded: Encoded, places: Places, carried: Carried = ()) -> None:
        """Learn what was encoded with its names at the places that a log says.

        So a log of which some events are gone leads to the same columns. ``carried`` are names that had columns before,
        recorded again by an event that had not recorded them.
        """
        self._memory.absorb_at(encoded, places, carried)

    def note(self, encoded: Encoded) -> None:
        """Learn the names of what was encoded, and nothing else."""
        self._memory.note(encoded, self.planned(encoded)[0])

    def note_at(self, encoded: Encoded, places: Places, carried: Carried = ()) -> None:
        """Count an encoded record, with its names at the places that a log gives."""
        self._memory.note_at(encoded, places, carried)

    @property
    def extent(self) -> tuple[int, int]:
        """Number of places and of slots for numbers in use, including those without a known name."""
        return self._memory.extent

    def reserve(self, extent: tuple[int, int]) -> None:
        """Give no name a place that was another's before, in what had this extent."""
        self._memory.reserve(extent)

    def state(self) -> dict[str, NDArray[Any]]:
        """All that has been learnt, as arrays."""
        return self._memory.state()

    def check_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Refuse arrays that `restore` cannot take: other ones than a fresh vectorizer has, or of another kind."""
        fresh = self._memory.state()
        if "vectors" in state:
            fresh |= {"vectors": np.empty(0, np.uint8), "vector_lengths": _NONE}
        fits = fresh.keys() == state.keys() and all(
            array.dtype == state[name].dtype and array.ndim == state[name].ndim for name, array in fresh.items()
        )
        if not fits or state["crowded"].shape != (self.dim,) or len(state["df"]) > 2 * self.dim:
            raise InvalidRecord(
                "the arrays do not belong to a vectorizer with these settings", "restore the file from a copy"
            )

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take over what `state` gave."""
        self._memory.restore(state)
        self._encoder.forget()

    def fresh(self) -> Vectorizer:
        """A vectorizer with the same settings and no state."""
        return type(self).from_settings(self.to_settings())

    def to_record(self) -> dict[str, Any]:
        """The settings."""
        return {
            "dim": self.dim,
            "text": self.text,
            "crosses": self.crosses,
            "constant": self.constant,
            "scale": self.scale,
            "id_feature": self.id_feature,
            "vectors": self.vectors,
            "seed": self.seed,
        }

    def __repr__(self) -> str:
        settings = non_default_args(type(self), self.to_record(), self.built_at)
        return f"Vectorizer({', '.join(f'{name}={value!r}' for name, value in settings.items())})"

    def _complete(self, encoded: Encoded) -> tuple[IntArray, NDArray[np.uint32], Any]:
        if not encoded.names:
            return encoded.starts, encoded.indices, encoded.values
        return encoded.with_columns(self.planned(encoded)[1])


def _are_candidates(records: Any) -> bool:
    return hasattr(records, "records") and hasattr(records, "context")


def _as_paths(text: Any) -> tuple[str, ...]:
    paths = (text,) if isinstance(text, str) else text
    try:
        given = tuple(paths)
    except TypeError:
        given = (None,)
    if not all(isinstance(path, str) and path for path in given):
        raise InvalidArgument(f"text is {text!r}", 'give the paths of fields that hold texts, e.g. text=("title",)')
    return given
