"""Drafts that people edit: simulated editors with hidden styles over real texts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from smidgen_papers.beyond import paper
from smidgen_papers.beyond.draft_play import CONTESTANTS, play
from smidgen_papers.beyond.draft_styles import NAMED, TRAITS, UNNAMED
from smidgen_papers.catalogue import add_figure, add_study
from smidgen_papers.outcome import Outcome, Table
from smidgen_papers.part import Answers, Part, Run, part

__all__ = ["gather", "paper", "plan"]

#: The seeds of the editors were not looked at while features and scales were chosen.
FIRST_SEED = 500
SOURCES = ("amazon", "reuters")
#: Editors with several wishes.
SEVERAL = (
    ("short", "ampersand", "greeting"),
    ("exclaiming", "yet", "choice of words"),
    ("bullets", "that", "contracted"),
)
#: Rounds that must follow an edit before they say something, and edits that are looked at.
LEAST = 10
EDITS = 30


def plan(run: Run) -> list[Part]:
    """Every trait alone, and some together; without and with slips."""
    rounds, seeds, names = (30, 1, list(CONTESTANTS)) if run.quick else (60, 4, list(CONTESTANTS))
    wishes = [[trait] for trait in TRAITS] + [list(each) for each in SEVERAL]
    parts: list[Part] = []
    for source in SOURCES:
        if not run.has(source):
            continue
        for traits in wishes:
            for slips in (0.0,) if run.quick else (0.0, 0.3):
                for seed in range(seeds):
                    settings: dict[str, Any] = {"source": source, "traits": traits, "contestants": names}
                    settings |= {"slips": slips, "rounds": rounds}
                    parts.append(part(play, seconds=4.0, seed=run.seed + FIRST_SEED + seed, **settings))
    return parts


def _share_after(answer: Any, name: str, edits: int) -> float | None:
    """Of one editor: the avoidable distance after so many edits, as a share of that without learning.

    None where there was nothing to avoid, where there were not so many edits, or too few rounds after them.
    """
    without = float(answer["no learning: avoidable"].mean())
    changed = np.flatnonzero(~np.asarray(answer[f"{name}: unchanged"]))
    rest = answer[f"{name}: avoidable"][changed[edits - 1] + 1 :] if len(changed) >= edits else []
    return float(np.mean(rest)) / without if without > 0.0 and len(rest) >= LEAST else None


def halved(answers: list[Any], name: str) -> int | None:
    """After how many edits at most half of the avoidable distance is left, on average over editors; None if never.

    It is told as long as half of the editors have made so many edits: those who need none are well served already.
    """
    for edits in range(1, EDITS + 1):
        found = [share for each in answers if (share := _share_after(each, name, edits)) is not None]
        if 2 * len(found) < len(answers):
            return None
        if np.mean(found) <= 0.5:
            return edits
    return None


def _row(group: str, answers: list[Any], name: str) -> list[str]:
    """Of one group of editors and one contestant: figures of the second half, and after how many edits half was gone.

    Each editor's figures are shares of his own avoidable distance without learning; one who had none is left out.
    """
    shares, unchanged = [], []
    for answer in answers:
        without = float(answer["no learning: avoidable"].mean())
        if without > 0.0:
            late = slice(len(answer[f"{name}: avoidable"]) // 2, None)
            shares.append(float(answer[f"{name}: avoidable"][late].mean()) / without)
            unchanged.append(float(answer[f"{name}: unchanged"][late].mean()))
    if not shares:
        return [group, name, "–", "–", "–"]
    spread = 1.96 * float(np.std(shares, ddof=1)) / math.sqrt(len(shares)) if len(shares) > 1 else 0.0
    when = halved(answers, name)
    return [
        group,
        name,
        f"{np.mean(shares):.2f} ± {spread:.2f}",
        f"{np.mean(unchanged):.0%}",
        "–" if when is None else str(when),
    ]


def gather(run: Run, answers: Answers) -> Outcome:
    """Groups of editors by contestant; each trait by itself; how often the theorem does not speak."""
    rows, traits, beyond = [], [], []
    heads = [
        "editors",
        "who chooses",
        "share of the avoidable distance that is left",
        "left unchanged",
        "edits until half of it is gone",
    ]
    for slips in sorted({answer.settings["slips"] for answer in answers}):
        some = list(answers.where(slips=slips))
        single = [each for each in some if len(each.settings["traits"]) == 1]
        groups = {
            "one trait, named": [each for each in single if each.settings["traits"][0] in NAMED],
            "one trait, not named": [each for each in single if each.settings["traits"][0] in UNNAMED],
            "one trait, all": single,
            "one trait, all but the order": [e for e in single if e.settings["traits"] != ["conclusion first"]],
            "three traits": [each for each in some if len(each.settings["traits"]) > 1],
        }
        word = f", slips {slips:.0%}" if slips else ""
        for group, members in groups.items():
            if members:
                rows += [_row(group + word, members, name) for name in CONTESTANTS]
        if not slips:
            for trait in TRAITS:
                mine = [each for each in single if each.settings["traits"] == [trait]]
                traits += [_row(trait, mine, name) for name in CONTESTANTS[3:]] if mine else []
        for name in CONTESTANTS[3:]:
            edits = sum(int(each[f"{name}: edits"]) for each in some)
            outside = sum(int(each[f"{name}: beyond"]) for each in some)
            beyond.append([f"{slips:.0%}", name, edits, outside, f"{outside / max(1, edits):.0%}"])
    return Outcome(
        tables=[
            Table(
                "What editors had to change beyond the best draft on offer, as a share of that without learning",
                heads,
                rows,
            ),
            Table("Each trait alone, no slips", heads, traits),
            Table(
                "Edits of which Theorem 1 does not speak: the better text was not on offer, and w·Δ > 0",
                ["slips", "who chooses", "edits", "beyond", "share"],
                beyond,
            ),
        ],
        notes=[
            "Distances are in words, runs of marks and line breaks; a text has 4 to 8 sentences.",
            "The share that is left, and what was left unchanged, are of the second half of the rounds.",
        ],
    )


add_figure(
    "beyond/drafts",
    title="Drafts that people edit: simulated editors with hidden styles over real texts",
    shows="No paper has this: eight drafts of a real text, one shown, the editor's text comes back.",
)
add_study("beyond/drafts", "editors", plan=plan, gather=gather, data=("amazon", "reuters"))
