"""Play every case of the contract tests and print a digest of the bits: `test_levels` compares levels and machines.

    PYTHONPATH=tests python -m core.play [rounds] [part of a name]
    PYTHONPATH=tests python -m core.play record

`record` writes `bits.json`, which the tests compare with.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import smidgen
from laws.loops import CASES
from smidgen import _core, randomness
from smidgen._core import math as core_math
from smidgen._core import random as core_random
from smidgen.testing.laws import picture, snapshot

#: Feedback comes this many decisions late.
LAG = 3
#: Learners whose rounds are nearly all Python (an SVM, samples, records): by day a quarter of the rounds.
SLOW = ("RankingSVM", "SoftPreferencePerceptron", "Pipeline")
DAY = 400


def digest(*values: Any) -> str:
    """Return a digest of everything that the values hold, arrays by their bytes."""
    return hashlib.blake2b(repr([picture(value) for value in values]).encode(), digest_size=12).hexdigest()


def play_functions() -> Iterator[tuple[str, str]]:
    """Transcendental functions and random numbers."""
    x = np.random.default_rng(1).uniform(0.0, 3.0, 4_000)
    out = np.empty(len(x))
    for function in (core_math.exp, core_math.log, core_math.log1p):
        function(x, out)
        yield function.__name__, digest(out)
    core_math.pow(x, 20.0 * x, out)
    yield "pow", digest(out)
    key = randomness.stream_key(3, randomness.DIRECTION)
    for n in (1, 2, 7, 16, 33, 100):
        out = np.empty(n)
        for draw in (core_random.fill_uniforms, core_random.unit_direction):
            draw(key, 12, out)
            yield f"{draw.__name__} {n}", digest(out)
        core_random.fill_normals(key, 12, 3, out)
        yield f"fill_normals {n}", digest(out)


def play_vectors() -> Iterator[tuple[str, str]]:
    """Vectors of contexts and candidates: projection, cosines, blocks that are taken over."""
    rng, decisions = np.random.default_rng(5), []
    learner = smidgen.Pipeline(features=smidgen.Vectorizer(dim=1024, vectors=150), learner=smidgen.ChoiceBank(dim=1024))
    for _ in range(60):
        given = {f"c{k}": {"emb": rng.normal(size=160), "kind": f"k{k % 3}"} for k in range(9)}
        made = learner.decide(smidgen.Candidates(given, context={"emb": rng.normal(size=160)}))
        learner.learn(made, float(rng.random()))
        decisions.append(made)
    yield "vectors", digest(sorted(snapshot(learner).items()), decisions)


def play_cases(rounds: int, part: str = "") -> Iterator[tuple[str, str]]:
    """Every learner in every setting and form, by the two verbs with late feedback."""
    for case in CASES:
        if part in str(case):
            learner = case.make()
            count = rounds // 4 if rounds == DAY and case.name in SLOW else rounds
            log = case.play(learner, case.form.contexts(7, count), lag=LAG)
            yield str(case), digest(sorted(snapshot(learner).items()), [decision for decision, _ in log])


def record() -> None:
    """Write the digests that every level and machine must give."""
    bits = {str(rounds): dict((*play_functions(), *play_vectors(), *play_cases(rounds))) for rounds in (DAY, 4_000)}
    Path(__file__).with_name("bits.json").write_text(json.dumps(bits, indent=1) + "\n")


def main() -> None:
    """Print the level, then a line for each thing that was played."""
    if sys.argv[1:] == ["record"]:
        return record()
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 4_000
    part = sys.argv[2] if len(sys.argv) > 2 else ""
    print("level", _core.LEVEL)
    for name, bits in (*(() if part else (*play_functions(), *play_vectors())), *play_cases(rounds, part)):
        print(f"{name}: {bits}", flush=True)
    return None


if __name__ == "__main__":
    main()
