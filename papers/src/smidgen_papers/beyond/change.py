"""Change and delay: what the recommended learners do after a jump, during a slow change, and with late answers."""

from __future__ import annotations

from typing import Any

import numpy as np

import smidgen
from smidgen import Candidates, Choice, Pipeline, Vectorizer
from smidgen.decision import FloatArray, IntArray
from smidgen.learners import Learner
from smidgen.learners.choose import ChoiceBank, LinUCB
from smidgen.learners.filter import RidgeFil
from smidgen.learners.label import Confidit, HingeConfidit, LabelBank
from smidgen_papers.beyond import paper, reward_peers
from smidgen_papers.beyond.reward_worlds import as_arrays
from smidgen_papers.catalogue import add_figure, add_study
from smidgen_papers.outcome import Outcome, Table
from smidgen_papers.part import Answers, Part, Place, Run, Values, part

__all__ = ["gather", "gather_delay", "paper", "plan", "plan_delay"]

FIRST_SEED, KINDS, COLUMNS = 900, 4, 8
#: How labels, choices and filters are changed, by loop.
WORLDS = {"label": ("still", "jump", "slow"), "choose": ("still", "jump", "another"), "filter": ("still", "jump")}
CONTENDERS = {
    "label": ("recommended", "recommended, records", "HingeConfidit", "Confidit"),
    "choose": (
        "recommended",
        "recommended, records",
        "LinUCB, records",
        "LinUCB, forgetting .99",
        "Vowpal Wabbit squarecb",
    ),
    "filter": ("recommended", "recommended, records", "without detect"),
}
DELAYS = (0, 100, 1000)


