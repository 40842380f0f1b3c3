"""The picture on the first page: the choose loop on a simulated audience, as it went.

``python docs/extensions/landing.py`` plays it and writes ``docs/images/landing-curve.svg`` (all runs) and
``docs/images/landing-loop.svg`` (decision, reaction and step at a few rounds of one run: the one in the middle, if the
runs are sorted by how often the best was shown). The audience is offered one of four things; what it takes depends on
where it is, and the learner, which is what `recommended` gives, hears only whether the one shown was taken. Every
number in the picture is that of the round it stands next to.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path

import numpy as np

import smidgen

IMAGES = Path(__file__).parents[1] / "images"
RUNS, ROUNDS, WINDOW, SHOWN = 51, 600, 10, (1, 4, 15, 60, 200, 600)
OFFERS = {1: "short read", 2: "long read", 3: "video", 4: "podcast"}
#: How often each offer is taken, by place.
TASTE = {
    "train": (0.35, 0.05, 0.15, 0.60),
    "office": (0.60, 0.20, 0.05, 0.15),
    "sofa": (0.10, 0.35, 0.65, 0.10),
}
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 440, 330, 44, 14, 58, 44
_CURVE = f"mean of {RUNS} runs, over the last {WINDOW} rounds; logarithmic axis"
SECONDS, MOVING = 16, 0.8  # a turn of the animation, and which part of it is not the end


@dataclass(frozen=True)
class Moment:
    """One round, as it was."""

    number: int
    place: str
    estimates: dict[int, tuple[float, float]]
    choice: int
    reward: float
    weights: list[tuple[str, float]]


def run(seed: int) -> tuple[list[Moment], list[bool]]:
    """Play; gives the rounds that are shown, and for every round whether the best offer was."""
    learner = smidgen.Pipeline(
        features=smidgen.Vectorizer(dim=256, id_feature=False),
        learner=smidgen.recommended(loop="choose", feedback="reward", dim=256),
    )
    world = np.random.default_rng(seed)
    offers = {id: {"kind": kind} for id, kind in OFFERS.items()}
    moments, best = [], []
    for number in range(1, ROUNDS + 1):
        where = list(TASTE)[world.integers(len(TASTE))]
        d = learner.decide(smidgen.Candidates(offers, context={"place": where}))
        choice = d.ids[d.action]
        reward = float(world.random() < TASTE[where][choice - 1])
        learner.learn(d, reward)
        best.append(int(np.argmax(TASTE[where])) == choice - 1)
        if number in SHOWN:
            known = zip(map(float, d.scores), map(float, d.widths), strict=True)
            weights = [(name, float(w)) for name, w in learner.weights_by_name() if name != "(constant)"]
            moments.append(Moment(number, where, dict(zip(d.ids, known, strict=True)), choice, reward, weights[:3]))
    return moments, best


def running(best: list[list[bool]]) -> list[float]:
    """The share of all runs' latest rounds in which the best was shown."""
    shares = np.mean(best, axis=0)
    return [float(np.mean(shares[max(0, t - WINDOW) : t])) for t in range(1, len(shares) + 1)]


def place(number: int) -> float:
    """Where a round lies on the axis, from 0 to 1."""
    return float(np.log(number) / np.log(ROUNDS))


