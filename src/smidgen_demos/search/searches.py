"""Searches as decisions of an ordinary rank model."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from smidgen.learners import Feedback, Loop
from smidgen.service.engine.engine import Engine
from smidgen.service.loops.registry import loops
from smidgen.service.schemas import Candidate, DecisionBody, ModelBody
from smidgen_demos.base import DemoPage
from smidgen_demos.search.documents import Document
from smidgen_demos.search.features import NAMES, features
from smidgen_demos.search.index import Index

#: The learner to begin with for clicks, with its settings to begin with.
MODEL = ModelBody(loop=Loop.RANK, feedback=Feedback.CLICKS, features=list(NAMES), window_s=86400.0)
DEMO = DemoPage("search", "Search demo", Path(__file__).parent / "pages", MODEL, start=("q", "search box"))
SHOWN = 10


class Search(NamedTuple):
    """A query with its candidates.

    Attributes
    ----------
    query, words
        As it was typed, and the words that are looked for.
    documents
        The candidates, in the order of their names.
    rows
        Their features.
    """

    query: str
    words: list[str]
    documents: list[Document]
    rows: list[list[float]]

    def body(self) -> DecisionBody:
        """The request for a decision."""
        pairs = zip(self.documents, self.rows, strict=True)
        candidates = [Candidate(id=document.name, features=row) for document, row in pairs]
        body: DecisionBody = loops.decision(candidates=candidates, top=SHOWN)
        return body


def search(query: str, index: Index) -> Search:
    """Look for candidates; which come first is not decided here."""
    found = index.find(query)
    documents = [index.documents[place] for place in found.places]
    return Search(query, found.words, documents, features(index, found).tolist())


def decide(engine: Engine, name: str, asked: Search) -> dict[str, Any]:
    """A decision of the model, which is made if it is not there."""
    engine.create(name, MODEL)
    return engine.decide(name, asked.body())


def scales(engine: Engine, name: str) -> bool:
    """True if the model's learner scales each feature to [0, 1] over the candidates of a query."""
    return bool(engine.model(name).blueprint.settings.get("normalize"))


def shown(asked: Search, reply: dict[str, Any], *, scaled: bool) -> list[dict[str, Any]]:
    """The first results as the page shows them, best first, with what the learner reads: scaled or as they are."""
    rows = np.array(asked.rows)
    if scaled:
        low, width = rows.min(axis=0), np.ptp(rows, axis=0)
        rows = np.divide(rows - low, width, out=np.zeros_like(rows), where=width > 0)
    place = {document.name: i for i, document in enumerate(asked.documents)}
    out = []
    for id, score in zip(reply["ranking"][:SHOWN], reply["scores"][:SHOWN], strict=True):
        document = asked.documents[place[id]]
        shown = {"name": id, "kind": document.kind, "signature": document.signature, "summary": document.summary}
        out.append({**shown, "text": document.text, "score": score, "features": rows[place[id]].tolist()})
    return out
