"""Drafts that people edit: simulated editors with hidden styles over real texts."""

from __future__ import annotations

from typing import Any

import numpy as np

from smidgen.decision import FloatArray
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
#: Half of the avoidable distance is gone when the mean over so many rounds says so.
WINDOW = 10


def plan(run: Run) -> list[Part]:
    """Every trait alone, and some together; without and with slips."""
    rounds, seeds, names = (30, 1, list(CONTESTANTS)) if run.quick else (60, 6, list(CONTESTANTS))
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


def _curves(answers: list[Any], name: str, what: str) -> FloatArray:
    return np.array([answer[f"{name}: {what}"] for answer in answers], np.float64)


def halved(curve: FloatArray, without: float) -> int | None:
    """After how many rounds the mean of the next ones is at most half of what it is without learning; None if never."""
    for t in range(len(curve) - WINDOW + 1):
        if curve[t : t + WINDOW].mean() <= without / 2:
            return t
    return None


def _row(group: str, answers: list[Any], name: str) -> list[str]:
    """Of one group of editors and one contestant: the figures of the second half, and when half of it was gone."""
    rounds = len(answers[0]["no learning: avoidable"])
    late = slice(rounds // 2, None)
    without = float(_curves(answers, "no learning", "avoidable").mean())
    curve, same = _curves(answers, name, "avoidable"), _curves(answers, name, "unchanged")
    when = halved(curve.mean(axis=0), without)
    edits = "–" if when is None else f"{(1.0 - same[:, :when]).sum(axis=1).mean():.0f}"
    spread = 1.96 * float(curve[:, late].mean(axis=1).std(ddof=1)) / np.sqrt(len(curve)) if len(curve) > 1 else 0.0
    return [
        group,
        name,
        f"{curve[:, late].mean():.2f} ± {spread:.2f}",
        f"{curve[:, late].mean() / max(without, 1e-12):.2f}",
        f"{same[:, late].mean():.0%}",
        edits,
    ]


def gather(run: Run, answers: Answers) -> Outcome:
    """Groups of editors by contestant; each trait by itself; how often the theorem does not speak."""
    rows, traits, beyond = [], [], []
    heads = ["editors", "who chooses", "avoidable, second half", "of no learning", "left unchanged", "edits until half"]
    for slips in sorted({answer.settings["slips"] for answer in answers}):
        some = list(answers.where(slips=slips))
        single = [each for each in some if len(each.settings["traits"]) == 1]
        groups = {
            "one trait, named": [each for each in single if each.settings["traits"][0] in NAMED],
            "one trait, not named": [each for each in single if each.settings["traits"][0] in UNNAMED],
            "one trait, all": single,
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
            Table("Words and marks that editors had to change, beyond the best draft on offer", heads, rows),
            Table("Each trait alone, no slips", heads, traits),
            Table(
                "Edits of which Theorem 1 does not speak: the better text was not on offer, and w·Δ > 0",
                ["slips", "who chooses", "edits", "beyond", "share"],
                beyond,
            ),
        ],
        notes=["Distances are in words, runs of marks and line breaks; a text has 4 to 8 sentences."],
    )


add_figure(
    "beyond/drafts",
    title="Drafts that people edit: simulated editors with hidden styles over real texts",
    shows="No paper has this: eight drafts of a real text, one shown, the editor's text comes back.",
)
add_study("beyond/drafts", "editors", plan=plan, gather=gather, data=("amazon", "reuters"))
