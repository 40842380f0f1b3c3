"""Choosing by reward next to its peers: bandits made of labels, films and clicks; same rounds, order and features."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from smidgen.decision import FloatArray
from smidgen_papers.beyond import paper, reward_peers
from smidgen_papers.beyond.reward_worlds import WORLDS
from smidgen_papers.beyond.rewards_play import play
from smidgen_papers.catalogue import add_figure, add_study
from smidgen_papers.outcome import Outcome, Panel, Table, curve
from smidgen_papers.part import Answers, Part, Run, part

__all__ = ["OURS", "RECOMMENDED", "best_of", "losses", "paper", "played"]

#: Ours, by name: as they come, and with other settings. All of these were fixed before the orders shown here were run.
OURS: dict[str, tuple[str, dict[str, Any]]] = {
    "ChoiceBank": ("ChoiceBank", {}),
    "LinUCB": ("LinUCB", {}),
    "LinUCB, width .3, ridge .1": ("LinUCB", {"width": 0.3, "ridge": 0.1}),
    "SquareCB": ("SquareCB", {}),
    "SquareCB, ridge .1": ("SquareCB", {"ridge": 0.1}),
    "ThompsonChoice": ("ThompsonChoice", {}),
    "ThompsonChoice, width .1, ridge .1": ("ThompsonChoice", {"width": 0.1, "ridge": 0.1}),
}
#: What was recommended while the sets of settings were chosen; now it is `ChoiceBank`.
RECOMMENDED = "LinUCB, width .3, ridge .1"
HINDSIGHT = "Vowpal Wabbit, best of 12 in hindsight"
_DEFAULT_RATE = 0.5
#: Orders 0 and 1 were looked at while settings were chosen; these were not.
FIRST_ORDER, ORDERS, ROUNDS = 10, 2, 1500


def _worlds(run: Run) -> list[str]:
    """The worlds whose data are here; quick: two."""
    here = [name for name, world in WORLDS.items() if not world.source or run.has(world.source)]
    return [name for name in here if name in ("linear", "cancer")] if run.quick else here


def plan(run: Run) -> list[Part]:
    """Every contender on every world, in several orders."""
    rounds, orders = (200, 2) if run.quick else (ROUNDS, ORDERS)
    parts: list[Part] = []
    for name in _worlds(run):
        for order in range(orders):
            where: dict[str, Any] = {"name": name, "source": WORLDS[name].source, "rounds": rounds}
            where["seed"] = run.seed + FIRST_ORDER + order
            parts += [
                part(play, seconds=2.0, **where, peer="smidgen", contender=kind, settings=settings)
                for kind, settings in OURS.values()
            ]
            if reward_peers.installed("Vowpal Wabbit"):
                parts += [
                    part(play, seconds=10.0, **where, peer="Vowpal Wabbit", contender=way, settings={"rate": rate})
                    for way in reward_peers.VW
                    for rate in reward_peers.RATES
                ]
            if name in ("vowels", "digits", "cancer", "linear"):
                parts += [
                    part(play, seconds=20.0, **where, peer="arms", contender=peer, settings={})
                    for peer in reward_peers.ARMED
                    if reward_peers.installed(peer)
                ]
    return parts


def losses(answers: Answers, world: str, **settings: Any) -> FloatArray:
    """1 − the mean reward of one contender on one world, one number per order."""
    return np.array([answer["loss"] for answer in answers.where(name=world, **settings)])


def played(answers: Answers) -> list[str]:
    """The worlds, in the order of the plan."""
    return list(dict.fromkeys(answer.settings["name"] for answer in answers))


def best_of(answers: Answers, world: str, peer: str) -> FloatArray:
    """The losses of that setting of a peer which has the least mean loss on this world."""
    tried = {}
    for answer in answers.where(name=world, peer=peer):
        tried[(answer.settings["contender"], str(answer.settings["settings"]))] = answer.settings
    rows = [losses(answers, world, peer=peer, contender=s["contender"], settings=s["settings"]) for s in tried.values()]
    return min(rows, key=lambda row: float(row.mean())) if rows else np.empty(0)


def contenders(answers: Answers) -> dict[str, dict[str, FloatArray]]:
    """By name: the losses on every world that it played."""
    found: dict[str, dict[str, FloatArray]] = {}
    for world in played(answers):
        for name, (kind, settings) in OURS.items():
            row = losses(answers, world, peer="smidgen", contender=kind, settings=settings)
            found.setdefault(name, {})[world] = row
        for way in reward_peers.VW:
            row = losses(answers, world, peer="Vowpal Wabbit", contender=way, settings={"rate": _DEFAULT_RATE})
            found.setdefault(f"Vowpal Wabbit, {way}", {})[world] = row
        found.setdefault(HINDSIGHT, {})[world] = best_of(answers, world, "Vowpal Wabbit")
        for peer in reward_peers.ARMED:
            found.setdefault(peer, {})[world] = losses(answers, world, peer="arms", contender=peer, settings={})
    return {name: rows for name, rows in found.items() if any(len(row) for row in rows.values())}


def geometric(rows: Iterable[FloatArray]) -> float:
    """The geometric mean over the worlds of the mean over the orders."""
    return float(np.exp(np.mean([np.log(max(float(row.mean()), 1e-6)) for row in rows])))


def gather(run: Run, answers: Answers) -> Outcome:
    """A table of all losses with their geometric mean, and the curves of a few."""
    worlds, rows = played(answers), []
    for name, by_world in contenders(answers).items():
        everywhere = all(len(by_world.get(world, ())) for world in worlds)
        cells = [f"{by_world[w].mean():.3f}" if len(by_world.get(w, ())) else "–" for w in worlds]
        rows.append([name, *cells, f"{geometric(by_world.values()):.3f}" if everywhere else "–"])
    first = {world: next(iter(answers.where(name=world))) for world in worlds}
    cells = [f"{float(first[w]['one arm']):.3f}" if WORLDS[w].arms else "–" for w in worlds]
    rows.append(["the best arm, always", *cells, "–"])
    table = Table(
        "1 − mean reward, the mean over the orders; less is better",
        ["contender", *(WORLDS[world].title for world in worlds), "geometric mean"],
        rows,
        note="Vowpal Wabbit in hindsight: of its four ways to explore and three learning rates the best on each set.",
    )
    return Outcome(panels=[_panel(answers, world) for world in worlds], tables=[table], notes=_notes(run, answers))


def _panel(answers: Answers, world: str) -> Panel:
    curves = []
    for name, peer, settings in (
        (RECOMMENDED, "smidgen", OURS[RECOMMENDED][1]),
        ("SquareCB", "smidgen", {}),
        ("squarecb", "Vowpal Wabbit", {"rate": _DEFAULT_RATE}),
        ("epsilon", "Vowpal Wabbit", {"rate": _DEFAULT_RATE}),
    ):
        contender = OURS[name][0] if name in OURS else name
        found = list(answers.where(name=world, peer=peer, contender=contender, settings=settings))
        if found:
            said = name if peer == "smidgen" else f"{peer}, {name}"
            curves.append(curve(said, found[0]["at"], [answer["losses"] for answer in found]))
    return Panel(WORLDS[world].title, "rounds", "1 − mean reward so far", curves)


def _notes(run: Run, answers: Answers) -> list[str]:
    notes = [
        "Same rounds, same order, same features for all. Labels: the reward is 1 if the label was right; a candidate's "
        "features are the context in a block of its own. Films: stars as (stars − 1)/4. Clicks: 1 if clicked, "
        "positions not told.",
        "Peers with one model per arm (MABWiser, contextualbandits, river) play where the arms stay and features are "
        "few.",
    ]
    missing = [peer for peer in ("Vowpal Wabbit", *reward_peers.ARMED) if not reward_peers.installed(peer)]
    absent = [world.title for name, world in WORLDS.items() if world.source and not run.has(world.source)]
    notes += [f"Not installed here: {', '.join(missing)}."] if missing else []
    notes += [f"Not on this machine: {', '.join(absent)}."] if absent else []
    return notes


add_figure(
    "beyond/rewards",
    title="Choosing by reward, beside Vowpal Wabbit and others",
    shows="Nothing: no paper of the five has it. One weight vector on joint features, chosen by upper confidence "
    "bounds, inverse gaps or posterior samples.",
)
add_study(
    "beyond/rewards",
    "bandits",
    plan=plan,
    gather=gather,
    data=tuple(dict.fromkeys(world.source for world in WORLDS.values() if world.source)),
)
