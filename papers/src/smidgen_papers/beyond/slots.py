"""Several slots: one decision for a page of three, next to one independent model for each slot."""

from __future__ import annotations

import numpy as np

import smidgen
from smidgen.decision import FloatArray
from smidgen_papers.beyond import paper
from smidgen_papers.catalogue import add_figure, add_study
from smidgen_papers.outcome import Outcome, Table
from smidgen_papers.part import Answers, Part, Place, Run, Values, part

__all__ = ["gather", "paper", "plan"]

SLOTS = ("hero", "side", "foot")
#: Items, kinds of visitors, and pages.
SIZES = ((6, 4, 250), (9, 6, 275), (12, 8, 300))
#: How the tastes of the slots hang together: the same; the same, seen less further down; in each slot other items do
#: well besides; nothing in common at all.
WORLDS = ("shared", "shared, seen less", "other items", "nothing in common")
#: How visible a slot is where it is seen less further down.
SEEN = (1.0, 0.7, 0.5)
#: Who chooses: one decision with slots, or a model per slot whose decision leaves out what stands on the page.
WAYS = ("slots", "a model per slot")
LEARNERS = ("ChoiceBank", "LinUCB")
DIM = 1024


def tastes(world: str, items: int, kinds: int, seed: int) -> FloatArray:
    """How likely a click is: by slot, kind of visitor and item."""
    rng = np.random.default_rng([seed, 41])
    found: FloatArray = rng.beta(1.0, 2.0, (1, kinds, items))
    if world == "nothing in common":
        found = rng.beta(1.0, 2.0, (len(SLOTS), kinds, items))
    elif world == "other items":
        found = 0.5 * (found + rng.beta(1.0, 2.0, (len(SLOTS), 1, items)))
    else:
        seen = SEEN if world == "shared, seen less" else (1.0,) * len(SLOTS)
        found = found * np.array(seen)[:, None, None]
    return found


def _pipeline(learner: str, seed: int) -> smidgen.Pipeline:
    cls = {"ChoiceBank": smidgen.ChoiceBank, "LinUCB": smidgen.LinUCB}[learner]
    settings = {"width": 0.3, "ridge": 0.1} if learner == "LinUCB" else {}
    return smidgen.Pipeline(features=smidgen.Vectorizer(dim=DIM), learner=cls(dim=DIM, seed=seed, **settings))


def play(place: Place, *, world: str, learner: str, way: str, items: int, kinds: int, pages: int, seed: int) -> Values:
    """The mean click of a slot: over all pages, and over the second half."""
    clicks, rng = tastes(world, items, kinds, seed), np.random.default_rng([seed, 42])
    models = [_pipeline(learner, seed + i) for i in range(1 if way == "slots" else len(SLOTS))]
    names, gained = [f"item {k}" for k in range(items)], np.empty(pages)
    for t in range(pages):
        kind, luck = int(rng.integers(kinds)), rng.random((len(SLOTS), items))
        context, records = {"visitor": f"kind {kind}"}, dict.fromkeys(names)
        reward = (luck < clicks[:, kind]).astype(float)
        if way == "slots":
            made = models[0].decide(smidgen.Candidates(records, context=context, slots=SLOTS))
            shown = list(made.actions or ())
            models[0].learn(made, {slot: reward[i, shown[i]] for i, slot in enumerate(SLOTS)})
        else:
            shown, left = [], list(names)
            for i, model in enumerate(models):
                single = model.decide(smidgen.Candidates(dict.fromkeys(left), context=context))
                chosen = names.index(left[single.action])
                model.learn(single, reward[i, chosen])
                left.remove(names[chosen])
                shown.append(chosen)
        gained[t] = float(np.mean([clicks[i, kind, k] for i, k in enumerate(shown)]))
    return {"all": float(gained.mean()), "late": float(gained[pages // 2 :].mean())}


def plan(run: Run) -> list[Part]:
    """Both ways on the same pages."""
    seeds = 2 if run.quick else 6
    return [
        part(
            play,
            seconds=0.5,
            world=world,
            learner=learner,
            way=way,
            items=items,
            kinds=kinds,
            pages=60 if run.quick else pages,
            seed=run.seed + s,
        )
        for world in WORLDS
        for learner in LEARNERS
        for items, kinds, pages in SIZES
        for way in WAYS
        for s in range(seeds)
    ]


def gather(run: Run, answers: Answers) -> Outcome:
    """Mean clicks of a slot, and the difference on the same pages with its interval."""
    rows = []
    for world in WORLDS:
        for learner in LEARNERS:
            for items, kinds, _ in SIZES:
                where = {"world": world, "learner": learner, "items": items, "kinds": kinds}
                mine, theirs = (np.array([each["all"] for each in answers.where(**where, way=way)]) for way in WAYS)
                gain = mine - theirs
                half = 1.96 * float(gain.std(ddof=1)) / np.sqrt(len(gain))
                rows.append(
                    [
                        world,
                        learner,
                        f"{items} items, {kinds} kinds",
                        f"{theirs.mean():.3f}",
                        f"{mine.mean():.3f}",
                        f"{gain.mean():+.3f} ± {half:.3f}",
                    ]
                )
    columns = ["tastes of the slots", "learner", "world", "a model per slot", "one decision with slots", "difference"]
    return Outcome(tables=[Table("Mean click of a slot, in expectation; ± is a 95 % interval", columns, rows)])


add_figure(
    "beyond/slots",
    title="Several slots: one decision for a page, next to a model per slot",
    shows="Three slots, 6 to 12 items, 4 to 8 kinds of visitors, 250 to 300 pages.",
)
add_study("beyond/slots", "clicks", plan=plan, gather=gather)
