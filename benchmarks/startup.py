"""How long it takes to begin: new processes that import, print help, or make a first decision."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

from benchmarks.interleave import Workload

FIVE = """import numpy as np, smidgen
X, y = np.eye(4), np.arange(4) % 2
smidgen.Banditron(dim=4, n_classes=2).run(X, y)
smidgen.Confidit(dim=4, n_classes=2).run(X, y)
smidgen.PerceptronFilter(dim=4).run(X, y == 1)
learner = smidgen.PreferencePerceptron(dim=4)
learner.learn(learner.decide(smidgen.Ranking(X)), [3, 2, 1, 0])
learner = smidgen.SecondOrderPreferencePerceptron(dim=4)
learner.learn(learner.decide(smidgen.Choice(X)), 1)
"""


def startup(quick: bool) -> Workload:
    return Workload(
        "start-up",
        "start-up of a process",
        "a new Python process from its start to its end, files in the page cache, bytecode written",
        "process",
        1,
        {
            "import smidgen": python("import smidgen"),
            "smidgen --help": command("-m", "smidgen", "--help"),
            "a round of five learners": python(FIVE),
            "python alone": python("pass"),
            "import numpy": python("import numpy"),
            "import sklearn.linear_model": python("import sklearn.linear_model"),
        },
        {
            "a round of five learners": "label, filter and coactive",
        },
    )


def python(code: str) -> Callable[[], object]:
    return command("-c", code)


def command(*arguments: str) -> Callable[[], object]:
    bytecode = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def run() -> None:
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, env=bytecode)

    return run


WORKLOADS = {"start-up": startup}
