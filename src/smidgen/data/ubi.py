"""Searches and clicks as search engines log them: user behaviour insights (UBI), queries and events as NDJSON."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from smidgen.decision import FloatArray, IntArray
from smidgen.errors import DataMissing, InvalidArgument, InvalidRecord
from smidgen.serialization import UNREADABLE

#: Actions that count as a click on a result, by default.
CLICKS = ("click", "click_through", "item_click", "result_click", "product_click", "add_to_cart", "purchase", "watch")


class _Thing(msgspec.Struct):
    object_id: str | int | None = None


class _Attributes(msgspec.Struct):
    object: _Thing | None = None


class UbiEvent(msgspec.Struct):
    """A user action: its kind, its search and its result. Other fields are not read."""

    action_name: str
    query_id: str | None = None
    event_attributes: _Attributes | None = None

    @property
    def object_id(self) -> str | None:
        """The result that it was about."""
        about = self.event_attributes.object if self.event_attributes is not None else None
        return None if about is None or about.object_id is None else str(about.object_id)


class _Query(msgspec.Struct):
    query_id: str
    user_query: str | None = None
    query_response_hit_ids: list[str | int] | None = None
    query_response_object_ids: list[str | int] | None = None


class _QueryLine(_Query, kw_only=True):
    query_id: str = ""
    source: _Query | None = msgspec.field(default=None, name="_source")


class _EventLine(UbiEvent, kw_only=True):
    action_name: str = ""
    source: UbiEvent | None = msgspec.field(default=None, name="_source")


@dataclass(frozen=True)
class SearchPage:
    """A search: the query, the results in the order shown, and the clicks.

    Attributes
    ----------
    query_id, user_query
        Its id, and what was typed; empty if that was not logged.
    hits
        The ids of the results, the first place first.
    clicked
        The places (from 0) that were clicked, in the order of the first click on each.
    """

    query_id: str
    user_query: str
    hits: tuple[str, ...]
    clicked: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class UbiLog:
    """The searches of a log with their clicks.

    Attributes
    ----------
    pages
        Searches that had results, in the order of the file.
    passed_over
        Events that are no clicks on a result: other actions, no search, no object.
    unknown
        Clicks of searches that are not in the file.
    elsewhere
        Clicks on objects that are not among the results of their search.
    without_hits
        Searches without results, or whose results were not logged.
    """

    pages: tuple[SearchPage, ...]
    passed_over: int
    unknown: int
    elsewhere: int
    without_hits: int

    def __len__(self) -> int:
        return len(self.pages)

    def __repr__(self) -> str:
        clicks = sum(len(page.clicked) for page in self.pages)
        return f"UbiLog({len(self)} searches, {clicks} clicks, {self.elsewhere + self.unknown} of unknown results)"

    def click_rates(self, places: int = 10) -> FloatArray:
        """The share of the pages that reach each place on which it was clicked: place and merit in one."""
        shown = np.zeros(places)
        hit = np.zeros(places)
        for page in self.pages:
            shown[: len(page.hits)] += 1.0
            for place in page.clicked:
                if place < places:
                    hit[place] += 1.0
        return np.asarray(np.divide(hit, shown, out=np.full(places, np.nan), where=shown > 0))

    def moves(self, order: Callable[[SearchPage], Sequence[str]]) -> tuple[IntArray, IntArray, IntArray]:
        """For `smidgen.evaluate.position_ips`: of each click its page, its place, and its place in another order.

        Parameters
        ----------
        order
            From a page to the ids of results in the order to be judged; a result that it leaves out is not shown.
        """
        found: list[tuple[int, int, int]] = []
        for number, page in enumerate(self.pages):
            if not page.clicked:
                continue
            new = {str(id): place for place, id in reversed(list(enumerate(order(page))))}
            found += [(number, place, new.get(page.hits[place], -1)) for place in page.clicked]
        columns = np.array(found, np.int64).reshape(-1, 3)
        return columns[:, 0], columns[:, 1], columns[:, 2]


def read_ubi(queries: Any, events: Any, *, clicks: Iterable[str] = CLICKS) -> UbiLog:
    """Read searches and events of the UBI schema (1.0 to 1.3), as OpenSearch, Elasticsearch and Solr log them.

    Parameters
    ----------
    queries, events
        Files of NDJSON (``.gz`` too), or their contents as bytes: an object per line, plain or inside ``_source``, as
        exports of an index have it. Fields that are not needed are passed over.
    clicks
        The values of ``action_name`` that count as clicks.

    Examples
    --------
    >>> import json
    >>> from smidgen.data import read_ubi
    >>> searches = b'{"query_id": "q1", "user_query": "toner", "query_response_hit_ids": ["p1", "p2"]}'
    >>> seen = {"action_name": "click", "query_id": "q1", "event_attributes": {"object": {"object_id": "p2"}}}
    >>> log = read_ubi(searches, json.dumps(seen).encode())
    >>> log.pages[0].clicked
    (1,)
    >>> log.click_rates(2).tolist()
    [0.0, 1.0]
    """
    if isinstance(clicks, str):
        raise InvalidArgument(f"clicks is {clicks!r}", 'give a list of actions, e.g. ["click"]')
    wanted = frozenset(clicks)
    clicked: dict[str, list[str]] = {}
    passed_over = 0
    for event in _events(events):
        object_id = event.object_id
        if event.action_name not in wanted or event.query_id is None or object_id is None:
            passed_over += 1
        else:
            clicked.setdefault(event.query_id, []).append(object_id)
    pages: list[SearchPage] = []
    unknown, elsewhere, without = Counter({id: len(each) for id, each in clicked.items()}), 0, 0
    for query in _queries(queries):
        hits = tuple(map(str, query.query_response_hit_ids or query.query_response_object_ids or ()))
        mine = clicked.get(query.query_id, [])
        unknown.pop(query.query_id, None)
        if not hits:
            without += 1
            elsewhere += len(mine)
            continue
        place = {id: at for at, id in reversed(list(enumerate(hits)))}
        found = dict.fromkeys(place[id] for id in mine if id in place)
        elsewhere += sum(id not in place for id in mine)
        pages.append(SearchPage(query.query_id, query.user_query or "", hits, tuple(found)))
    return UbiLog(tuple(pages), passed_over, sum(unknown.values()), elsewhere, without)


def _queries(source: Any) -> Iterable[_Query]:
    for line in _lines(source, _QueryLine, "queries"):
        query = line.source if line.source is not None else line
        if not query.query_id:
            raise InvalidRecord("a line of queries has no query_id", "give the index of queries, one object per line")
        yield query


def _events(source: Any) -> Iterable[UbiEvent]:
    for line in _lines(source, _EventLine, "events"):
        event = line.source if line.source is not None else line
        if not event.action_name:
            raise InvalidRecord("a line of events has no action_name", "give the index of events, one object per line")
        yield event


def _lines(source: Any, kind: type[Any], what: str) -> list[Any]:
    if not isinstance(source, (str, Path, bytes)):
        raise InvalidArgument(f"{what} is a {type(source).__name__}", "give a file, or its contents as bytes")
    try:
        content = source if isinstance(source, bytes) else _content(Path(source))
    except OSError as error:
        raise InvalidArgument(f"{what} cannot be read: {error.strerror or error}", "give a file of NDJSON") from error
    try:
        return msgspec.json.Decoder(kind).decode_lines(content)
    except UNREADABLE as error:
        raise InvalidRecord(f"{what} holds no UBI object per line: {error}", "export the index as NDJSON") from error


def _content(path: Path) -> bytes:
    try:
        return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except FileNotFoundError:
        raise DataMissing(f"there is no file {path}", "check the path") from None
