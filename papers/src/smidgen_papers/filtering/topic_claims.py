"""What Section 4.1 and the introduction say of Figure 1."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.stats import spearmanr

from smidgen_papers.catalogue import add_claim
from smidgen_papers.claims import Finding, every, judge, mean, ratio
from smidgen_papers.filtering.scores import Scores, difference
from smidgen_papers.filtering.topics import LENGTH
from smidgen_papers.part import Answers, Run

STUDIES = ("filtering/fig1:topics", "filtering/fig1:indexed")
NAMES = ("all documents", "indexed stories")


def _scores(answers: Answers, learner: str) -> Scores:
    return Scores(answers.where(learner=learner))


def _on_each(check: Callable[[Answers], Finding], *streams: Answers) -> Finding:
    return every({name: check(answers) for name, answers in zip(NAMES, streams, strict=True) if len(answers)})


def _with(finding: Finding, reason: str) -> Finding:
    """The same verdict with a reason, unless it holds."""
    return finding if finding.verdict == "holds" else Finding(finding.verdict, finding.effect, reason)


@add_claim(
    "filtering/near-full-information",
    says="Although RIDGE-FIL sees the label of what it forwards only, its F-measure is close to RIDGE-FULL's (printed: "
    "0.59 and 0.68; here close means that on average it loses less than 0.1)",
    where="Abstract, Section 4.1",
    needs=STUDIES,
)
def _near_full(run: Run, *streams: Answers) -> Finding:
    def check(answers: Answers) -> Finding:
        fil, full = _scores(answers, "RIDGE-FIL"), _scores(answers, "RIDGE-FULL")
        gap, late = fil.f() - full.f(), fil.f(0.5) - full.f(0.5)
        longer = float(np.mean(fil.prolonged(LENGTH) - full.prolonged(LENGTH)))
        order = spearmanr(fil.relevant, gap).statistic
        early = 100.0 * float(np.mean(fil.explored(0.0, 0.5) / fil.explored(0.0, 1.0)))
        enough = "is the reason" if longer > -0.1 else "is one reason, not the only one"
        reason = (
            f"learning costs {fil.explored(0.0, 1.0).mean():.0f} documents per topic that are forwarded in spite of "
            f"their margin, {early:.0f} % of them in the first half, and there are {fil.relevant.mean():.0f} relevant "
            f"ones per topic ({LENGTH // 100} to {LENGTH // 20:,} in the paper): rank correlation of the difference "
            f"with their number {order:.2f}. In the second half it is {np.mean(late):.2f}; if the stream went on like "
            f"that to {LENGTH:,} documents, {longer:.2f} over all: the short stream {enough}"
        )
        return _with(
            judge(mean(gap), above=-0.1, what="F of RIDGE-FIL minus F of RIDGE-FULL, mean over topics"), reason
        )

    return _on_each(check, *streams)


@add_claim(
    "filtering/sometimes-better-than-full",
    says="On some topics RIDGE-FIL has a slightly better F-measure than RIDGE-FULL",
    where="Figure 1, caption",
    needs=STUDIES,
)
def _sometimes_better(run: Run, *streams: Answers) -> Finding:
    def check(answers: Answers) -> Finding:
        fil, full = answers.one(learner="RIDGE-FIL"), answers.one(learner="RIDGE-FULL")
        topics = _scores(answers, "RIDGE-FIL").topics
        gaps = {topic: difference(fil, full, topic) for topic in topics}
        best = max(gaps, key=lambda topic: gaps[topic].value)
        ahead = sum(gap.value > 0.0 for gap in gaps.values())
        finding = judge(
            gaps[best], above=0.0, what=f"ahead on {ahead} of {len(topics)} topics; largest difference in F, on {best}"
        )
        late = int(np.sum(_scores(answers, "RIDGE-FIL").f(0.5) > _scores(answers, "RIDGE-FULL").f(0.5)))
        return _with(finding, f"in the second half of the stream it is ahead on {late} of {len(topics)} topics")

    return _on_each(check, *streams)


@add_claim(
    "filtering/ridge-full-above-perceptron",
    says="With full information RIDGE-FULL has a higher F-measure than the perceptron (printed: 0.68 and 0.61)",
    where="Section 4.1",
    needs=STUDIES,
)
def _above_perceptron(run: Run, *streams: Answers) -> Finding:
    def check(answers: Answers) -> Finding:
        gap = _scores(answers, "RIDGE-FULL").f() - _scores(answers, "perceptron").f()
        return judge(mean(gap), above=0.0, what="F of RIDGE-FULL minus F of the perceptron, mean over topics")

    return _on_each(check, *streams)


@add_claim(
    "filtering/ridge-fil-above-apple-tasting",
    says="The apple-tasting rule around RIDGE-FULL does poorly, worse than RIDGE-FIL: it does not look at the margin",
    where="Section 1, Section 4.1",
    needs=STUDIES,
)
def _above_tasting(run: Run, *streams: Answers) -> Finding:
    def check(answers: Answers) -> Finding:
        fil, tasting = _scores(answers, "RIDGE-FIL"), _scores(answers, "STAP on RIDGE-FULL")
        gap = mean(fil.f() - tasting.f())
        late = float(np.mean(fil.f(0.5) - tasting.f(0.5)))
        what = f"F of RIDGE-FIL minus F of STAP, mean over topics (second half of the stream: {late:.2f})"
        return _with(
            judge(gap, above=0.0, what=what),
            f"STAP forwards {100 * tasting.forwarded().mean():.1f} % of the documents and RIDGE-FIL "
            f"{100 * fil.forwarded().mean():.1f} %; "
            f"precision {tasting.precision().mean():.2f} and {fil.precision().mean():.2f}, recall "
            f"{tasting.recall().mean():.2f} and "
            f"{fil.recall().mean():.2f}",
        )

    return _on_each(check, *streams)


@add_claim(
    "filtering/ridge-full-balanced",
    says="Precision and recall of RIDGE-FULL are balanced (here: within 0.1 of each other, on average)",
    where="Figure 1, caption",
    needs=(*STUDIES, "filtering/threshold:ridge"),
)
def _balanced(run: Run, all_: Answers, indexed: Answers, ridges: Answers) -> Finding:
    by_ridge = {float(a.settings["settings"].get("a", 1.0)): a for a in ridges.where(learner="RIDGE-FULL")}
    gaps = [(a, Scores(Answers([answer]))) for a, answer in sorted(by_ridge.items())]
    shown = ", ".join(f"{np.mean(s.precision() - s.recall()):.2f} with a = {a:g}" for a, s in gaps)

    def check(answers: Answers) -> Finding:
        full = _scores(answers, "RIDGE-FULL")
        late = full.precision(0.5) - full.recall(0.5)
        what = "precision minus recall of RIDGE-FULL, mean over topics"
        finding = judge(mean(full.precision() - full.recall()), above=-0.1, below=0.1, what=what)
        reason = (
            f"ridge regression shrinks, and most with few relevant documents: the difference is {late.mean():.2f} in "
            "the "
            f"second half; and it is {shown} (in the study of the ridge)"
        )
        return _with(finding, reason)

    return _on_each(check, all_, indexed)


@add_claim(
    "filtering/recall-above-precision",
    says="RIDGE-FIL's recall is higher than its precision, since it forwards more than it believes to be relevant",
    where="Figure 1, caption",
    needs=STUDIES,
)
def _recall(run: Run, *streams: Answers) -> Finding:
    def check(answers: Answers) -> Finding:
        fil = _scores(answers, "RIDGE-FIL")
        return judge(
            mean(fil.recall() - fil.precision()),
            above=0.0,
            what="recall minus precision of RIDGE-FIL, mean over topics",
        )

    return _on_each(check, *streams)


@add_claim(
    "filtering/confidence-grows",
    says="Forwarding against the margin makes the estimate certain quickly, so that such forwarding dies out (here: "
    "the second "
    "half of the stream has less than half as much of it as the first)",
    where="Figure 1, caption; Section 3",
    needs=STUDIES,
)
def _dies_out(run: Run, *streams: Answers) -> Finding:
    def check(answers: Answers) -> Finding:
        fil = _scores(answers, "RIDGE-FIL")
        what = "documents forwarded against the margin, second half over first, over topics"
        return judge(ratio(fil.explored(0.5, 1.0), fil.explored(0.0, 0.5)), below=0.5, what=what)

    return _on_each(check, *streams)
