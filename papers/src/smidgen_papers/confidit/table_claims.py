"""What the paper says of Tables 3–6."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from smidgen_papers.catalogue import add_claim
from smidgen_papers.claims import Finding, every, judge, mean
from smidgen_papers.confidit.algorithms import FOUR, NAMES
from smidgen_papers.confidit.cells import MAIN, errors_of, tasks_of
from smidgen_papers.confidit.folds import final_errors
from smidgen_papers.confidit.readings import ALPHAS
from smidgen_papers.confidit.tables import NAME, STUDIES, p_value
from smidgen_papers.part import Answers, Run

TABLES = {0.0: 3, 0.1: 4, 0.2: 5, 0.3: 6}
PERCEPTRONS = ("Perceptron", "2nd-order")


def needs(*noises: float) -> tuple[str, ...]:
    """The studies of some tables: all of the first reading, then all of the second."""
    return tuple(f"{NAME.format(TABLES[noise])}:{study}" for study in STUDIES for noise in noises)


def both(check: Callable[[Answers], Finding], answers: Sequence[Answers]) -> Finding:
    """The verdict under the first reading, and in the reason the verdict under the second."""
    half = len(answers) // 2
    first, second = (check(Answers([a for one in part for a in one])) for part in (answers[:half], answers[half:]))
    other = f"with {STUDIES['unit'][1]}: {second.verdict}"
    if second.verdict != first.verdict:
        other += f" ({second.effect})"
    return Finding(first.verdict, first.effect, "; ".join(filter(None, (first.reason, other))))


def _table_claim(
    id: str, *, says: str, where: str, noises: tuple[float, ...]
) -> Callable[[Callable[[Answers], Finding]], Callable[..., Finding]]:
    """Enter a claim about the tables of some noises; decorates its check under one reading."""

    def enter(check: Callable[[Answers], Finding]) -> Callable[..., Finding]:
        return add_claim(id, says=says, where=where, needs=needs(*noises))(lambda run, *answers: both(check, answers))

    return enter


def lower(answers: Answers, task: str, better: str, others: Sequence[str], noise: float = 0.0) -> Finding:
    """Check whether the error of one algorithm is below that of each of some others, on the folds of one set."""
    rival = min(others, key=lambda name: float(errors_of(answers, task, name, noise).mean()))
    gap = errors_of(answers, task, rival, noise) - errors_of(answers, task, better, noise)
    return judge(mean(gap), above=0.0, what=f"points of {rival} above {better}")


def best_of_four(answers: Answers, task: str, name: str, noise: float = 0.0) -> Finding:
    """Check whether an algorithm has the lowest error of the four other than AROW."""
    return lower(answers, task, name, [other for other in FOUR if other != name], noise)


@_table_claim(
    "confidit/below-banditron",
    says="Confidit has a lower error than Banditron on every data set.",
    where="Sections 1 and 6.2, Table 3",
    noises=(0.0,),
)
def _banditron(a: Answers) -> Finding:
    return every({t: lower(a, t, "Confidit", ["Banditron"]) for t in tasks_of(a)})


@_table_claim(
    "confidit/below-banditron-in-noise",
    says="The same with 10, 20 and 30 % label noise.",
    where="Tables 4–6",
    noises=(0.1, 0.2, 0.3),
)
def _banditron_noise(a: Answers) -> Finding:
    pairs = [(task, noise) for task in tasks_of(a) for noise in (0.1, 0.2, 0.3)]
    return every({f"{t} {p:.0%}": lower(a, t, "Confidit", ["Banditron"], p) for t, p in pairs})


@_table_claim(
    "confidit/arow-lowest-error",
    says="AROW, which sees the labels and learns from margins, has the lowest error of all on every data set.",
    where="Section 6.2",
    noises=(0.0,),
)
def _arow(a: Answers) -> Finding:
    return every({t: lower(a, t, "AROW", FOUR) for t in tasks_of(a)})


@_table_claim(
    "confidit/second-order-mostly-better",
    says="The 2nd-order perceptron has a lower error than the Perceptron on most data sets (6 of 9, worse on 2).",
    where="Section 6.2",
    noises=(0.0,),
)
def _mostly(a: Answers) -> Finding:
    found = {task: lower(a, task, "2nd-order", ["Perceptron"]) for task in tasks_of(a)}
    wins = sum(one.verdict == "holds" for one in found.values())
    losses = sum(one.verdict == "does not hold here" for one in found.values())
    effect = f"better on {wins}, worse on {losses} of {len(found)} sets; {every(found).effect}"
    if 2 * wins > len(found):
        return Finding("holds", effect)
    if wins <= losses or wins + losses == len(found):
        return Finding("does not hold here", effect)
    return Finding("cannot be tested here", effect, "on the other sets the folds cannot tell")


@_table_claim(
    "confidit/best-of-four-without-noise",
    says="On 20 newsgroups, Amazon7 and Reuters Confidit has the lowest error of the four algorithms other than AROW.",
    where="Section 6.2",
    noises=(0.0,),
)
def _best(a: Answers) -> Finding:
    sets = ("newsgroups", "amazon4", "reuters4")
    return every({task: best_of_four(a, task, "Confidit") for task in sets})


@_table_claim(
    "confidit/second-order-best-of-four",
    says="On four data sets, Amazon3 among them, the 2nd-order perceptron is the best of the four.",
    where="Section 6.2",
    noises=(0.0,),
)
def _second(a: Answers) -> Finding:
    return best_of_four(a, "amazon3", "2nd-order")


@_table_claim(
    "confidit/beats-full-information",
    says="One bit sometimes generalises better than full labels: on some set Confidit is below both perceptrons.",
    where="Abstract, Sections 1 and 8",
    noises=(0.0,),
)
def _sometimes(a: Answers) -> Finding:
    found = {task: lower(a, task, "Confidit", PERCEPTRONS) for task in tasks_of(a)}
    where = [task for task, one in found.items() if one.verdict == "holds"]
    effect = f"on {', '.join(where) or 'no set'}; {every(found).effect}"
    return Finding("holds" if where else "does not hold here", effect)


@_table_claim(
    "confidit/significant",
    says="All differences between the two bandits but one have a p-value below 0.001.",
    where="Section 6.2",
    noises=(0.0,),
)
def _significant(a: Answers) -> Finding:
    p = {t: p_value(*(a.one(task=t, learner=name) for name in ("Confidit", "Banditron"))) for t in tasks_of(a)}
    weak = sum(value >= 0.001 for value in p.values())
    effect = "McNemar's p: " + ", ".join(f"{task} {max(value, 1e-300):.1g}" for task, value in p.items())
    return Finding("holds" if weak <= 1 else "does not hold here", effect)


@_table_claim(
    "confidit/noise-hurts",
    says="Every algorithm's error grows with the label noise.",
    where="Section 6.3",
    noises=(0.0, 0.3),
)
def _hurts(a: Answers) -> Finding:
    found = {}
    for name in NAMES:
        rise = {t: errors_of(a, t, name, 0.3) - errors_of(a, t, name, 0.0) for t in tasks_of(a)}
        least = list(rise)[int(np.argmin([one.mean() for one in rise.values()]))]
        found[name] = judge(mean(rise[least]), above=0.0, what=f"least rise from 0 to 30 % ({least}), points")
    return every(found)


@_table_claim(
    "confidit/banditron-degrades",
    says="On Amazon7 Banditron's error grows step by step with the noise: 29.15, 34.74, 39.46 and 45.28 %.",
    where="Section 6.3",
    noises=(0.0, 0.1, 0.2, 0.3),
)
def _degrades(a: Answers) -> Finding:
    rows = {noise: errors_of(a, "amazon4", "Banditron", noise) for noise in TABLES}
    found = {}
    for p, q in pairwise(TABLES):
        found[f"{p:.0%} to {q:.0%}"] = judge(mean(rows[q] - rows[p]), above=0.0, what="rise, points")
    return every(found)


@_table_claim(
    "confidit/suffers-least",
    says="As noise grows, Confidit's error rises less than that of the two perceptrons.",
    where="Section 6.3",
    noises=(0.0, 0.3),
)
def _least(a: Answers) -> Finding:
    found = {}
    for t in tasks_of(a):
        rise = {n: errors_of(a, t, n, 0.3) - errors_of(a, t, n, 0.0) for n in (*PERCEPTRONS, "Confidit")}
        rival = "Perceptron" if rise["Perceptron"].mean() < rise["2nd-order"].mean() else "2nd-order"
        found[t] = judge(mean(rise[rival] - rise["Confidit"]), above=0.0, what=f"rise of {rival} minus Confidit")
    return every(found)


@_table_claim(
    "confidit/amazon3-in-noise",
    says="On Amazon3 10 % noise doubles the errors of both perceptrons (5.5 to 12 %) and adds a third to Confidit's "
    "(6.67 to 8.90 %; the text has 6.57 for 6.67).",
    where="Section 6.3",
    noises=(0.0, 0.1),
)
def _doubles(a: Answers) -> Finding:
    times = {
        name: errors_of(a, "amazon3", name, 0.1) / errors_of(a, "amazon3", name, 0.0).mean()
        for name in (*PERCEPTRONS, "Confidit")
    }
    found = {}
    for name in PERCEPTRONS:
        more = mean(times[name] - times["Confidit"])
        found[name] = judge(more, above=0.0, what="its factor minus Confidit's")
    factors = ", ".join(f"{name} {value.mean():.2f}" for name, value in times.items())
    whole = every(found)
    return Finding(whole.verdict, f"factors of the error: {factors}; {whole.effect}", whole.reason)


@_table_claim(
    "confidit/best-of-four-at-10",
    says="At 10 % noise Confidit is the best of the four on 20 newsgroups, Amazon7, Amazon3 and Reuters.",
    where="Section 6.3",
    noises=(0.1,),
)
def _at_ten(a: Answers) -> Finding:
    sets = ("newsgroups", "amazon4", "amazon3", "reuters4")
    return every({task: best_of_four(a, task, "Confidit", 0.1) for task in sets})


@_table_claim(
    "confidit/best-of-four-in-noise",
    says="At 20 and 30 % noise Confidit is the best of the four on all data sets.",
    where="Section 6.3",
    noises=(0.2, 0.3),
)
def _in_noise(a: Answers) -> Finding:
    pairs = [(task, noise) for task in tasks_of(a) for noise in (0.2, 0.3)]
    return every({f"{task} {noise:.0%}": best_of_four(a, task, "Confidit", noise) for task, noise in pairs})


@add_claim(
    "confidit/alpha-near-one",
    says="The best α is close to 1, and another one brings no significant improvement.",
    where="Section 5.2",
    needs="confidit/table3:readings",
)
def _alpha(run: Run, answers: Answers) -> Finding:
    main = {name: value for name, value in MAIN.items() if name != "alpha"}
    rows = {alpha: final_errors(answers.one(**main, alpha=alpha, learner="Confidit")) for alpha in ALPHAS}
    best = min(ALPHAS[:-1], key=lambda alpha: float(rows[alpha].mean()))
    gain = mean(rows[1.0] - rows[best])
    effect = f"error at α = 1 minus error at α = {best:g}, points: {gain}"
    if gain.low > 0.0:
        return Finding("does not hold here", effect)
    return Finding("holds", effect)
