"""Packages of others next to smidgen: a learner by entry point, a structure and a loop by the name of a module."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from service.live import Live
from testing import prototype

#: The learner's module: the one of the tests, under a name of its own and registered.
LEARNER = Path(prototype.__file__).read_text().replace("Prototype", "Acme") + "\n\nregister()\n"
STRUCTURE = '''
"""Two of several things: a structure, in one file."""

from dataclasses import dataclass
from typing import Any

import numpy as np

import smidgen
from smidgen.errors import InvalidFeedback


@smidgen.structure("acme pair")
@dataclass(frozen=True, eq=False)
class Pair(smidgen.Structure):
    things: Any

    @property
    def dim(self):
        return self.things.shape[1]

    def phi(self, y):
        first, second = self.check(y)
        return self.things[first] + self.things[second]

    def scores(self, w):
        return self.things @ w

    def argmax(self, w):
        return tuple(sorted(np.argsort(-self.scores(w), kind="stable")[:2].tolist()))

    def check(self, y):
        if not isinstance(y, (tuple, list)) or len(set(y)) != 2 or not set(y) <= set(range(len(self.things))):
            raise InvalidFeedback(f"the pair is {y!r}", f"give two of 0 … {len(self.things) - 1}")
        return tuple(sorted(y))
'''
LOOP = '''
"""Pairs over HTTP: a loop, in one file."""

from msgspec import UNSET, Struct, UnsetType
from typing import ClassVar

import acme_pair
from smidgen.learners import Feedback
from smidgen.service.loops.features import Candidates, positions_of, read
from smidgen.service.loops.evaluator import CAVEATS, CoactiveEvaluator
from smidgen.service.loops.base import Loop, ParsedFeedback
from smidgen.service.loops.registry import loops
from smidgen.service.loops.base import Example, UiTexts
from smidgen.service.schemas import DecisionBody, FeedbackBody, Id


class Request(DecisionBody, kw_only=True):
    candidates: Candidates


class Reply(Struct):
    pair: list[str]
    scores: list[float]


class PairFeedback(FeedbackBody, kw_only=True):
    rather: list[Id] | UnsetType = UNSET


@loops.add
class PairUp(Loop):
    name = "pair"
    served_by = ("choose",)
    request = Request
    reply = Reply
    feedback = PairFeedback
    kinds: ClassVar = {"rather": Feedback.BETTER}
    measure = "left unchanged"
    words = UiTexts(does="Pair: two of several", curve="Accepted unchanged", about_curve="Share of pairs unchanged.")
    example = Example(
        title="Pair",
        name="duo",
        model={"features": ["a", "b"]},
        request={"candidates": [{"id": "x", "features": [1, 0]}, {"id": "y", "features": [0, 1]}]},
        feedback=(("another pair", {"rather": ["x", "y"]}),),
    )
    evaluator = CoactiveEvaluator
    caveats = CAVEATS

    def context(self, body):
        ids, rows = read(body.candidates, self.vectors)
        return acme_pair.Pair(rows), ids

    def answer(self, decision, ids):
        return {"pair": [ids[i] for i in decision.action], "scores": [float(s) for s in decision.scores]}

    def parse_field(self, learner, decision, ids, field, value):
        chosen = tuple(sorted(positions_of(value, ids, field)))
        return ParsedFeedback(chosen, float(chosen == tuple(decision.action)))

    def request_text(self, ids):
        return f"a pair out of {len(ids)}"

    def short_text(self, reply):
        return " and ".join(reply["pair"])

    def feedback_text(self, field, value):
        return "rather " + " and ".join(value)

    def measure_of(self, made, signal, feedback, reply):
        return float(tuple(signal) == tuple(made.action))
'''


def distribution(folder: Path, name: str, entry_points: str, **modules: str) -> None:
    """A distribution as an installer leaves it: modules, and a dist-info with entry points."""
    for module, text in modules.items():
        (folder / f"{module}.py").write_text(textwrap.dedent(text))
    info = folder / f"{name.replace('-', '_')}-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(f"[smidgen.learners]\n{entry_points}\n")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of packages: a good one, four broken ones, and modules that no entry point names."""
    folder: Path = tmp_path_factory.mktemp("site")
    distribution(folder, "acme-learners", "Acme = acme_learners:Acme", acme_learners=LEARNER)
    distribution(folder, "broken-import", "Gone = no_such_module:Gone")
    distribution(folder, "broken-code", "Bad = bad_code:Bad", bad_code="raise RuntimeError('no luck today')")
    distribution(folder, "broken-card", "Plain = plain_class:Plain", plain_class="class Plain: pass")
    distribution(folder, "broken-exit", "Left = leaves_early:Left", leaves_early="import sys; sys.exit('bye')")
    (folder / "acme_pair.py").write_text(STRUCTURE)
    (folder / "acme_loop.py").write_text(LOOP)
    (folder / "empty_handed.py").write_text("x = 1")
    (folder / "needs_more.py").write_text("import nowhere_to_be_found")
    return folder


