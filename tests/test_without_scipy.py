"""The library where scipy is not installed: everything decides and learns, and what needs it says so."""

from __future__ import annotations

import subprocess
import sys

import pytest

#: A Python that does not find scipy, nor what needs it.
WITHOUT = """
import importlib.abc, sys
class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("scipy", "sklearn"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
import numpy as np
import smidgen
from smidgen.errors import MissingExtra
from smidgen.features.rows import sparse_rows
def refused(what, call):
    try:
        call()
    except MissingExtra as error:
        assert "needs scipy" in str(error) and 'pip install "smidgen[scipy]"' in str(error), error
    else:
        raise AssertionError(what)
"""

LEARNING = """
rows = sparse_rows([1.0, 2.0, 0.5], [0, 3, 1], [0, 2, 3], 4)
learner = smidgen.PreferencePerceptron(dim=4)
decision = learner.decide(smidgen.Ranking(rows))
learner.learn(smidgen.Decision.from_json(decision.to_json()), [1, 0])
assert learner.weights.any()
assert smidgen.Ranking(rows).scaled(2.0).scores(np.ones(4)).tolist() == [6.0, 1.0]
refused("docs", lambda: smidgen.Ranking(rows).docs)
adversary = smidgen.users.Adversary(horizon=9)
history = smidgen.simulate(smidgen.PreferencePerceptron(dim=9), adversary.contexts(), adversary)
assert len(history.actions) == 9
"""

RECORDS = """
features = smidgen.Vectorizer(dim=32)
pipeline = smidgen.Pipeline(features=features, learner=smidgen.Confidit(dim=32, n_classes=2))
for age in (31, 28):
    decision = pipeline.decide({"age": age, "country": "se"})
    pipeline.learn(decision, True)
assert pipeline.scores([{"age": 3}, {"age": 4}]).shape == (2, 2)
refused("rows", lambda: features.rows([{"age": 31}]))
"""

STREAMS = """
rng = np.random.default_rng(0)
X = rng.normal(size=(300, 6)); y = X[:, 0] > 0
for covariance in (None, "dual"):  # the dual one multiplies sparse rows, from 200 examples on
    assert len(smidgen.RidgeFull(dim=6, covariance=covariance).run(X, y).actions) == 300
assert len(smidgen.Banditron(dim=6, n_classes=2).run(X, y.astype(int)).actions) == 300
"""

DATA = """
from smidgen import data
refused("documents", lambda: data.documents(documents=3, words=300))
refused("queries", lambda: data.ranked_queries(queries=2))
refused("a filter's stream", lambda: data.filter_stream(rounds=5))
refused("a matrix", lambda: data.rating_matrix(users=9, items=9).matrix())
assert len(data.ranking_stream(queries=3, docs=4, dim=2).contexts) == 3
"""


@pytest.mark.parametrize("code", [LEARNING, RECORDS, STREAMS, DATA], ids=["learning", "records", "streams", "data"])
def test_without_scipy(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT + code], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr[-2000:]