def curve(best: list[list[bool]]) -> str:
    """All rounds of all runs as a picture."""
    end, foot = WIDTH - RIGHT, HEIGHT - BOTTOM
    wide, high = end - LEFT, foot - TOP
    points = " ".join(
        f"{LEFT + wide * place(t):.1f},{TOP + high * (1 - share):.1f}" for t, share in enumerate(running(best), 1)
    )
    lines = [
        _open(
            "landing-curve", "The share of rounds in which the best of four offers was shown, rising over 600 rounds"
        ),
        f"<style>{_MOTION}</style>",
        '<text class="lp-head" x="16" y="26">How often the best offer is shown</text>',
        f'<text class="lp-note" x="16" y="45">{_CURVE}</text>',
    ]
    for share in (0, 0.5, 1):
        y = TOP + high * (1 - share)
        lines.append(f'<line class="lp-grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        lines.append(f'<text class="lp-tick" x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{share:.0%}</text>')
    chance = TOP + high * (1 - 1 / len(OFFERS))
    lines.append(f'<line class="lp-chance" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{chance:.1f}" y2="{chance:.1f}"/>')
    lines.append(f'<text class="lp-tick" x="{WIDTH - RIGHT}" y="{chance + 15:.1f}" text-anchor="end">chance</text>')
    for number in SHOWN:
        x = LEFT + wide * place(number)
        lines.append(
            f'<text class="lp-tick" x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{number}</text>'
        )
    lines += [
        f'<text class="lp-tick" x="{WIDTH - RIGHT}" y="{HEIGHT - 8}" text-anchor="end">rounds</text>',
        f'<clipPath id="lp-clip"><rect class="lp-wipe" x="{LEFT}" y="0" width="{wide}" height="{HEIGHT}"/></clipPath>',
        f'<polyline class="lp-line" clip-path="url(#lp-clip)" points="{points}"/>',
        f'<line class="lp-cursor" style="--lp-way: {-wide}px" x1="{end}" x2="{end}" y1="{TOP}" y2="{foot}"/>',
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def loop(moments: list[Moment]) -> str:
    """Decision, reaction and step at the rounds that are shown, one after the other."""
    lines = [
        _open("landing-loop", "A decision, the reaction to it and the step it causes, at six rounds of one run"),
        f"<style>{_MOTION}{_turns(moments)}</style>",
    ]
    for i, moment in enumerate(moments):
        lines += [f'<g class="lp-turn lp-turn-{i}">', *_moment(moment), "</g>"]
    return "\n".join([*lines, "</svg>"]) + "\n"


def _moment(it: Moment) -> list[str]:
    lines = [
        f'<text class="lp-head" x="16" y="26">Round {it.number}</text>',
        f'<text class="lp-note" x="{WIDTH - 16}" y="26" text-anchor="end">place: {it.place}</text>',
        '<text class="lp-step" x="16" y="54">1 · decision: expected reward, and how far it may be off</text>',
    ]
    whole = WIDTH - 32
    for row, (id, (estimate, width)) in enumerate(it.estimates.items()):
        y, chosen = 64 + 25 * row, " lp-chosen" if id == it.choice else ""
        text = f"{round(estimate, 2) + 0.0:.2f} ± {width:.2f}"
        sure, maybe = (min(1.0, max(0.01, share)) for share in (estimate, estimate + width))
        lines += [
            f'<rect class="lp-track{chosen}" x="16" y="{y}" width="{whole}" height="21" rx="6"/>',
            f'<rect class="lp-maybe{chosen}" x="16" y="{y}" width="{whole * maybe:.1f}" height="21" rx="6"/>',
            f'<rect class="lp-share{chosen}" x="16" y="{y}" width="{whole * sure:.1f}" height="21" rx="6"/>',
            f'<text class="lp-text" x="26" y="{y + 15}">{OFFERS[id]}{" · shown" if id == it.choice else ""}</text>',
            f'<text class="lp-text" x="{WIDTH - 26}" y="{y + 15}" text-anchor="end">{text}</text>',
        ]
    taken = it.reward == 1.0
    word = "taken: reward 1" if taken else "passed over: reward 0"
    lines += [
        '<text class="lp-step" x="16" y="190">2 · reaction</text>',
        f'<circle class="lp-{"good" if taken else "bad"} lp-pulse" cx="25" cy="207" r="7"/>',
        f'<text class="lp-text" x="42" y="212">{word}</text>',
        '<text class="lp-step" x="16" y="245">3 · step: the strongest weights</text>',
    ]
    most = max(abs(weight) for _, weight in it.weights) or 1.0
    for row, (name, weight) in enumerate(it.weights):
        y = 254 + 23 * row
        sign, long = "" if weight >= 0 else " lp-minus", 60 * abs(weight) / most
        lines += [
            f'<rect class="lp-weight{sign}" x="310" y="{y + 4}" width="{long:.1f}" height="11" rx="4"/>',
            f'<text class="lp-text lp-name" x="16" y="{y + 14}">{escape(_short(name))}</text>',
            f'<text class="lp-text" x="{WIDTH - 16}" y="{y + 14}" text-anchor="end">{weight:+.2f}</text>',
        ]
    return lines


def _short(name: str) -> str:
    """A cross without the word that all contexts share."""
    return name.replace("context.", "")


def _open(name: str, label: str) -> str:
    space = "http://www.w3.org/2000/svg"
    return f'<svg class="{name}" xmlns="{space}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">'


def _turns(moments: list[Moment]) -> str:
    """When each round is seen: from where the curve reaches it to where it reaches the next; the last until the end."""
    rules = []
    starts = [MOVING * 100 * place(moment.number) for moment in moments] + [100.0]
    for i in range(len(moments)):
        a, b = starts[i], starts[i + 1]
        edge = 0.01
        before = f"0%,{a - edge:.2f}%{{opacity:0}}" if i else ""
        after = f"{b:.2f}%,100%{{opacity:0}}" if i + 1 < len(moments) else ""
        rules.append(f"@keyframes lp-turn-{i}{{{before}{a:.2f}%,{b - edge:.2f}%{{opacity:1}}{after}}}")
        rules.append(f".lp-turn-{i}{{animation:lp-turn-{i} {SECONDS}s infinite}}")
    last = f".lp-turn-{len(moments) - 1}{{opacity:1}}"
    rules.append(f"@media(prefers-reduced-motion:reduce){{.lp-turn{{animation:none;opacity:0}}{last}}}")
    return "".join(rules)


_MOTION = (
    ".lp-head{font:620 15px var(--sans,sans-serif);fill:var(--ink,#1c2127)}"
    ".lp-note,.lp-tick{font:12px var(--sans,sans-serif);fill:var(--muted,#5d6670)}"
    ".lp-step{font:600 12px var(--sans,sans-serif);fill:var(--accent,#1f6f8b)}"
    ".lp-text{font:13px var(--sans,sans-serif);fill:var(--ink,#1c2127)}"
    ".lp-name{font:12px var(--mono,monospace)}"
    ".lp-track{fill:var(--sunk,#f1efeb)}.lp-share{fill:var(--muted,#5d6670);opacity:.3}"
    ".lp-maybe{fill:var(--muted,#5d6670);opacity:.13}.lp-maybe.lp-chosen{fill:var(--accent,#1f6f8b);opacity:.18}"
    ".lp-track.lp-chosen{fill:var(--accent-soft,#e3f0f4)}.lp-share.lp-chosen{fill:var(--accent,#1f6f8b);opacity:.4}"
    ".lp-good{fill:var(--good,#28704b)}.lp-bad{fill:var(--bad,#b3324a)}"
    ".lp-weight{fill:var(--accent,#1f6f8b)}.lp-minus{fill:var(--second,#c4622d)}"
    ".lp-grid{stroke:var(--grid,#ebe8e2)}.lp-chance{stroke:var(--muted,#5d6670);stroke-dasharray:4 4}"
    ".lp-line{fill:none;stroke:var(--accent,#1f6f8b);stroke-width:2.5;stroke-linejoin:round}"
    ".lp-cursor{stroke:var(--second,#c4622d);stroke-width:1.5}"
    "@keyframes lp-wipe{0%{transform:scaleX(0)}" + f"{MOVING:.0%}" + ",100%{transform:none}}"
    "@keyframes lp-cursor{0%{transform:translateX(var(--lp-way))}" + f"{MOVING:.0%}" + ",100%{transform:none}}"
    "@keyframes lp-pulse{50%{opacity:.35}}"
    f".lp-wipe{{transform-box:fill-box;transform-origin:left;animation:lp-wipe {SECONDS}s linear infinite}}"
    f".lp-cursor{{animation:lp-cursor {SECONDS}s linear infinite}}"
    ".lp-pulse{animation:lp-pulse 1.6s ease-in-out infinite}"
    "@media(prefers-reduced-motion:reduce){.lp-wipe,.lp-cursor,.lp-pulse{animation:none}}"
)

if __name__ == "__main__":
    played = [run(seed) for seed in range(RUNS)]
    middle = sorted(played, key=lambda one: sum(one[1]))[RUNS // 2]
    IMAGES.joinpath("landing-loop.svg").write_text(loop(middle[0]), encoding="utf-8")
    IMAGES.joinpath("landing-curve.svg").write_text(curve([best for _, best in played]), encoding="utf-8")
