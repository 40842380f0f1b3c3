"""Claims about web search: strong, weak and noisy feedback, batches, expected feedback (Sections 6.2.1 to 6.2.4)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from smidgen_papers.catalogue import add_claim
from smidgen_papers.claims import Finding, every, judge, mean, ratio
from smidgen_papers.coactive.series import STRICT, Line, Rows
from smidgen_papers.coactive.web import ALPHAS, BATCHES, DEPTHS, EXPECTED, batch
from smidgen_papers.coactive.web_data import NAMES, main_sources
from smidgen_papers.coactive.web_series import NOISY, rows
from smidgen_papers.part import Answers, Run

#: "Approaches zero": the last tenth of the rounds has less than this share of a random ranking's regret, and less than
#: the rounds before.
NEARLY_ZERO = 0.05


def on_each(run: Run, check: Callable[[str], Finding]) -> Finding:
    """One verdict over the main sets."""
    return every({NAMES[source]: check(source) for source in main_sources(run)})


def approaches_zero(found: Rows) -> Finding:
    """Small in the last tenth of the rounds, and still falling."""
    return every(
        {
            "small": judge(ratio(found.end, found.random), below=NEARLY_ZERO, what="last tenth over a random ranking"),
            "falling": judge(ratio(found.end, found.middle), below=1.0, what="last tenth over the four before"),
        }
    )


@add_claim(
    "coactive/regret-falls-soon",
    says="Regret is substantially reduced after tens or hundreds of rounds.",
    where="Section 6.2.1",
    needs="coactive/fig2:web",
)
def _soon(run: Run, answers: Answers) -> Finding:
    def check(source: str) -> Finding:
        found = {line.name: rows(answers, source, line) for line in ALPHAS.values()}
        what = "average regret of 300 rounds over a random ranking's"
        return every({name: judge(ratio(one.at(300), one.random), below=0.5, what=what) for name, one in found.items()})

    return on_each(run, check)


def stronger_is_lower(run: Run, answers: Answers, weaker: tuple[float, ...]) -> Finding:
    """Check whether α = 1 ends below the weaker ones."""

    def check(source: str) -> Finding:
        strong = rows(answers, source, ALPHAS[1.0])
        found = {f"α = {alpha:g}": rows(answers, source, ALPHAS[alpha]) for alpha in weaker}
        what = "its last average regret over that of α = 1"
        return every({name: judge(ratio(one.last, strong.last), above=1.0, what=what) for name, one in found.items()})

    return on_each(run, check)


def less_than_tenfold(run: Run, answers: Answers) -> Finding:
    """Check whether α = 0.1 ends far less than ten times as high as α = 1: less than √10 times."""

    def check(source: str) -> Finding:
        weak, strong = (rows(answers, source, ALPHAS[alpha]).last for alpha in (0.1, 1.0))
        what = "last average regret, α = 0.1 over α = 1 (limit: √10)"
        return judge(ratio(weak, strong), below=np.sqrt(10.0), what=what)

    return on_each(run, check)


def strict_goes_to_zero(run: Run, answers: Answers, alphas: tuple[float, ...]) -> Finding:
    """Check whether regret approaches zero for every α."""
    return on_each(
        run, lambda source: every({ALPHAS[a].name: approaches_zero(rows(answers, source, ALPHAS[a])) for a in alphas})
    )


def noise_stays(run: Run, answers: Answers, lines: list[Line]) -> Finding:
    """Check whether regret under noise levels off above zero."""

    def check(source: str) -> Finding:
        findings = {}
        for line in lines:
            found = rows(answers, source, line)
            findings[line.name] = every(
                {
                    "not small": judge(
                        ratio(found.end, found.random), above=NEARLY_ZERO, what="last tenth over a random ranking"
                    ),
                    "flat": judge(ratio(found.end, found.middle), above=0.9, what="last tenth over the four before"),
                }
            )
        return every(findings)

    return on_each(run, check)


@add_claim(
    "coactive/strong-feedback-lower-regret",
    says="Regret for α = 1 is lower than for smaller α.",
    where="Section 6.2.1",
    needs="coactive/fig2:web",
)
def _stronger(run: Run, answers: Answers) -> Finding:
    return stronger_is_lower(run, answers, (0.5, 0.1))


@add_claim(
    "coactive/far-less-than-tenfold",
    says="The difference between α = 1 and α = 0.1 is much smaller than a factor of ten.",
    where="Section 6.2.1",
    needs="coactive/fig2:web",
)
def _tenfold(run: Run, answers: Answers) -> Finding:
    return less_than_tenfold(run, answers)


@add_claim(
    "coactive/feedback-stronger-than-asked",
    says="The user model often gives much stronger feedback than α asks for, which is why α matters little.",
    where="Section 6.2.1; footnote 5",
    needs="coactive/fig2:web",
)
def _generous(run: Run, answers: Answers) -> Finding:
    def check(source: str) -> Finding:
        found = rows(answers, source, ALPHAS[0.1])
        reached = 0.1 - found.slack[:, -1] / found.last  # slack = α·regret − gain
        return judge(
            mean(reached), above=0.2, what="share of the possible gain that users of α = 0.1 give (limit: 0.2)"
        )

    return on_each(run, check)


@add_claim(
    "coactive/strict-to-zero",
    says="Without noise regret approaches zero for every α.",
    where="Section 6.2.1",
    needs="coactive/fig2:web",
)
def _zero(run: Run, answers: Answers) -> Finding:
    return strict_goes_to_zero(run, answers, (0.1, 0.5, 1.0))


@add_claim(
    "coactive/errors-shrink",
    says="Standard errors over the random orders are high at first and fall with more rounds (web search).",
    where="Section 6.2.1",
    needs="coactive/fig2:web",
)
def _errors(run: Run, answers: Answers) -> Finding:
    def check(source: str) -> Finding:
        found = rows(answers, source, ALPHAS[0.5])
        early, late = (np.abs(x - x.mean()) + 1e-12 for x in (found.at(10), found.last))
        return judge(ratio(early, late), above=1.0, what="deviation from the mean, after 10 rounds over at the end")

    return on_each(run, check)


@add_claim(
    "coactive/noise-keeps-regret",
    says="With noisy feedback the regret of web search does not converge to zero.",
    where="Section 6.2.2",
    needs="coactive/fig3:web",
)
def _noise(run: Run, answers: Answers) -> Finding:
    return noise_stays(run, answers, [*DEPTHS.values()])


@add_claim(
    "coactive/regret-meets-slack",
    says="Under noise regret converges to (at most) the average slack, as Theorem 1 has it for α = 1.",
    where="Section 6.2.2",
    needs="coactive/fig3:web",
)
def _slack(run: Run, answers: Answers) -> Finding:
    def check(source: str) -> Finding:
        findings = {}
        for line in DEPTHS.values():
            found = rows(answers, source, line)
            what = "last average regret over the average slack at α = 1 (limit: 1.1)"
            findings[line.name] = judge(ratio(found.last, found.slack[:, -1]), below=1.1, what=what)
        return every(findings)

    return on_each(run, check)


@add_claim(
    "coactive/deeper-is-noisier",
    says="Regret is slightly higher when users inspect 25 documents instead of 10.",
    where="Section 6.2.2",
    needs="coactive/fig3:web",
)
def _deeper(run: Run, answers: Answers) -> Finding:
    def check(source: str) -> Finding:
        deep, shallow = (rows(answers, source, DEPTHS[depth]).last for depth in (25, 10))
        what = "last average regret, depth 25 over depth 10 (slightly: up to 1.5)"
        return judge(ratio(deep, shallow), above=1.0, below=1.5, what=what)

    return on_each(run, check)


def _batches(run: Run, answers: Answers, user: dict[str, float]) -> tuple[Finding, Finding]:
    """Check whether a smaller k falls faster; whether k costs less than √k."""

    def faster(source: str) -> Finding:
        found = {k: rows(answers, source, batch(k, user)) for k in (1, *BATCHES)}
        pairs = zip((1, *BATCHES), BATCHES, strict=False)
        what = "average regret of 1,000 rounds over that of the k before"
        return every(
            {f"k = {b}": judge(ratio(found[b].at(1000), found[a].at(1000)), above=1.0, what=what) for a, b in pairs}
        )

    def cheaper(source: str) -> Finding:
        one = rows(answers, source, batch(1, user)).last
        findings = {}
        for k in BATCHES:
            found = rows(answers, source, batch(k, user)).last
            findings[f"k = {k}"] = judge(
                ratio(found, one),
                below=np.sqrt(k),
                what=f"last average regret over that of k = 1 (limit: √k = {np.sqrt(k):.1f})",
            )
        return every(findings)

    return on_each(run, faster), on_each(run, cheaper)


for _figure, _user, _kind in ((4, STRICT, "strict"), (5, NOISY, "noisy")):

    @add_claim(
        f"coactive/smaller-batches-faster-{_kind}",
        says=f"The smaller k, the faster regret falls ({_kind} feedback, web search).",
        where="Section 6.2.3",
        needs=f"coactive/fig{_figure}:web",
    )
    def _faster(run: Run, answers: Answers, user: dict[str, float] = _user) -> Finding:
        return _batches(run, answers, user)[0]

    @add_claim(
        f"coactive/batches-better-than-root-k-{_kind}",
        says=f"Regret grows with k much less than by the factor √k of Lemma 4 ({_kind} feedback, web search).",
        where="Section 6.2.3",
        needs=f"coactive/fig{_figure}:web",
    )
    def _cheaper(run: Run, answers: Answers, user: dict[str, float] = _user) -> Finding:
        return _batches(run, answers, user)[1]


@add_claim(
    "coactive/expected-as-good",
    says="After many rounds feedback that is informative in expectation only is about as good as deterministic "
    "feedback.",
    where="Section 6.2.4",
    needs="coactive/fig6:web",
)
def _expected(run: Run, answers: Answers) -> Finding:
    def check(source: str) -> Finding:
        expected, plain = rows(answers, source, EXPECTED), rows(answers, source, Line("deterministic"))
        what = "difference of the last average regrets over a random ranking's regret (limit: 0.02)"
        return judge(ratio(expected.last - plain.last, plain.random), below=0.02, what=what)

    return on_each(run, check)


@add_claim(
    "coactive/expected-to-zero",
    says="Regret converges to zero also with feedback that is informative in expectation only.",
    where="Section 6.2.4",
    needs="coactive/fig6:web",
)
def _expected_zero(run: Run, answers: Answers) -> Finding:
    return on_each(run, lambda source: approaches_zero(rows(answers, source, EXPECTED)))
