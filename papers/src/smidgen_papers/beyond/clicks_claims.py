"""What we aimed for with clicks and noisy people, and whether it is reached."""

from __future__ import annotations

import numpy as np

from smidgen.decision import FloatArray
from smidgen_papers.beyond.clicks import NORMALIZED, USERS, answer_of, competitors, last, sources
from smidgen_papers.catalogue import add_claim
from smidgen_papers.claims import Finding, every, judge, mean, ratio
from smidgen_papers.coactive.web_data import NAMES
from smidgen_papers.part import Answers, Run

NEEDS = "beyond/clicks:learning"
OURS, THEIRS = "PDGD", "preference perceptron"


def _both(run: Run, answers: Answers, user: str, what: str) -> tuple[FloatArray, FloatArray]:
    source = sources(run)[0]
    ours, theirs = (last(answer_of(run, answers, source, name, user)[what]) for name in (OURS, THEIRS))
    return ours, theirs


@add_claim(
    "beyond/noisy-regret",
    says="With noisy people PDGD has at most half the regret of the preference perceptron.",
    where="our aim",
    needs=NEEDS,
)
def _noisy_regret(run: Run, answers: Answers) -> Finding:
    return judge(ratio(*_both(run, answers, "noisy", "regret")), below=0.5, what="PDGD's regret over the perceptron's")


@add_claim(
    "beyond/noisy-ndcg",
    says="With noisy people PDGD shows rankings that are better by 0.045 nDCG@10.",
    where="our aim",
    needs=NEEDS,
)
def _noisy_worth(run: Run, answers: Answers) -> Finding:
    ours, theirs = _both(run, answers, "noisy", "online")
    return judge(mean(ours - theirs), above=0.045, what="nDCG@10 of PDGD minus the perceptron's")


@add_claim(
    "beyond/informational-ndcg",
    says="With informational clicks PDGD shows rankings that are better by 0.11 nDCG@10.",
    where="our aim",
    needs=NEEDS,
)
def _informational_worth(run: Run, answers: Answers) -> Finding:
    ours, theirs = _both(run, answers, "informational", "online")
    return judge(mean(ours - theirs), above=0.11, what="nDCG@10 of PDGD minus the perceptron's")


@add_claim(
    "beyond/every-click",
    says="With every click model one of the three has lower regret than every learner of the papers, on every set.",
    where="our aim",
    needs=NEEDS,
)
def _every_click(run: Run, answers: Answers) -> Finding:
    findings = {}
    for source in sources(run):
        names = competitors(source)
        ours = [name for name in names if name in (OURS, NORMALIZED, "FairPairs", "3PR")]
        papers = [name for name in names if name not in ours and name != "ranking SVM"]
        for user in USERS[2:]:
            found = {name: last(answer_of(run, answers, source, name, user)["regret"]) for name in names}
            means = {name: float(np.mean(values)) for name, values in found.items()}
            best, rival = (min(group, key=means.__getitem__) for group in (ours, papers))
            what = f"regret of {best} over that of the {rival}"
            findings[f"{NAMES[source]}, {user}"] = judge(ratio(found[best], found[rival]), below=1.0, what=what)
    return every(findings)
