"""Claims about web search: first and second order (Section 6.4)."""

from __future__ import annotations

import numpy as np

from smidgen_papers.catalogue import add_claim
from smidgen_papers.claims import Finding, every, judge, mean, ratio
from smidgen_papers.coactive.orders import GAMMAS, convex
from smidgen_papers.coactive.series import STRICT, Rows
from smidgen_papers.coactive.web_claims import on_each
from smidgen_papers.coactive.web_convex import growth, second, sweep, sweep_rounds, sweep_times
from smidgen_papers.coactive.web_series import NOISY, rows
from smidgen_papers.part import Answers, Run

#: Between log T (1) and √T (√10), halfway on a log scale.
STRAIGHT = 10.0**0.25


def _orders(answers: Answers, source: str, user: dict[str, float]) -> tuple[Rows, Rows]:
    """Second and first order, on the same random orders."""
    newton, plain = rows(answers, source, second(user)), rows(answers, source, convex(user))
    return newton, plain.first(len(newton.regret))


for _loss, _measure in ((True, "by the quadratic loss"), (False, "by utility, without theory")):

    @add_claim(
        f"coactive/second-order-log-{'loss' if _loss else 'utility'}",
        says=f"The cumulative regret of the second-order perceptron is linear in log T ({_measure}, web search).",
        where="Section 6.4.1",
        needs="coactive/fig13:web",
    )
    def _log(run: Run, answers: Answers, loss: bool = _loss) -> Finding:
        what = "what the last factor of ten of the rounds adds, over the factor before (log T: 1, √T: 3.2; 0.56 to 1.8)"
        return on_each(
            run,
            lambda source: judge(
                mean(growth(rows(answers, source, second(STRICT)), loss=loss)),
                above=1 / STRAIGHT,
                below=STRAIGHT,
                what=what,
            ),
        )

    @add_claim(
        f"coactive/convex-slower-{'loss' if _loss else 'utility'}",
        says=f"The convex perceptron converges much more slowly than the second-order one ({_measure}, web search).",
        where="Section 6.4.1",
        needs="coactive/fig13:web",
    )
    def _slower(run: Run, answers: Answers, loss: bool = _loss) -> Finding:
        def check(source: str) -> Finding:
            newton, plain = _orders(answers, source, STRICT)
            t = int(min(newton.t[-1], plain.t[-1]))
            sums = [(one.loss if loss else one.regret)[:, int(np.argmin(np.abs(one.t - t)))] for one in (plain, newton)]
            what = f"cumulative regret of {t:,} rounds, first over second order (limit: 1.5)"
            return judge(ratio(*sums), above=1.5, what=what)

        return on_each(run, check)


@add_claim(
    "coactive/gamma-wide-range",
    says="A wide range of γ gives good performance on web search.",
    where="Section 6.4.1",
    needs="coactive/fig15:web",
)
def _wide(run: Run, answers: Answers) -> Finding:
    def check(source: str) -> Finding:
        t = sweep_times(run, source)[-1]
        level = rows(answers, source, convex(STRICT), rounds=sweep_rounds(run, source)).at(t)
        good = (sweep(run, answers, source, t) < level[:, None]).sum(axis=1)
        what = f"values of γ, of nine powers of ten, below the convex perceptron after {t:,} rounds (wide: 3 or more)"
        return judge(mean(good), above=2.5, what=what)

    return on_each(run, check)


@add_claim(
    "coactive/gamma-extremes",
    says="As γ takes an extreme value on either side, performance deteriorates (web search).",
    where="Section 6.4.1",
    needs="coactive/fig15:web",
)
def _extremes(run: Run, answers: Answers) -> Finding:
    def check(source: str) -> Finding:
        t = sweep_times(run, source)[-1]
        found = sweep(run, answers, source, t)
        top = found[:, int(found.mean(axis=0).argmin())]
        what = f"average regret of {t:,} rounds over that of the best γ (limit: 1.5)"
        ends = {f"γ = {GAMMAS[i]:g}": judge(ratio(found[:, i], top), above=1.5, what=what) for i in (0, -1)}
        return every(ends)

    return on_each(run, check)


@add_claim(
    "coactive/gamma-one-best",
    says="Among the values tried, γ = 1 is best for web search.",
    where="Section 6.4.1",
    needs="coactive/fig15:web",
)
def _one(run: Run, answers: Answers) -> Finding:
    def check(source: str) -> Finding:
        findings = {}
        for t in sweep_times(run, source):
            found = sweep(run, answers, source, t)
            one = GAMMAS.index(1.0)
            rivals = [i for i in range(len(GAMMAS)) if i != one]
            rival = min(rivals, key=lambda i: float(found[:, i].mean()))
            what = f"average regret, γ = 1 over the best other, γ = {GAMMAS[rival]:g}"
            findings[f"{t:,} rounds"] = judge(ratio(found[:, one], found[:, rival]), below=1.0, what=what)
        return every(findings)

    return on_each(run, check)


@add_claim(
    "coactive/noisy-orders-alike",
    says="With noisy feedback first and second order are nearly identical on web search.",
    where="Section 6.4.1",
    needs="coactive/fig17:web",
)
def _alike(run: Run, answers: Answers) -> Finding:
    def check(source: str) -> Finding:
        newton, plain = _orders(answers, source, NOISY)
        t = int(min(newton.t[-1], plain.t[-1]))
        what = f"average regret of {t:,} rounds, second over first order (nearly identical: 0.9 to 1.1)"
        return judge(ratio(newton.at(t), plain.at(t)), above=0.9, below=1.1, what=what)

    return on_each(run, check)


@add_claim(
    "coactive/summary-second-order",
    says="The second-order algorithm is substantially superior without noise; with noise the two do not differ "
    "drastically.",
    where="Section 6.4.1, end",
    needs=("coactive/fig13:web", "coactive/fig17:web"),
)
def _summary(run: Run, strict: Answers, noisy: Answers) -> Finding:
    def check(source: str) -> Finding:
        findings = {}
        for name, answers, user in (("strict", strict, STRICT), ("noisy", noisy, NOISY)):
            newton, plain = _orders(answers, source, user)
            t = int(min(newton.t[-1], plain.t[-1]))
            gain = ratio(plain.at(t), newton.at(t))
            what = f"average regret of {t:,} rounds, first over second order"
            limits = {"above": 1.5} if user is STRICT else {"above": 2 / 3, "below": 1.5}
            findings[name] = judge(gain, what=what, **limits)
        return every(findings)

    return on_each(run, check)
