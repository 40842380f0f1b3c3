"""A part's version covers the code that it runs, and nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import smidgen
import smidgen_papers
from smidgen_papers.version import ROOTS, Code, code_version

#: A package in small: a part, a player with a kernel, learners with a base, a list of all of them.
MINI = {
    "__init__.py": "",
    "part.py": '''
"""The part."""
from mini import tools
from mini.learners import Perceptron
from mini.play import play
from mini.drawing import figure

SIZE = 3
figure("fig1")

def run(place, *, seed):
    """Do the work."""
    from mini.late import closing
    model = Perceptron(size=SIZE)
    return {"sum": play(model, tools.rows(seed)), "end": closing(), "way": getattr(model, "way")}

def draw(answers):
    return figure(answers)
''',
    "drawing.py": "def figure(what):\n    return what\n",
    "tools.py": "START = 1\n\ndef rows(seed):\n    return [START + seed]\n\ndef unused():\n    return 0\n",
    "late.py": "def closing():\n    return 5\n",
    "play.py": """
from mini.kernel import step

def play(model: "object", rows: list) -> float:
    total = 0.0
    for row in rows:  # one after the other
        total = step(total, row) + model.learn(row)
    return total
""",
    "kernel.py": "def step(a, b):\n    return a + b\n",
    "learners/__init__.py": "from mini.learners.perceptron import Perceptron\nfrom mini.learners.other import Other\n",
    "learners/base.py": '''
class Learner:
    """Files that every code has."""

    def learn(self, row):
        return self._learn(row)

    def _learn(self, row):
        return 0.0

    def save(self, path):
        return path
''',
    "learners/perceptron.py": """
from mini.learners.base import Learner
from mini.learners.card import Card, register

@register(Card(loop="rank"))
class Perceptron(Learner):
    def __init__(self, *, size=2):
        self.size = size

    def _learn(self, row):
        return self.size * row

    @property
    def way(self):
        return "up"

    def report(self):
        return "fine"
""",
    "learners/other.py": "from mini.learners.base import Learner\n\nclass Other(Learner):\n    pass\n",
    "learners/card.py": """
LEARNERS = {}

class Card:
    def __init__(self, loop): self.loop = loop

def register(card):
    def enter(cls):
        LEARNERS[cls.__name__] = cls
        return cls
    return enter
""",
}


def mini(folder: Path, **changed: tuple[str, str]) -> str:
    """The version of the mini part with changes: file (slashes as ``__``) = (what, by what)."""
    files = dict(MINI)
    for name, (old, new) in changed.items():
        path = name.replace("__", "/") + ".py"
        path = path.replace("//init//", "/__init__")
        assert old in files.get(path, ""), (path, old)
        files[path] = files[path].replace(old, new) if old else files.get(path, "") + new
    for path, text in files.items():
        target = folder / "mini" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    return Code({"mini": folder / "mini"}).version("mini.part:run")


@pytest.fixture
def before(tmp_path: Path) -> str:
    return mini(tmp_path / "before")


CHANGES = {
    "a line of a kernel": {"kernel": ("a + b", "b + a")},
    "a constant": {"tools": ("START = 1", "START = 2")},
    "a constant next to the part": {"part": ("SIZE = 3", "SIZE = 4")},
    "a default": {"learners__perceptron": ("size=2", "size=5")},
    "a method that is called by name only": {"learners__perceptron": ("self.size * row", "row")},
    "a method of the base": {"learners__base": ("return self._learn(row)", "return 2 * self._learn(row)")},
    "a method that is called by a word in quotes": {"learners__perceptron": ('return "up"', 'return "down"')},
    "what is imported inside a function": {"late": ("return 5", "return 6")},
    "another function under the same name": {"play": ("mini.kernel import step", "mini.tools import rows as step")},
    "the player": {"play": ("total = 0.0", "total = 1.0")},
    "a base class": {"learners__perceptron": ("(Learner)", "(Learner, dict)")},
    "what an import does": {"kernel": ("", "\nstep.calls = 0\n")},
}

NO_CHANGES = {
    "a docstring": {"part": ('"""Do the work."""', '"""Do it,\n    well."""')},
    "the docstring of a class": {"learners__base": ("Files that every code has.", "All have it.")},
    "a comment": {"play": ("# one after the other", "# in turn")},
    "a type": {"play": (": list", ": tuple")},
    "an empty line": {"kernel": ("\n", "\n\n\n")},
    "a function that is not called": {"tools": ("return 0", "return 1")},
    "a method that is not called": {"learners__base": ("return path", "return str(path)")},
    "another learner": {"learners__other": ("pass", "size = 7")},
    "the card of a learner": {"learners__perceptron": ('loop="rank"', 'loop="choose"')},
    "the list of learners": {"learners__card": ("LEARNERS = {}", "LEARNERS = dict()")},
    "a further method": {"learners__perceptron": ("    def report", "    def recount(self): pass\n\n    def report")},
    "what another function of the part's file does": {"part": ("return figure(answers)", "return None")},
}


@pytest.mark.parametrize("changed", CHANGES.values(), ids=CHANGES)
def test_what_runs_counts(before: str, changed: dict[str, tuple[str, str]], tmp_path: Path) -> None:
    assert mini(tmp_path / "after", **changed) != before


@pytest.mark.parametrize("changed", NO_CHANGES.values(), ids=NO_CHANGES)
def test_what_does_not_run_does_not(before: str, changed: dict[str, tuple[str, str]], tmp_path: Path) -> None:
    assert mini(tmp_path / "after", **changed) == before


def test_a_piece_may_move(before: str, tmp_path: Path) -> None:
    moved = {
        "play": ("mini.kernel import step", "mini.tools import step"),
        "tools": ("def unused", "def step(a, b):\n    return a + b\n\ndef unused"),
    }
    assert mini(tmp_path / "after", **moved) == before


def test_a_module_that_is_searched_counts_as_a_whole(tmp_path: Path) -> None:
    searched = {"part": ("tools.rows(seed)", "getattr(tools, place)(seed)")}
    before = mini(tmp_path / "before", **searched)
    assert mini(tmp_path / "after", **searched, tools=("return 0", "return 1")) != before


def test_a_name_that_a_module_makes_up_counts_as_the_whole_module(tmp_path: Path) -> None:
    made = {"part": ("tools.rows(seed)", "tools.made(seed)"), "tools": ("", "\nglobals().update(made=rows)\n")}
    before = mini(tmp_path / "before", **made)
    assert mini(tmp_path / "after", **made, late=("return 5", "return 5")) == before
    other = {**made, "tools": ("return 0\n", "return 1\n\nglobals().update(made=rows)\n")}
    assert mini(tmp_path / "other", **other) != before


WORKS = (
    "smidgen_papers.coactive.web_play:play",
    "smidgen_papers.coactive.movies_play:play",
    "smidgen_papers.confidit.folds:cross_validate",
    "smidgen_papers.filtering.plays:play",
    "smidgen_papers.onseg.plays:play",
    "smidgen_papers.beyond.rewards_play:play",
)


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Our own source, to be changed."""
    folder = tmp_path_factory.mktemp("copied")
    for package in (smidgen, smidgen_papers):
        origin = Path(str(package.__file__)).parent
        shutil.copytree(origin, folder / origin.name, ignore=shutil.ignore_patterns("__pycache__", "service", "*.js"))
    return folder


