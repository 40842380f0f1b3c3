"""One class name, one place; or it stands here why not."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

import smidgen

SRC = Path(smidgen.__file__).parents[1]
#: Names that stand in several places of one package, and why.
WHY = {
    "smidgen": {
        "Request": "what comes in, of one loop: a loop is a file",
        "Reply": "what goes out, of one loop",
        "Told": "what is told of a decision, of one loop; and the row of a store that holds it",
        "DecisionBody": "the body of a request; and that of an event, in the log",
        "FeedbackBody": "the body of a request; and that of an event, in the log",
        "Filter": "a learner; and the service's loop of that name",
        "Loop": "the enumeration of loops; and the base class of the service's",
        "Linear": "a knob; and a loss: both public since the first version",
        "Estimate": "an offline estimate, public; and one of a what-if, in the service's replies",
        "Verdict": "what a theorem says, public; and what a store says of an answer",
        "_Classifier": "with scikit-learn; and without it",
        "Outcome": "of a what-if; and the row of a store",
        "Table": "a data set; and figures of the service",
        "Answer": "what a person did with a ranking; and what the client got",
    },
    "smidgen_papers": {
        "Orders": "of the curves of one figure each",
        "Task": "a corpus to classify; and a run of a series",
        "WithSVM": "two figures with the same baseline",
    },
}


@pytest.mark.parametrize("package", WHY)
def test_one_class_name_one_place(package: str) -> None:
    places = defaultdict(list)
    for path in (SRC / package).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{path.relative_to(SRC)}:{node.lineno}")
    twice = {name: where for name, where in places.items() if len(where) > 1}
    assert WHY[package].keys() <= twice.keys(), "a name that stands in one place by now leaves the list"
    assert {name: where for name, where in twice.items() if name not in WHY[package]} == {}
