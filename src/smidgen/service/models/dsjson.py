"""dsjson in: what another system has shown, and what came of it, as examples for a choose model by reward.

A line is read as Vowpal Wabbit's ``--dsjson`` does: ``c`` has the context by namespace and the actions in ``_multi``,
``_label_Action`` (from 1) is the one that was shown, ``_label_cost`` the negative of its reward. An action is called by
its ``_tag`` or ``_id``, else by its place, from 1. Lines without a label, and those that say ``_skipLearn``, are passed
over and counted.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from smidgen.service.lenient import record
from smidgen.service.loops.registry import loops
from smidgen.service.messages import ROWS, Candidate, ExamplesBody
from smidgen.service.refusals import Impossible


class Examples(NamedTuple):
    """Examples to teach, and how many lines held none."""

    body: ExamplesBody | None
    passed_over: int


def read(content: bytes, id: str) -> Examples:
    """The examples of a text; ``id`` is what the call is known again by."""
    lines = [line for line in content.splitlines() if line.strip()]
    if len(lines) > ROWS:
        raise Impossible(f"there are {len(lines):,} lines", f"send at most {ROWS:,} in one call")
    found = [example(text, f"line {number}") for number, text in enumerate(lines, 1)]
    examples = [each for each in found if each is not None]
    body = loops.examples(id=id, examples=examples) if examples else None
    return Examples(body, len(found) - len(examples))


def example(text: bytes, place: str) -> Any:
    """The example of a line, None if it holds none; ``place`` is its name in refusals."""
    try:
        told = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Impossible(f"{place} is not JSON: {error}", "send one event per line") from error
    if not isinstance(told, dict):
        raise Impossible(f"{place} is no object", "send one event per line")
    if "_label_cost" not in told or told.get("_skipLearn") is True:
        return None
    about = told.get("c")
    actions = about.get("_multi") if isinstance(about, dict) else None
    if not isinstance(about, dict) or not isinstance(actions, list) or not actions:
        raise Impossible(f"{place} has no c._multi", "send events with several actions (cb_adf)")
    shown, cost = told.get("_label_Action"), told["_label_cost"]
    if not isinstance(shown, int) or isinstance(shown, bool) or not 1 <= shown <= len(actions):
        raise Impossible(f"{place}: _label_Action is {shown!r}", f"give a place from 1 to {len(actions)}")
    if not isinstance(cost, int | float) or isinstance(cost, bool):
        raise Impossible(f"{place}: _label_cost is {cost!r}", "give a number: the negative of the reward")
    candidates = [_candidate(action, number, place) for number, action in enumerate(actions, 1)]
    context = record({name: value for name, value in about.items() if name != "_multi"})
    return loops.example(
        candidates=candidates,
        context=context or None,
        answer={"choice": candidates[shown - 1].id, "reward": 0.0 - cost},
    )


def _candidate(action: Any, number: int, place: str) -> Candidate:
    if not isinstance(action, dict):
        raise Impossible(f"{place}: action {number} is no object", "give its namespaces, each with its features")
    name = action.get("_tag", action.get("_id", str(number)))
    if not isinstance(name, str) or not 0 < len(name) <= 256:
        raise Impossible(f"{place}: action {number} is called {name!r}", "give a name of 1 to 256 characters")
    return Candidate(id=name, features=record(action))