def _labels(world: str, rounds: int, seed: int) -> tuple[FloatArray, IntArray]:
    """Normal clouds, one for each label; they are dealt again at half time, or wander."""
    rng = np.random.default_rng([seed, 1])
    first, second = rng.normal(size=(2, KINDS, COLUMNS))
    y, share = rng.integers(0, KINDS, rounds), np.zeros(rounds)
    if world == "jump":
        share[rounds // 2 :] = 1.0
    elif world == "slow":
        share = np.linspace(0.0, 1.0, rounds)
    centers = (1.0 - share)[:, None] * first[y] + share[:, None] * second[y]
    return centers + 0.6 * rng.normal(size=(rounds, COLUMNS)), y


def _records(X: FloatArray) -> list[dict[str, float]]:
    return [{f"x{k}": float(value) for k, value in enumerate(x)} for x in X]


def _label_learner(contender: str, seed: int) -> Learner:
    if contender == "HingeConfidit":
        return HingeConfidit(dim=COLUMNS, n_classes=KINDS, seed=seed)
    if contender == "Confidit":
        return Confidit(dim=COLUMNS, n_classes=KINDS, seed=seed)
    if contender == "recommended":
        return smidgen.recommended(loop="label", dim=COLUMNS, n_classes=KINDS, seed=seed)
    return Pipeline(features=Vectorizer(dim=64), learner=LabelBank(dim=64, n_classes=KINDS, seed=seed))


def _restarts(learner: Learner) -> int:
    inner = learner.learner if isinstance(learner, Pipeline) else learner
    return len(getattr(inner, "restarts", ()))


def _play_labels(contender: str, world: str, rounds: int, seed: int, delay: int = 0) -> tuple[FloatArray, int]:
    """Errors by round; answers come so many rounds late."""
    X, y = _labels(world, rounds, seed)
    contexts: Any = _records(X) if contender.endswith("records") else X
    learner, errors, waiting = _label_learner(contender, seed), np.empty(rounds), []
    for t in range(rounds):
        made = learner.decide(contexts[t])
        errors[t] = made.action != y[t]
        waiting.append((made, bool(made.action == y[t])))
        if len(waiting) > delay:
            learner.learn(*waiting.pop(0))
    return errors, _restarts(learner)


def _arms(world: str, rounds: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """Two context columns and the mean reward of three arms; another: a poor arm becomes the best after a third."""
    rng = np.random.default_rng([seed, 2])
    C, half, steep = rng.normal(size=(rounds, 2)), rounds // 2, rng.normal(size=(2, 3, 2))
    if world == "another":
        means = np.tile([0.5, 0.4, 0.2], (rounds, 1))
        means[rounds // 3 :, 2] = 0.8
        return C, means
    steep *= 2.0 / np.linalg.norm(steep, axis=2, keepdims=True)
    means = 1.0 / (1.0 + np.exp(-C @ steep[0].T))
    if world == "jump":
        means[half:] = 1.0 / (1.0 + np.exp(-C[half:] @ steep[1].T))
    return C, means


def _play_choices(contender: str, world: str, rounds: int, seed: int) -> tuple[FloatArray, int]:
    """Regret by round."""
    C, means = _arms(world, rounds, seed)
    rewards = (np.random.default_rng([seed, 3]).random(means.shape) < means).astype(float)
    names = ("a", "b", "c")
    offers: list[Any] = [
        Candidates({name: {} for name in names}, context={"u": float(c[0]), "v": float(c[1])}) for c in C
    ]
    X = np.zeros((rounds, 3, 9))
    for k in range(3):  # columns of its own for each arm
        X[:, k, 3 * k : 3 * k + 3] = np.hstack([C, np.ones((rounds, 1))])
    if contender.startswith("Vowpal"):
        gained = reward_peers.play_vw(as_arrays(X.reshape(-1, 9), rewards), "squarecb", 0.5, seed)
        return means.max(axis=1) - gained, 0
    learner: Learner
    if contender == "recommended":
        learner, offers = ChoiceBank(dim=9, seed=seed), [Choice(rows) for rows in X]
    elif contender.startswith("recommended"):
        learner = Pipeline(features=Vectorizer(dim=64), learner=ChoiceBank(dim=64, seed=seed))
    else:
        forgetting = 0.99 if "forgetting" in contender else 1.0
        inner = LinUCB(dim=64, width=0.3, ridge=0.1, forgetting=forgetting, seed=seed)
        learner = Pipeline(features=Vectorizer(dim=64), learner=inner)
    regret = np.empty(rounds)
    for t, offer in enumerate(offers):
        made = learner.decide(offer)
        learner.learn(made, float(rewards[t, made.action]))
        regret[t] = means[t].max() - rewards[t, made.action]
    return regret, _restarts(learner)


def _play_filter(contender: str, world: str, rounds: int, seed: int) -> tuple[FloatArray, int]:
    """F of both halves: clusters, of which one is relevant; at half time another."""
    rng = np.random.default_rng([seed, 4])
    kind, centers = rng.integers(0, 12, rounds), 1.2 * rng.normal(size=(12, 12))
    X, y = centers[kind] + 0.6 * rng.normal(size=(rounds, 12)), kind == 0
    if world == "jump":
        y[rounds // 2 :] = kind[rounds // 2 :] == 1
    if contender.endswith("records"):
        inner = smidgen.recommended(loop="filter", dim=64, seed=seed)
        pipeline = Pipeline(features=Vectorizer(dim=64), learner=inner)
        history, starts = pipeline.run(_records(X), y), _restarts(pipeline)
    else:
        learner = RidgeFil(dim=12, explore="sparing", detect=contender == "recommended", seed=seed)
        history = learner.run(X / np.linalg.norm(X, axis=1, keepdims=True), y)
        starts = _restarts(learner)
    shown, half = history.actions, rounds // 2
    halves = [(shown[part], y[part]) for part in (slice(half), slice(half, None))]
    scores = [2.0 * float((a & b).sum()) / max(1.0, float(a.sum() + b.sum())) for a, b in halves]
    return np.repeat(scores, [half, rounds - half]), starts


def play(place: Place, *, loop: str, world: str, contender: str, rounds: int, seed: int) -> Values:
    """Figures of both halves, and the fresh starts."""
    run = {"label": _play_labels, "choose": _play_choices, "filter": _play_filter}[loop]
    figures, starts = run(contender, world, rounds, seed)
    cut = rounds // 3 if world == "another" else rounds // 2
    return {"first": float(figures[:cut].mean()), "second": float(figures[cut:].mean()), "starts": starts}


def plan(run: Run) -> list[Part]:
    """Every contender in every world."""
    rounds, seeds = (300, 1) if run.quick else (3000, 6)
    return [
        part(play, seconds=1.0, loop=loop, world=world, contender=contender, rounds=rounds, seed=run.seed + seed)
        for loop, worlds in WORLDS.items()
        for world in worlds
        for contender in CONTENDERS[loop]
        if not contender.startswith("Vowpal") or reward_peers.installed("Vowpal Wabbit")
        for seed in range(FIRST_SEED, FIRST_SEED + seeds)
    ]


def gather(run: Run, answers: Answers) -> Outcome:
    """The second half of each world, and how often a learner started again."""
    tables = []
    for loop, worlds in WORLDS.items():
        rows = []
        for contender in CONTENDERS[loop]:
            cells: list[Any] = [contender]
            for world in worlds:
                played = list(answers.where(loop=loop, world=world, contender=contender))
                if played:
                    means = [float(np.mean([each[name] for each in played])) for name in ("first", "second", "starts")]
                    cells.append(f"{means[0]:.3f}, then {means[1]:.3f} ({means[2]:.1f})")
            if len(cells) > 1:
                rows.append(cells)
        figure = {"label": "errors", "choose": "regret", "filter": "F"}[loop]
        tables.append(Table(f"{figure}, first part, then second (fresh starts a run)", [loop, *worlds], rows))
    return Outcome(tables=tables)


def late(place: Place, *, contender: str, delay: int, rounds: int, seed: int) -> Values:
    """Errors where answers come late: of all rounds, and of the last sixth."""
    errors, starts = _play_labels(contender, "still", rounds, seed, delay)
    return {"all": float(errors.mean()), "last": float(errors[-(rounds // 6) :].mean()), "starts": starts}


def plan_delay(run: Run) -> list[Part]:
    """Labels at once, 100 and 1,000 rounds late."""
    rounds, seeds = (300, 1) if run.quick else (3000, 6)
    return [
        part(late, seconds=1.0, contender=contender, delay=delay, rounds=rounds, seed=run.seed + seed)
        for contender in CONTENDERS["label"]
        for delay in DELAYS
        for seed in range(FIRST_SEED, FIRST_SEED + seeds)
    ]


def gather_delay(run: Run, answers: Answers) -> Outcome:
    """Errors by delay."""
    rows = []
    for contender in CONTENDERS["label"]:
        cells: list[Any] = [contender]
        for delay in DELAYS:
            played = list(answers.where(contender=contender, delay=delay))
            means = [float(np.mean([each[name] for each in played])) for name in ("all", "last", "starts")]
            cells.append(f"{means[0]:.3f}, last {means[1]:.3f} ({means[2]:.1f})")
        rows.append(cells)
    columns = ["labels", *(f"{delay} late" for delay in DELAYS)]
    return Outcome(tables=[Table("errors of all rounds, of the last sixth (fresh starts a run)", columns, rows)])


add_figure(
    "beyond/change",
    title="Change: labels, choices and filters after a jump, and where another became better",
    shows="No paper has this: generated streams whose world changes, through records and on arrays.",
)
add_study("beyond/change", "streams", plan=plan, gather=gather)
add_figure(
    "beyond/delay",
    title="Late answers: labels that are answered at once, 100 and 1,000 rounds late",
    shows="No paper has this: generated streams, through records and on arrays.",
)
add_study("beyond/delay", "streams", plan=plan_delay, gather=gather_delay)
