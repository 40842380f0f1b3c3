"""What we say of choosing by reward, as checks that can fail."""

from __future__ import annotations

from smidgen_papers.beyond.rewards import HINDSIGHT, RECOMMENDED, contenders
from smidgen_papers.catalogue import add_claim
from smidgen_papers.claims import Finding, judge, ratio, untestable
from smidgen_papers.part import Answers, Run


def _against_hindsight(answers: Answers, name: str) -> Finding:
    found = contenders(answers)
    if HINDSIGHT not in found:
        return untestable("Vowpal Wabbit is not installed here")
    pairs = [(float(row.mean()), float(found[HINDSIGHT][world].mean())) for world, row in found[name].items()]
    ours, theirs = zip(*pairs, strict=True)
    what = f"geometric mean of the losses over that of the peer, by {len(pairs)} sets"
    return judge(ratio(ours, theirs), below=1.0, what=what)


@add_claim(
    "beyond/rewards-as-it-comes",
    says="LinUCB as it comes is ahead of Vowpal Wabbit with its settings chosen in hindsight, on the geometric mean.",
    where="ours",
    needs="beyond/rewards:bandits",
)
def _as_it_comes(run: Run, answers: Answers) -> Finding:
    return _against_hindsight(answers, "LinUCB")


@add_claim(
    "beyond/rewards-recommended",
    says="So is LinUCB with the settings that `recommended` gives.",
    where="ours",
    needs="beyond/rewards:bandits",
)
def _recommended(run: Run, answers: Answers) -> Finding:
    return _against_hindsight(answers, RECOMMENDED)