@pytest.fixture
def path(site: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]))
    return site


def run(*words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "smidgen", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **options)


def warned(text: str) -> list[str]:
    return [line for line in text.splitlines() if "cannot be used" in line]


def test_the_command_lists_it_and_each_broken_one_is_one_warning(path: Path) -> None:
    outcome = run("learners", "--json", "--loop", "label")
    assert outcome.returncode == 0, outcome.stderr
    found = {one["learner"]: one for one in json.loads(outcome.stdout)}
    assert found["Acme"]["paper"] == "ours, for the tests"
    warnings = warned(outcome.stderr)
    assert len(warnings) == 4
    for name, why in (
        ("broken-import 1.2", "No module named 'no_such_module'"),
        ("broken-code 1.2", "RuntimeError: no luck today"),
        ("broken-card 1.2", "Plain is not registered"),
        ("broken-exit 1.2", "SystemExit: bye"),
    ):
        (line,) = [line for line in warnings if f"of the distribution {name}" in line]
        assert why in line


def test_the_laws_and_the_library_find_it(path: Path) -> None:
    code = """
        import smidgen
        from smidgen.learners import cards, discover, learners
        from smidgen.testing import check_learner
        assert "Acme" not in cards
        discover()
        discover()
        check_learner(learners["Acme"])
        recommended = smidgen.recommended(loop="label", feedback="label", dim=2, n_classes=2)
        assert type(recommended).__name__ != "Acme", "its card does not ask for that"
        learners["Acme"](dim=2, n_classes=2).save("acme.smidgen")
        print("good")
    """
    played = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        cwd=path,
        timeout=120,
        check=False,
    )
    assert played.stdout == "good\n", played.stderr
    code = "import smidgen; print(smidgen.load('acme.smidgen').asked)"
    played = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=path, check=False)
    assert played.stdout == "{'dim': 2, 'n_classes': 2}\n", played.stderr


def post(url: str, where: str, body: Any) -> Any:
    answer = httpx.post(f"{url}{where}", json=body, timeout=60)
    assert answer.status_code in (200, 201), answer.text
    return answer.json()


