"""Weak context: visitors of MovieLens, to each of whom one of eight films is shown as a banner."""

from __future__ import annotations

import gzip
from typing import Any

import numpy as np

from smidgen import Candidates, Pipeline, Vectorizer
from smidgen.decision import FloatArray
from smidgen.learners import Learner
from smidgen.learners.choose import ChoiceBank, LinUCB
from smidgen_papers.beyond import paper, reward_peers
from smidgen_papers.beyond.reward_worlds import as_arrays, matrix
from smidgen_papers.catalogue import add_figure, add_study
from smidgen_papers.data.movielens import movielens
from smidgen_papers.outcome import Outcome, Table
from smidgen_papers.part import Answers, Part, Place, Run, Values, part

__all__ = ["gather", "paper", "plan"]

USERS = "movielens/ml1m_users.dat.gz"
FILMS, ORDERS, VISITORS = 8, 10, 2500
CONTENDERS = (
    "recommended, records",
    "recommended",
    "LinUCB, records",
    "ε-greedy without context",
    "Vowpal Wabbit squarecb",
)
#: From which round on the second figure counts.
AFTER = 1000


def _visitors(place: Place) -> tuple[list[dict[str, str]], FloatArray]:
    """Sex, age and occupation of each user, and for which of the eight most rated films they gave four stars or more.

    Without the file of users: made-up visitors, whose context says a little.
    """
    if place.data is None or not (place.data / USERS).is_file() or not place.has("movielens"):
        rng = np.random.default_rng(7)
        ages = rng.integers(0, 7, 600)
        likes = rng.random((600, FILMS)) < 0.3 + 0.02 * np.arange(FILMS) + 0.02 * (ages[:, None] > 3)
        return [{"age": str(age)} for age in ages], likes.astype(float)
    lines = gzip.decompress((place.data / USERS).read_bytes()).decode("latin-1").splitlines()
    known = {int(user): (sex, age, job) for user, sex, age, job, _ in (line.split("::") for line in lines)}
    ratings = movielens(place.data)
    stars = ratings.matrix()
    films = np.argsort(-np.bincount(ratings.items), kind="stable")[:FILMS]
    likes = (stars[:, films].toarray() >= 4.0).astype(float)
    users = [known[int(user)] for user in ratings.user_ids]
    return [{"sex": sex, "age": age, "occupation": job} for sex, age, job in users], likes


def play(place: Place, *, contender: str, visitors: int, order: int) -> Values:
    """The mean reward of all rounds, and of those after the first thousand."""
    people, likes = _visitors(place)
    who = np.random.default_rng([order, 5]).permutation(len(people))[:visitors]
    rewards, names = likes[who], [f"film {k}" for k in range(FILMS)]
    gained = np.empty(len(who))
    if contender.startswith("Vowpal"):
        gained = reward_peers.play_vw(_rows([people[w] for w in who], rewards), "squarecb", 0.5, order)
    elif contender.startswith("ε"):
        rng, shown, sums = np.random.default_rng([order, 6]), np.zeros(FILMS), np.zeros(FILMS)
        for t in range(len(who)):
            k = int(rng.integers(FILMS)) if rng.random() < 0.1 else int(np.argmax((sums + 1.0) / (shown + 1.0)))
            gained[t] = rewards[t, k]
            shown[k], sums[k] = shown[k] + 1.0, sums[k] + rewards[t, k]
    elif contender == "recommended":
        X = matrix(_rows([people[w] for w in who], rewards))
        gained[:] = ChoiceBank(dim=X.shape[1], seed=order).run(X, rewards).rewards
    else:
        inner: Learner = ChoiceBank(dim=4096, seed=order)
        if contender.startswith("LinUCB"):
            inner = LinUCB(dim=4096, width=0.3, ridge=0.1, seed=order)
        learner = Pipeline(features=Vectorizer(dim=4096), learner=inner)
        for t, w in enumerate(who):
            made = learner.decide(Candidates({name: {} for name in names}, context=people[w]))
            gained[t] = rewards[t, made.action]
            learner.learn(made, float(gained[t]))
    best = float(rewards[AFTER:].mean(axis=0).max()) if len(who) > AFTER else float("nan")
    return {
        "all": float(gained.mean()),
        "late": float(gained[AFTER:].mean()) if len(who) > AFTER else 0.0,
        "best": best,
    }


def _rows(people: list[dict[str, str]], rewards: FloatArray) -> Any:
    """A film's columns are those of the context, and a constant."""
    values = sorted({item for one in people for item in one.items()})
    place, d = {item: k for k, item in enumerate(values)}, len(values) + 1
    X = np.zeros((len(people) * FILMS, d * FILMS), dtype=np.float32)
    for t, one in enumerate(people):
        columns = [place[item] for item in one.items()] + [d - 1]
        for k in range(FILMS):
            X[t * FILMS + k, [k * d + column for column in columns]] = 1.0
    return as_arrays(X, rewards)


def plan(run: Run) -> list[Part]:
    """Every contender on the same orders of visitors."""
    visitors, orders = (150, 1) if run.quick else (VISITORS, ORDERS)
    return [
        part(play, seconds=5.0, contender=contender, visitors=visitors, order=run.seed + 20 + order)
        for contender in CONTENDERS
        if not contender.startswith("Vowpal") or reward_peers.installed("Vowpal Wabbit")
        for order in range(orders)
    ]


def gather(run: Run, answers: Answers) -> Outcome:
    """Mean rewards."""
    rows = []
    for contender in CONTENDERS:
        played = list(answers.where(contender=contender))
        if played:
            every, late, best = (np.array([each[name] for each in played]) for name in ("all", "late", "best"))
            share = float((late / best).mean())
            rows.append([contender, f"{every.mean():.3f}", f"{late.mean():.3f}", f"{share:.3f}"])
    columns = ["contender", "mean reward", f"after {AFTER} rounds", "share of the best film, always shown"]
    return Outcome(tables=[Table("One of eight films as a banner", columns, rows)])


add_figure(
    "beyond/weak-context",
    title="Weak context: eight films as banners for the visitors of MovieLens",
    shows="No paper has this: what is known of a visitor hardly says which film they like.",
)
add_study("beyond/weak-context", "visitors", plan=plan, gather=gather, data=("movielens",))
