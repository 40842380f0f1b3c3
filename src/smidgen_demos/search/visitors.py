"""Simulated visitors: they share a taste that the model never sees, and show it by clicks alone."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from msgspec import Meta

from smidgen.decision import FloatArray
from smidgen.service.engine.engine import Engine
from smidgen.service.loops.registry import loops
from smidgen.service.schemas import Message
from smidgen.structures import Ranking
from smidgen.users import ClickModel
from smidgen_demos.search import words
from smidgen_demos.search.documents import is_private
from smidgen_demos.search.features import NAMES
from smidgen_demos.search.index import Index
from smidgen_demos.search.searches import SHOWN, Search, decide, search

#: How much each feature pleases a visitor.
TASTE = {
    "words in name": 1.0,
    "words in summary": 0.8,
    "words in text": 0.2,
    "exact name": 1.0,
    "name begins so": 0.4,
    "all words in name": 0.5,
    "share of words found": 0.6,
    "long text": -0.2,
    "is a module": 0.0,
    "is a class": 0.1,
    "is a function": 0.4,
    "deep inside": -0.5,
    "private": -0.9,
    "often imported": 0.6,
}
NOISE = 0.1
#: Visitors are picky: one candidate is what they came for (grade 4), one is nearly that (3), two might do, two hardly.
GRADED = (1, 1, 2, 2)
FEWEST = 5


class VisitorsBody(Message):
    """Number of simulated visitors."""

    users: Annotated[int, Meta(ge=1, le=50)] = 10


class Visitor(NamedTuple):
    """Somebody with a question.

    Attributes
    ----------
    search
        What was typed, with the candidates.
    grades
        How relevant each candidate is in the visitor's eyes, 0 to 4.
    seed
        Of the draws of the clicks.
    """

    search: Search
    grades: FloatArray
    seed: int


def visitor(seed: int, index: Index) -> Visitor:
    """The visitor of this number: a query made of words of some public document, and an opinion on its candidates.

    The opinion is the taste times the features, plus a little noise; grades are given by rank.
    """
    rng = np.random.default_rng([11, seed])
    asked = _ask(rng, index)
    while len(asked.documents) < FEWEST:
        asked = _ask(rng, index)
    pleasure = np.array(asked.rows) @ np.array([TASTE[name] for name in NAMES])
    order = np.argsort(-(pleasure + NOISE * rng.normal(size=len(pleasure))), kind="stable")
    grades, start = np.zeros(len(order)), 0
    for grade, many in zip((4, 3, 2, 1), GRADED, strict=True):
        grades[order[start : start + many]] = grade
        start += many
    return Visitor(asked, grades, seed)


def visit(engine: Engine, name: str, who: Visitor) -> bool:
    """The visitor gets a real decision, reads the first ten results downward, and clicks; whether on anything.

    A cascade of the navigational kind: the click on a result depends on its grade, and after a good one the visitor is
    gone. What stands first is therefore clicked more, whatever it is. Who clicks nothing leaves no answer.
    """
    reply = decide(engine, name, who.search)
    places = {document.name: i for i, document in enumerate(who.search.documents)}
    order = [places[id] for id in reply["ranking"]]
    reader = ClickModel(labels=who.grades, model="navigational", grades=5, depth=SHOWN, seed=who.seed)
    clicks = reader.clicks(Ranking(np.array(who.search.rows), top=SHOWN), order)
    if not clicks:
        return False
    ids = [who.search.documents[place].name for place in clicks]
    engine.feedback(reply["decision"], loops.feedback(clicked=ids))
    return True


def _ask(rng: np.random.Generator, index: Index) -> Search:
    document = index.documents[int(rng.integers(len(index.documents)))]
    while is_private(document.name) or "__" in document.name:
        document = index.documents[int(rng.integers(len(index.documents)))]
    query = [str(rng.choice(words.of_name(document.name.rpartition(".")[2])))]
    if rng.random() < 0.6 and (summary := words.of_text(document.summary)):
        query.append(str(rng.choice(summary)))
    return search(" ".join(query), index)