def versions(code: Code) -> dict[str, str]:
    return {work: code.version(work) for work in WORKS}


@pytest.fixture(scope="module")
def code(copied: Path) -> Code:
    """The code as it is, read before any change."""
    found = Code({root: copied / root for root in ROOTS})
    versions(found)
    return found


@pytest.fixture(scope="module")
def standing(code: Code) -> dict[str, str]:
    return versions(code)


def test_the_copy_is_the_whole_code(standing: dict[str, str]) -> None:
    assert standing == {work: code_version(work) for work in WORKS}
    assert len(set(standing.values())) == len(WORKS)


LEARNER = '''
"""Another label learner."""

from smidgen.learners.base import register
from smidgen.learners.card import Card
from smidgen.learners.label.banditron import Banditron


@register(Card(loop="label", feedback="bit", paper="ours", bound="none", cost="N", example={"dim": 3, "n_classes": 2}))
class Newcomer(Banditron):
    """It is new."""
'''


def test_a_new_learner_makes_no_result_stale(copied: Path, standing: dict[str, str]) -> None:
    (copied / "smidgen/learners/label/newcomer.py").write_text(LEARNER)
    for path in ("smidgen/learners/label/__init__.py", "smidgen/learners/__init__.py"):
        entrance = copied / path
        entrance.write_text(entrance.read_text() + "\nfrom smidgen.learners.label.newcomer import Newcomer\n")
    front = copied / "smidgen/__init__.py"
    text = front.read_text()
    assert "\nif TYPE_CHECKING:\n" in text
    new = "\nif TYPE_CHECKING:\n    from smidgen.learners import Newcomer\n"
    front.write_text(text.replace("\nif TYPE_CHECKING:\n", new))
    assert versions(Code({root: copied / root for root in ROOTS})) == standing


@pytest.mark.parametrize("file", [pytest.param("label.cpp", marks=pytest.mark.long), "classes.hpp"])
def test_a_line_of_compiled_code_makes_those_stale_that_run_it(
    copied: Path, standing: dict[str, str], file: str
) -> None:
    kernel = copied / "smidgen/_core" / file
    text = kernel.read_text()

    def stale(changed: str) -> set[str]:
        kernel.write_text(changed)
        after = versions(Code({root: copied / root for root in ROOTS}))
        kernel.write_text(text)
        return {work for work in WORKS if after[work] != standing[work]}

    assert stale(f"// a remark\n{text}") == set()
    assert "smidgen_papers.confidit.folds:cross_validate" in stale(f"{text}\nstatic int more;\n") != set(WORKS)


@pytest.mark.parametrize("work", WORKS)
def test_no_part_runs_what_only_lists_or_shows(work: str, code: Code) -> None:
    names = code.reached(work)
    assert not [name for name in names if name.name is None], "no module is searched as a whole"
    modules = {name.module for name in names}
    assert modules.isdisjoint({"smidgen_papers.drawing", "smidgen_papers.report", "smidgen_papers.claims", "smidgen"})
    assert not {module for module in modules if module.startswith(("smidgen.service", "smidgen.cli"))}
