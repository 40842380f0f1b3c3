"""Made-up data sets in the shapes of well-known collections: tables, prices, ratings, speech, documents.

Tables have the shapes of the UCI and Delve collections. Stocks share a market. Ratings are tastes of low rank, a few
popular items, whole stars. Of speech, each sound has its place and each speaker shifts it. Documents have words by
Zipf's law, and a few words of each topic's own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen import checks
from smidgen.arrays import scipy
from smidgen.decision import FloatArray, IntArray
from smidgen.errors import InvalidArgument

_SCALES = {"unit": "rows of length 1", "standard": "mean 0, deviation 1", "range": "from -1 to 1"}


@dataclass(frozen=True, eq=False)
class Table:
    """A table of numbers.

    Attributes
    ----------
    name
        What this is.
    X
        One row per case.
    y
        The target: a number (``task`` "regression") or +1 / −1 ("classification").
    columns
        The names of the features.
    task
        "regression" or "classification".
    """

    name: str
    X: FloatArray
    y: FloatArray
    columns: tuple[str, ...]
    task: str

    def __len__(self) -> int:
        return len(self.y)

    def __repr__(self) -> str:
        return f"Table({self.name!r}, {len(self)} rows x {len(self.columns)} features, {self.task})"

    def scaled(self, scale: str | None = None, target: str | None = None) -> Table:
        """Scale the features, and the target if asked.

        Parameters
        ----------
        scale
            ``"standard"``: every feature to mean 0 and standard deviation 1; ``"range"``: every feature to [−1, 1], as
            the scaled sets on the LIBSVM page; ``"unit"``: every row to length 1 (zeros stay); None: as it is.
        target
            The same for the target: ``"standard"``, ``"range"`` or None. The labels of a classification stay ±1.
        """
        X = self.X if scale is None else _scale(self.X, checks.one_of("scale", scale, _SCALES))
        y = self.y
        if target is not None:
            checks.one_of("target", target, ("standard", "range"))
            if self.task == "classification":
                raise InvalidArgument(f"target is {target!r} but the labels are ±1", "omit target")
            y = _scale(y[:, None], target)[:, 0]
        return replace(self, X=X, y=y)

    def without(self, *columns: str) -> Table:
        """Leave out these features."""
        for column in columns:
            checks.one_of("column", column, self.columns)
        kept = [j for j, column in enumerate(self.columns) if column not in columns]
        return replace(self, X=np.ascontiguousarray(self.X[:, kept]), columns=tuple(self.columns[j] for j in kept))

    def sample(self, rows: int, seed: int = 0) -> Table:
        """Draw rows without replacement."""
        n = checks.whole("rows", rows, f"give at most {len(self)}", below=len(self) + 1)
        picked = np.random.default_rng(checks.seed(seed)).permutation(len(self))[:n]
        return replace(self, X=self.X[picked], y=self.y[picked])


#: Rows, features, task, and the share of the +1 of the tables of the ONSEG paper.
_SHAPES = {
    "abalone": (4177, 8, "regression", 0.0),
    "kin8nm": (8192, 8, "regression", 0.0),
    "ionosphere": (351, 33, "classification", 225 / 351),
    "cancer": (683, 9, "classification", 239 / 683),
}


def regression_table(
    *, rows: int = 4177, dim: int = 8, noise: float = 0.5, curvature: float = 0.3, seed: int = 0
) -> Table:
    """Correlated features, and a target that is almost linear in them.

    The target is a linear function of deviation 1, plus ``curvature`` times the standardised square of another one,
    plus ``noise``.

    Parameters
    ----------
    rows, dim
        How many rows and features.
    noise, curvature
        See above.
    seed
        The same seed, the same table.

    Examples
    --------
    >>> from smidgen.data import regression_table
    >>> regression_table()
    Table('generated', 4177 rows x 8 features, regression)
    """
    X, score = _score(rows, dim, noise, curvature, seed)
    return Table("generated", X, score, _columns(dim), "regression")


def classification_table(
    *,
    rows: int = 351,
    dim: int = 33,
    positive: float = 0.64,
    noise: float = 0.5,
    curvature: float = 0.3,
    seed: int = 0,
) -> Table:
    """Correlated features, and labels ±1 by the score of `regression_table`: the largest ``positive`` share is +1.

    Parameters
    ----------
    rows, dim
        How many rows and features.
    positive
        The share of the rows with label +1.
    noise, curvature
        As in `regression_table`.
    seed
        The same seed, the same table.

    Examples
    --------
    >>> from smidgen.data import classification_table
    >>> made_up = classification_table(rows=100, dim=3, positive=0.25)
    >>> int((made_up.y == 1).sum())
    25
    """
    share = checks.number("positive", positive, "give a share in (0, 1)", above=0.0, at_most=1.0)
    X, score = _score(rows, dim, noise, curvature, seed)
    y = np.full(len(score), -1.0)
    y[np.argsort(-score, kind="stable")[: round(share * len(score))]] = 1.0
    return Table("generated", X, y, _columns(dim), "classification")


def table_like(name: str, *, seed: int = 0) -> Table:
    """Return a made-up table with the shape and task of the one that `table` loads under this name.

    Examples
    --------
    >>> from smidgen.data import table_like
    >>> table_like("ionosphere")
    Table('generated', 351 rows x 33 features, classification)
    """
    rows, dim, task, positive = _SHAPES[checks.one_of("name", name, _SHAPES)]
    if task == "regression":
        return regression_table(rows=rows, dim=dim, seed=seed)
    return classification_table(rows=rows, dim=dim, positive=positive, seed=seed)


def _score(rows: int, dim: int, noise: float, curvature: float, seed: int) -> tuple[FloatArray, FloatArray]:
    n, d = checks.whole("rows", rows, "at least 2", at_least=2), checks.dimension(dim)
    hint = "give a number, at least 0"
    sigma = checks.number("noise", noise, hint, at_least=0.0)
    bend = checks.number("curvature", curvature, hint, at_least=0.0)
    rng = np.random.default_rng(checks.seed(seed))
    X = rng.normal(size=(n, d)) + rng.normal(size=(n, 1)) * rng.uniform(0.0, 1.5, size=d)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    plain, bent = (X @ rng.normal(size=(d, 2))).T
    plain, bent = plain / plain.std(), (bent / bent.std()) ** 2
    bent = (bent - bent.mean()) / max(float(bent.std()), 1e-12)
    return X, plain + bend * bent + sigma * rng.normal(size=n)


def _columns(dim: int) -> tuple[str, ...]:
    return tuple(f"x{j + 1}" for j in range(dim))


def _scale(X: FloatArray, how: str) -> FloatArray:
    if how == "unit":
        lengths = np.linalg.norm(X, axis=1, keepdims=True)
        return np.asarray(X / np.where(lengths > 0, lengths, 1.0))
    if how == "standard":
        spread = X.std(axis=0)
        return np.asarray((X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0))
    low, high = X.min(axis=0), X.max(axis=0)
    return np.where(high > low, 2.0 * (X - low) / np.where(high > low, high - low, 1.0) - 1.0, 0.0)


@dataclass(frozen=True, eq=False)
class Prices:
    """A table of prices.

    Attributes
    ----------
    name
        What this is.
    dates
        The day of each row, growing.
    stocks
        The name of each column.
    prices
        One row per day, one column per stock; all > 0.
    """

    name: str
    dates: NDArray[np.datetime64]
    stocks: tuple[str, ...]
    prices: FloatArray

    def __len__(self) -> int:
        return len(self.dates)

    def __repr__(self) -> str:
        return f"Prices({self.name!r}, {len(self)} days x {len(self.stocks)} stocks)"

    def weekly(self) -> Prices:
        """The last price of each week (Monday to Sunday); weeks without any row are skipped."""
        # Day 0 of numpy's calendar, 1 January 1970, is a Thursday: three days on from its Monday.
        week = (self.dates.astype("datetime64[D]").astype(np.int64) + 3) // 7
        last = np.flatnonzero(np.diff(week, append=week[-1:] + 1))
        return replace(self, dates=self.dates[last], prices=self.prices[last])

    def relatives(self) -> FloatArray:
        """Each price divided by the one in the row before: one row fewer than there are days."""
        return np.asarray(self.prices[1:] / self.prices[:-1])

    def returns(self) -> FloatArray:
        """The relative gain from row to row: `relatives` less 1."""
        return self.relatives() - 1.0

    def select(self, stocks: Any) -> Prices:
        """Only these stocks (indices or a mask), in this order."""
        picked = np.arange(len(self.stocks))[np.asarray(stocks)]
        return replace(
            self, stocks=tuple(self.stocks[j] for j in picked), prices=np.ascontiguousarray(self.prices[:, picked])
        )


def price_stream(
    *,
    weeks: int = 680,
    stocks: int = 94,
    drift: float = 0.08,
    market: float = 0.25,
    own: float = 0.30,
    spread: float = 0.05,
    seed: int = 0,
) -> Prices:
    """Weekly prices by geometric Brownian motion with one market factor.

    The log return of stock i in week t is (μ_i − σ_i²/2)/52 + (b_i·m·Z_t + s·Z_it)/√52 with independent normal Z, where
    σ_i² = b_i²m² + s², so that the expected gain over a year is μ_i (in log terms). Nothing in the past tells the
    future: no strategy can do better than to find the stocks with the largest μ_i, which takes decades.

    Parameters
    ----------
    weeks, stocks
        How many weekly returns (there is one price more) and stocks. By default the size of the portfolio experiment of
        the bandit optimisation paper: 94 stocks of the SSE 180 from February 2005 on, which are not public.
    drift
        The mean of the yearly drifts μ_i.
    market
        m: the volatility of the market, per year. The sensitivities b_i are normal around 1 with deviation 0.3.
    own
        s: the volatility of each stock apart from the market, per year.
    spread
        The standard deviation of the drifts μ_i among the stocks.
    seed
        The same seed, the same prices.

    Examples
    --------
    >>> from smidgen.data import price_stream
    >>> prices = price_stream()
    >>> prices
    Prices('generated', 681 days x 94 stocks)
    >>> prices.relatives().shape
    (680, 94)
    """
    n = checks.whole("weeks", weeks, "at least 1")
    k = checks.whole("stocks", stocks, "at least 1")
    mu = checks.number("drift", drift, "for instance 0.08 per year")
    m, s, d = (
        checks.number(name, value, "give a number per year, at least 0", at_least=0.0)
        for name, value in (("market", market), ("own", own), ("spread", spread))
    )
    rng = np.random.default_rng(checks.seed(seed))
    drifts = mu + d * rng.normal(size=k)
    sensitivity = 1.0 + 0.3 * rng.normal(size=k)
    variance = (sensitivity * m) ** 2 + s**2
    shocks = m * rng.normal(size=(n, 1)) * sensitivity + s * rng.normal(size=(n, k))
    logs = np.cumsum((drifts - variance / 2.0) / 52.0 + shocks / np.sqrt(52.0), axis=0)
    prices = 10.0 * np.exp(np.vstack((np.zeros(k), logs)))
    dates = np.datetime64("2005-02-04") + 7 * np.arange(n + 1)
    return Prices("generated", dates, tuple(f"stock{j + 1}" for j in range(k)), prices)


@dataclass(frozen=True, eq=False)
class Ratings:
    """Ratings: user, item and value.

    Attributes
    ----------
    name
        What this is.
    users, items
        Of each rating: the user and the item, counted from 0 without gaps.
    ratings
        Of each rating: the number of stars.
    user_ids, item_ids
        The original number of each user and item.
    titles
        The title of each item ("" where none is known).
    """

    name: str
    users: IntArray
    items: IntArray
    ratings: FloatArray
    user_ids: IntArray
    item_ids: IntArray
    titles: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.ratings)

    def __repr__(self) -> str:
        return f"Ratings({self.name!r}, {len(self)} ratings, {self.n_users} users x {self.n_items} items)"

    @property
    def n_users(self) -> int:
        """Number of users."""
        return len(self.user_ids)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.item_ids)

    def matrix(self) -> Any:
        """The ratings as a scipy CSR matrix, users × items; what is not stored was not rated."""
        shape = (self.n_users, self.n_items)
        return scipy("sparse", "a matrix of ratings").csr_matrix((self.ratings, (self.users, self.items)), shape=shape)

    def of_user(self, user: int) -> tuple[IntArray, FloatArray]:
        """The items that one user rated, and the ratings. It goes through all ratings: for many users take `matrix`."""
        mine = np.flatnonzero(self.users == user)
        return self.items[mine], self.ratings[mine]

    def only_users(self, users: Any) -> Ratings:
        """Keep these users (indices), numbered again in the given order, over the same items."""
        picked = np.asarray(users, np.int64)
        number = np.full(self.n_users, -1)
        number[picked] = np.arange(len(picked))
        mine = np.flatnonzero(number[self.users] >= 0)
        return replace(
            self,
            users=number[self.users[mine]],
            items=self.items[mine],
            ratings=self.ratings[mine],
            user_ids=self.user_ids[picked],
        )

    def split(self, seed: int = 0) -> tuple[Ratings, Ratings]:
        """Two random halves of the users, over the same items (the first half takes the odd user)."""
        order = np.random.default_rng(checks.seed(seed)).permutation(self.n_users)
        middle = (self.n_users + 1) // 2
        return self.only_users(np.sort(order[:middle])), self.only_users(np.sort(order[middle:]))


def rating_matrix(
    *,
    users: int = 1000,
    items: int = 1000,
    rank: int = 8,
    per_user: int = 120,
    taste: float = 0.6,
    noise: float = 0.8,
    seed: int = 0,
) -> Ratings:
    """Ratings of the shape of MovieLens: 3.6 + effect of the user + effect of the item + p·q + noise, in whole stars.

    How many items a user rates is log-normal (at least 20, or all there are). Which ones is drawn by popularity, which
    falls like 1/rank^0.8; popular items are also rated higher. Ratings are rounded to 1, …, 5.

    Parameters
    ----------
    users, items
        How many (MovieLens 1M: 6,040 and 3,706).
    rank
        The length of p and q.
    per_user
        How many items a user rates on average, roughly (MovieLens 1M: 166).
    taste
        The standard deviation of p·q.
    noise
        The standard deviation of the noise.
    seed
        The same seed, the same ratings.

    Examples
    --------
    >>> from smidgen.data import rating_matrix
    >>> ratings = rating_matrix(users=200, items=100, per_user=40)
    >>> ratings.n_users, ratings.n_items, float(ratings.ratings.min()), float(ratings.ratings.max())
    (200, 100, 1.0, 5.0)
    """
    n, m, k = (
        checks.whole(name, value, "at least 1") for name, value in (("users", users), ("items", items), ("rank", rank))
    )
    mean = checks.whole("per_user", per_user, "at least 1")
    hint = "give a number, at least 0"
    spread = checks.number("taste", taste, hint, at_least=0.0)
    sigma = checks.number("noise", noise, hint, at_least=0.0)
    rng = np.random.default_rng(checks.seed(seed))
    popularity = -0.8 * np.log(np.arange(1.0, m + 1.0))
    item_effects = 0.35 * rng.normal(size=m) + 0.2 * (popularity - popularity.mean()) / max(popularity.std(), 1e-12)
    shuffled = rng.permutation(m)  # item numbers say nothing about popularity
    popularity, item_effects = popularity[shuffled], item_effects[shuffled]
    user_effects = 0.4 * rng.normal(size=n)
    scale = np.sqrt(spread / np.sqrt(k))
    P, Q = scale * rng.normal(size=(n, k)), scale * rng.normal(size=(m, k))
    sizes = np.clip(rng.lognormal(np.log(mean) - 0.32, 0.8, size=n).astype(np.int64), min(20, m), m)
    chosen = [  # a draw without replacement by popularity: the largest of popularity plus Gumbel noise
        np.sort(np.argpartition(-(popularity + rng.gumbel(size=m)), size - 1)[:size]) for size in sizes
    ]
    rows, columns = np.repeat(np.arange(n), sizes), np.concatenate(chosen)
    exact = 3.6 + user_effects[rows] + item_effects[columns] + np.einsum("ij,ij->i", P[rows], Q[columns])
    stars = np.clip(np.rint(exact + sigma * rng.normal(size=len(rows))), 1.0, 5.0)
    titles = tuple(f"item {j + 1}" for j in range(m))
    return Ratings("generated", rows, columns, stars, np.arange(1, n + 1), np.arange(1, m + 1), titles)


@dataclass(frozen=True, eq=False)
class Frames:
    """Short pieces of speech, and what was spoken.

    Attributes
    ----------
    name
        What this is.
    X
        One row of features per frame.
    y
        The class of each frame, counted from 0.
    classes
        The names of the classes.
    speaker
        The speaker of each frame, counted from 0.
    speakers
        The names of the speakers.
    recording
        The recording of each frame, counted from 0. Frames of one recording stand together, in order.
    """

    name: str
    X: FloatArray
    y: IntArray
    classes: tuple[str, ...]
    speaker: IntArray
    speakers: tuple[str, ...]
    recording: IntArray

    def __len__(self) -> int:
        return len(self.y)

    def __repr__(self) -> str:
        return (
            f"Frames({self.name!r}, {len(self)} frames x {self.X.shape[1]} features, {len(self.classes)} classes, "
            f"{len(self.speakers)} speakers)"
        )

    def select(self, order: Any) -> Frames:
        """Only these frames (indices or a mask), in this order."""
        picked = np.arange(len(self))[np.asarray(order)]
        return replace(
            self, X=self.X[picked], y=self.y[picked], speaker=self.speaker[picked], recording=self.recording[picked]
        )

    def of_speakers(self, *names: str) -> Frames:
        """Only the frames of these speakers."""
        for name in names:
            checks.one_of("speaker", name, self.speakers)
        return self.select(np.isin(self.speaker, [self.speakers.index(name) for name in names]))

    def of_classes(self, *names: str) -> Frames:
        """Only the frames of these classes, numbered again in the given order."""
        for name in names:
            checks.one_of("class", name, self.classes)
        number = np.full(len(self.classes), -1)
        number[[self.classes.index(name) for name in names]] = np.arange(len(names))
        chosen = self.select(number[self.y] >= 0)
        return replace(chosen, y=number[chosen.y], classes=names)

    def window(self, width: int) -> Frames:
        """Put the features of ``width`` neighbouring frames in a row: the frame itself in the middle.

        At the ends of a recording its first and last frame are repeated; a window never reaches into another recording.
        """
        w = checks.whole("width", width, "give an odd number of frames, e.g. 7")
        if w % 2 == 0:
            raise InvalidArgument(
                f"width is {w} and must be odd", "the frame itself is in the middle: give 1, 3, 5 or 7"
            )
        at = np.arange(len(self))
        change = np.flatnonzero(np.diff(self.recording)) + 1
        run = np.searchsorted(change, at, side="right")
        low = np.concatenate(([0], change))[run]
        high = np.concatenate((change, [len(self)]))[run] - 1
        neighbours = [np.clip(at + step, low, high) for step in range(-(w // 2), w // 2 + 1)]
        return replace(self, X=np.hstack([self.X[near] for near in neighbours]))

    def standardized(self) -> Frames:
        """Every feature to mean 0 and standard deviation 1 over all frames; a constant one to 0."""
        spread = self.X.std(axis=0)
        return replace(self, X=(self.X - self.X.mean(axis=0)) / np.where(spread > 0, spread, 1.0))

    def with_squares(self) -> Frames:
        """Add the square of every feature, and a constant 1: d features become 2d + 1."""
        return replace(self, X=np.hstack((self.X, self.X**2, np.ones((len(self), 1)))))


def frames(
    *,
    speakers: int = 20,
    classes: int = 8,
    recordings: int = 3,
    length: int = 40,
    dim: int = 26,
    separation: float = 0.6,
    accent: float = 0.4,
    seed: int = 0,
) -> Frames:
    """Frames of the shape of a vowel corpus: Gaussian classes, shifted by the speaker, smooth in time.

    A frame is mean of the class + shift of the speaker + shift of the speaker for this class + noise. The noise of a
    frame has correlation 0.9 with that of the frame before it in the recording, and deviation 1 in every feature.

    Parameters
    ----------
    speakers, classes, dim
        How many.
    recordings, length
        How many recordings of each class a speaker makes, and the frames of each.
    separation
        The standard deviation of the classes' means in every feature.
    accent
        The standard deviation of the speakers' shifts; those per class are half as large.
    seed
        The same seed, the same frames.

    Examples
    --------
    >>> from smidgen.data import frames
    >>> made_up = frames(speakers=3, classes=4, recordings=2, length=10)
    >>> made_up
    Frames('generated', 240 frames x 26 features, 4 classes, 3 speakers)
    >>> made_up.window(7).with_squares().X.shape
    (240, 365)
    """
    n, k, r, t = (
        checks.whole(name, value, "at least 1")
        for name, value in (
            ("speakers", speakers),
            ("classes", classes),
            ("recordings", recordings),
            ("length", length),
        )
    )
    d = checks.dimension(dim)
    hint = "give a number, at least 0"
    apart = checks.number("separation", separation, hint, at_least=0.0)
    shift = checks.number("accent", accent, hint, at_least=0.0)
    rng = np.random.default_rng(checks.seed(seed))
    means = apart * rng.normal(size=(k, d))
    accents = shift * (rng.normal(size=(n, 1, d)) + 0.5 * rng.normal(size=(n, k, d)))
    noise = rng.normal(size=(n, k, r, t, d))
    for step in range(1, t):
        noise[..., step, :] = 0.9 * noise[..., step - 1, :] + np.sqrt(1.0 - 0.81) * noise[..., step, :]
    X = (noise + (means + accents)[:, :, None, None, :]).reshape(-1, d)
    speaker, y = (axis.ravel() for axis in np.indices((n, k, r, t))[:2])
    return Frames(
        "generated",
        X,
        y.astype(np.int64),
        tuple(f"sound {j + 1}" for j in range(k)),
        speaker.astype(np.int64),
        tuple(f"speaker {i + 1}" for i in range(n)),
        np.repeat(np.arange(n * k * r), t),
    )


@dataclass(frozen=True, eq=False)
class Documents:
    """Word counts with their topics.

    Attributes
    ----------
    X
        A scipy CSR matrix of word counts: one row per document.
    topics
        One row per document, one column per topic: whether the document is about it.
    classes
        The names of the topics.
    """

    X: Any
    topics: NDArray[np.bool_]
    classes: tuple[str, ...]

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def __repr__(self) -> str:
        return f"Documents({len(self)} documents x {self.X.shape[1]} words, {len(self.classes)} topics)"

    @property
    def labels(self) -> IntArray:
        """The topic of each document, counted from 0; −1 where it has none or several."""
        first = self.topics.argmax(axis=1).astype(np.int64)
        return np.where(self.topics.sum(axis=1) == 1, first, -1)


def documents(
    *,
    documents: int = 2000,
    words: int = 10_000,
    topics: int = 20,
    length: int = 100,
    own: int = 200,
    purity: float = 0.3,
    shares: tuple[float, float] | None = None,
    seed: int = 0,
) -> Documents:
    """Bags of words of the shape of newsgroups or of newswire.

    Words follow Zipf's law: word k of the vocabulary is drawn with probability ∝ 1/(k + 10). Each topic has words
    of its own from anywhere in the vocabulary, again by Zipf's law. Of the words of a document, a share around
    ``purity`` comes from its topics, the rest is common to all. Lengths are log-normal.

    Parameters
    ----------
    documents, words, topics
        How many.
    length
        The number of words of a document, roughly on average; at least 5.
    own
        How many words belong to each topic.
    purity
        The mean share of a document's words that come from its topics. Each document has its own, uniform between 0 and
        twice the mean (at most 1).
    shares
        None: every document has exactly one topic, all topics equally often, as in newsgroups. A pair like
        (0.01, 0.05): a document has any number of topics (most have none), each drawn on its own; the topics' shares go
        from the larger number down to the smaller in equal ratios, as those that the filtering paper picked.
    seed
        The same seed, the same documents.

    Examples
    --------
    >>> from smidgen.data import documents
    >>> made_up = documents(documents=300, words=1000, topics=4)
    >>> made_up
    Documents(300 documents x 1000 words, 4 topics)
    >>> sorted(set(made_up.labels.tolist()))
    [0, 1, 2, 3]
    >>> wire = documents(documents=5000, words=1000, topics=12, shares=(0.01, 0.05))
    >>> [float(share.round(2)) for share in wire.topics.mean(axis=0)[[0, -1]]]
    [0.05, 0.01]
    """
    sparse = scipy("sparse", "a matrix of word counts")
    n, width, k = (
        checks.whole(name, value, "at least 1")
        for name, value in (("documents", documents), ("words", words), ("topics", topics))
    )
    mean = checks.whole("length", length, "at least 5", at_least=5)
    mine = checks.whole("own", own, "at least 1 and at most all words", below=width + 1)
    pure = checks.number("purity", purity, "give a share in [0, 1]", at_least=0.0, at_most=1.0)
    rng = np.random.default_rng(checks.seed(seed))
    about = _topics(rng, n, k, shares)
    vocabulary = np.array([rng.permutation(width)[:mine] for _ in range(k)])
    lengths = np.maximum(rng.lognormal(np.log(mean) - 0.18, 0.6, size=n).astype(np.int64), 5)
    rows = np.repeat(np.arange(n), lengths)
    columns = _zipf(rng, width, len(rows))
    count = about.sum(axis=1)
    topical = np.flatnonzero(rng.random(len(rows)) < np.where(count > 0, 2.0 * pure * rng.random(n), 0.0)[rows])
    # The j-th topic of a document, j drawn for each of its topical words; np.nonzero lists the topics row by row.
    first, listed = np.cumsum(count) - count, np.nonzero(about)[1]
    which = listed[first[rows[topical]] + (rng.random(len(topical)) * count[rows[topical]]).astype(np.int64)]
    columns[topical] = vocabulary[which, _zipf(rng, mine, len(topical))]
    X = sparse.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(n, width))
    X.sum_duplicates()
    return Documents(X, about, tuple(f"topic {j + 1}" for j in range(k)))


def _topics(rng: np.random.Generator, n: int, k: int, shares: tuple[float, float] | None) -> NDArray[np.bool_]:
    if shares is None:
        return np.asarray(np.eye(k, dtype=np.bool_)[rng.integers(k, size=n)])
    low, high = (
        checks.number("shares", share, "give two shares in (0, 1], the smaller first", above=0.0, at_most=1.0)
        for share in shares
    )
    return np.asarray(rng.random((n, k)) < np.geomspace(high, low, k))


def _zipf(rng: np.random.Generator, width: int, size: int) -> IntArray:
    """Ranks 0 … width − 1, drawn with probability ∝ 1/(rank + 10)."""
    steps: FloatArray = np.cumsum(1.0 / np.arange(10.0, width + 10.0))
    ranks = np.searchsorted(steps, rng.random(size) * steps[-1], side="right")
    return np.asarray(np.minimum(ranks, width - 1), np.int64)