def test_a_served_plugin_decides_learns_and_survives_a_restart(path: Path, tmp_path: Path) -> None:
    data, rng = tmp_path / "data", np.random.default_rng(0)
    body = {"loop": "label", "learner": "Acme", "features": ["a", "b"], "labels": ["x", "y"], "params": {"rate": 0.5}}
    twin = prototype.Prototype(dim=2, n_classes=2, rate=0.5)
    pairs = {"loop": "pair", "features": ["a", "b"]}
    menu = [{"id": name, "features": row} for name, row in zip("pqr", ([1, 0], [0, 1], [1, 1]), strict=True)]
    with Live(data, "--import", "acme_loop") as service:
        known = httpx.get(f"{service.url}ui/learners.json").json()
        assert "Acme" in [one["name"] for one in known["label"]]
        loops = httpx.get(f"{service.url}ui/loops.json").json()
        assert loops["pair"]["words"]["does"] == "Pair: two of several"
        document = httpx.get(f"{service.url}openapi.json").json()
        assert "pair" in document["components"]["schemas"]["ModelBody"]["properties"]["loop"]["enum"]
        assert "rather" in document["components"]["schemas"]["FeedbackBody"]["properties"]
        for name, model in (("mail", body), ("duo", pairs)):
            assert httpx.put(f"{service.url}v1/models/{name}", json=model, timeout=120).status_code == 201
        for _ in range(6):
            x = rng.normal(size=2).round(3)
            made, mine = post(service.url, "v1/models/mail/decisions", {"features": x.tolist()}), twin.decide(x)
            assert made["label"] == body["labels"][mine.action]
            post(service.url, f"v1/decisions/{made['decision']}/feedback", {"label": "xy"[int(x[0] > 0)]})
            twin.learn(mine, int(x[0] > 0))
        first = post(service.url, "v1/models/duo/decisions", {"candidates": menu})
        assert (first["pair"], first["scores"]) == (["p", "q"], [0.0, 0.0, 0.0])
        said = post(service.url, f"v1/decisions/{first['decision']}/feedback", {"rather": ["r", "q"]})
        assert said == {"status": "learnt", "model_version": 1}
        open_ = post(service.url, "v1/models/duo/decisions", {"candidates": menu})
        assert open_["pair"] == ["q", "r"]
        wrong = httpx.post(f"{service.url}v1/decisions/{open_['decision']}/feedback", json={"rather": ["q"]})
        assert (wrong.status_code, wrong.json()["error"]["message"]) == (422, "the pair is (1,)")
        story = httpx.get(f"{service.url}v1/decisions/{open_['decision']}").json()
        assert [name for name, _ in story["contributions"]["items"]] == ["b"]
        assert httpx.get(f"{service.url}v1/models/duo/health").status_code == 200
        status, _, err = service.stop()
        assert status == 0
        assert len(warned(err)) == 4, err
    with Live(data, "--import", "acme_loop") as service:
        x = rng.normal(size=2)
        made = post(service.url, "v1/models/mail/decisions", {"features": x.tolist()})
        assert made["label"] == body["labels"][twin.decide(x).action], "it goes on where it was"
        weights = httpx.get(f"{service.url}v1/models/mail/weights").json()["weights"]
        assert {(one["label"], one["name"]): one["weight"] for one in weights} == pytest.approx(
            {(label, name): twin.weights[i, j] for i, label in enumerate("xy") for j, name in enumerate("ab")}
        )
        post(service.url, f"v1/decisions/{open_['decision']}/feedback", {"rather": ["p", "r"]})
    for words in (("log", "verify", "duo"), ("replay", "duo", "--learner", "SecondOrderPreferencePerceptron")):
        outcome = run(*words, "--store", service.store, "--import", "acme_loop")
        assert outcome.returncode == 0, outcome.stderr + outcome.stdout
    assert "better above shown" in outcome.stdout
    outcome = run("log", "verify", "mail", "--store", service.store, env={**os.environ, "SMIDGEN_IMPORT": "acme_loop"})
    assert "no errors found" in outcome.stdout, outcome.stderr
    refused = run("log", "verify", "duo", "--store", service.store)
    assert refused.returncode != 0, "without the module nobody knows what a pair is"
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize(
    ("module", "why"),
    [
        ("no_such_plugin", "there is no module 'no_such_plugin'"),
        ("needs_more", "the module needs_more needs 'nowhere_to_be_found', which is missing"),
        ("bad_code", "the module bad_code cannot be imported: RuntimeError: no luck today"),
        ("leaves_early", "the module leaves_early cannot be imported: SystemExit: bye"),
        ("empty_handed", "the module empty_handed registers nothing"),
        ("json", "the module json registers nothing"),
        ("not a module", "'not a module' is not the name of a module"),
    ],
)
def test_a_module_that_brings_nothing_is_one_line(path: Path, tmp_path: Path, module: str, why: str) -> None:
    outcome = run("learners", "--import", module)
    assert outcome.returncode == 1
    lines = [line for line in outcome.stderr.splitlines() if "cannot be used" not in line]
    assert len(lines) == 1, outcome.stderr
    assert lines[0].startswith(f"smidgen: {why}; ")


def test_a_service_with_such_a_module_does_not_start(path: Path, tmp_path: Path) -> None:
    outcome = run("serve", "--port", "0", "--data", str(tmp_path / "data"), "--import", "empty_handed")
    assert outcome.returncode == 1
    assert outcome.stderr.splitlines()[-1].startswith("smidgen: the module empty_handed registers nothing; ")
    assert "Traceback" not in outcome.stderr


def test_a_module_of_the_working_folder_is_found(site: Path, tmp_path: Path) -> None:
    outcome = run("learners", "--json", "--import", "acme_learners", cwd=site)
    assert "Acme" in {one["learner"] for one in json.loads(outcome.stdout)}, outcome.stderr
