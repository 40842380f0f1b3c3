"""Claims about movies: first and second order (Section 6.4)."""

from __future__ import annotations

import numpy as np

from smidgen_papers.catalogue import add_claim
from smidgen_papers.claims import Finding, every, judge, ratio
from smidgen_papers.coactive.movies_convex import TIMES, second, sweep
from smidgen_papers.coactive.movies_series import NOISY, rows
from smidgen_papers.coactive.orders import GAMMAS, convex
from smidgen_papers.coactive.series import STRICT, Rows
from smidgen_papers.part import Answers, Run

#: Between log T (1) and √T (√10), halfway on a log scale.
STRAIGHT = 10.0**0.25


def straight(found: Rows, *, loss: bool) -> Finding:
    """Check whether equal factors of rounds add about equally much, or less."""
    sums = (found.loss if loss else found.regret) * found.t
    late, middle, early = (int(np.argmin(np.abs(found.t - found.t[-1] / k))) for k in (1, 10, 100))
    what = (
        "growth in the last factor of ten of the rounds over that in the factor before (log T: 1, √T: 3.2, limit: 1.8)"
    )
    return judge(ratio(sums[:, late] - sums[:, middle], sums[:, middle] - sums[:, early]), below=STRAIGHT, what=what)


for _loss, _measure in ((True, "by the quadratic loss"), (False, "by utility, without theory")):

    @add_claim(
        f"coactive/movies-second-order-log-{'loss' if _loss else 'utility'}",
        says=f"The cumulative regret of the second-order perceptron is linear in log T ({_measure}, movies).",
        where="Section 6.4.1",
        needs="coactive/fig14:movies",
    )
    def _log(run: Run, answers: Answers, loss: bool = _loss) -> Finding:
        return straight(rows(answers, second(STRICT)), loss=loss)

    @add_claim(
        f"coactive/movies-convex-slower-{'loss' if _loss else 'utility'}",
        says=f"The convex perceptron converges much more slowly than the second-order one ({_measure}, movies).",
        where="Section 6.4.1",
        needs="coactive/fig14:movies",
    )
    def _slower(run: Run, answers: Answers, loss: bool = _loss) -> Finding:
        pair = [rows(answers, line(STRICT)) for line in (convex, second)]
        ends = [one.loss[:, -1] if loss else one.last for one in pair]
        what = "last cumulative regret, first over second order (limit: 1.5)"
        return judge(ratio(*ends), above=1.5, what=what)


@add_claim(
    "coactive/movies-gamma-extremes",
    says="As γ takes an extreme value on either side, performance deteriorates (movies).",
    where="Section 6.4.1",
    needs="coactive/fig16:movies",
)
def _extremes(run: Run, answers: Answers) -> Finding:
    t = TIMES[run.quick][-1]
    found = sweep(answers, t)
    top = found[:, int(np.median(found, axis=0).argmin())]
    what = f"average regret of {t:,} rounds over that of the best γ (limit: 1.5)"
    return every({f"γ = {GAMMAS[i]:g}": judge(ratio(found[:, i], top), above=1.5, what=what) for i in (0, -1)})


@add_claim(
    "coactive/movies-gamma-one-best",
    says="Among the values tried, γ = 1 is best for movies.",
    where="Section 6.4.1",
    needs="coactive/fig16:movies",
)
def _one(run: Run, answers: Answers) -> Finding:
    findings, one = {}, GAMMAS.index(1.0)
    for t in TIMES[run.quick]:
        found = sweep(answers, t)
        rival = min(
            (i for i in range(len(GAMMAS)) if i != one), key=lambda i: float(np.log(found[:, i] + 1e-12).mean())
        )
        what = f"average regret, γ = 1 over the best other, γ = {GAMMAS[rival]:g}"
        findings[f"{t:,} rounds"] = judge(ratio(found[:, one], found[:, rival]), below=1.0, what=what)
    return every(findings)


@add_claim(
    "coactive/movies-second-order-noisy",
    says="With noisy feedback there is still some advantage to the second-order algorithm on movies.",
    where="Section 6.4.1",
    needs="coactive/fig18:movies",
)
def _noisy(run: Run, answers: Answers) -> Finding:
    plain, newton = (rows(answers, line(NOISY)) for line in (convex, second))
    return every(
        {
            "utility": judge(ratio(plain.last, newton.last), above=1.0, what="last regret, first over second order"),
            "loss": judge(
                ratio(plain.loss[:, -1], newton.loss[:, -1]), above=1.0, what="last quadratic regret, first over second"
            ),
        }
    )


@add_claim(
    "coactive/movies-summary-second-order",
    says="The second-order algorithm is substantially superior without noise; with noise the two do not differ "
    "drastically (movies).",
    where="Section 6.4.1, end",
    needs=("coactive/fig14:movies", "coactive/fig18:movies"),
)
def _summary(run: Run, strict: Answers, noisy: Answers) -> Finding:
    def quotient(answers: Answers, user: dict[str, object]) -> tuple[Rows, Rows]:
        return rows(answers, convex(user)), rows(answers, second(user))

    clean, rough = quotient(strict, STRICT), quotient(noisy, NOISY)
    what = "last average regret, first over second order"
    return every(
        {
            "strict": judge(
                ratio(clean[0].last, clean[1].last), above=1.25, what=f"{what} (substantially: above 1.25)"
            ),
            "noisy": judge(
                ratio(rough[0].last, rough[1].last), above=0.5, below=2.0, what=f"{what} (not drastically: 1/2 to 2)"
            ),
        }
    )
