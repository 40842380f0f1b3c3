"""Simulated editors over real texts: eight drafts, one shown, what is made of it, and how much was avoidable."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import numpy as np

from smidgen.decision import FloatArray
from smidgen.features.style import read_style, token_distance
from smidgen.learners.coactive import PreferencePerceptron, RankingSVM, SoftPreferencePerceptron
from smidgen.structures import Drafts, Edit
from smidgen_papers.beyond.draft_styles import TRAITS, Sentences, rendered, sentences_of
from smidgen_papers.data.texts import amazon, newsgroups, reuters
from smidgen_papers.part import Place, Values

OFFERED = 8
_WORDS = ("quite", "rather", "indeed", "also", "often", "later", "again", "today", "simply")


class Round(NamedTuple):
    """The drafts of a round, what the editor would make of each, and how far that is, in words and marks."""

    drafts: list[str]
    edited: list[str]
    distance: list[int]


class Contestant(Protocol):
    """Whoever chooses among drafts and hears what became of the one that was shown."""

    def choose(self, drafts: Drafts) -> int:
        """The draft to show."""
        ...

    def hear(self, drafts: Drafts, shown: int, edited: str) -> None:
        """What the editor made of it."""
        ...


class Nothing:
    """Shows the first; drafts come in a random order."""

    def choose(self, drafts: Drafts) -> int:
        """The first."""
        return 0

    def hear(self, drafts: Drafts, shown: int, edited: str) -> None:
        """Learns nothing."""


class LastEdit:
    """Goes by the last edit that changed anything."""

    def __init__(self) -> None:
        self._w: FloatArray = np.zeros(Drafts.dim)

    def choose(self, drafts: Drafts) -> int:
        """What lies furthest along the last change."""
        return drafts.argmax(self._w)

    def hear(self, drafts: Drafts, shown: int, edited: str) -> None:
        """Keep the change."""
        delta = drafts.difference(Edit(edited), shown)
        if delta.any():
            self._w = delta


class Recall:
    """Nearest neighbours: shows the draft that is most like any text that people sent before."""

    def __init__(self) -> None:
        self._sent: list[FloatArray] = []

    def choose(self, drafts: Drafts) -> int:
        """The most alike, by the cosine of the features."""
        if not self._sent:
            return 0
        rows = np.array([_unit(drafts.phi(y)) for y in range(len(drafts))])
        return int(np.argmax((rows @ np.array(self._sent).T).max(axis=1)))

    def hear(self, drafts: Drafts, shown: int, edited: str) -> None:
        """Remember the text."""
        self._sent.append(_unit(drafts.phi(Edit(edited))))


class Learning:
    """A learner by its two verbs; counts the edits of which Theorem 1 does not speak."""

    def __init__(self, learner: Any) -> None:
        self._learner = learner
        self._decision: Any = None
        self.beyond = 0

    def choose(self, drafts: Drafts) -> int:
        """Decide."""
        self._decision = self._learner.decide(drafts)
        return int(self._decision.action)

    def hear(self, drafts: Drafts, shown: int, edited: str) -> None:
        """Learn; the theorem needs the better text among the drafts, or w·Δ ≤ 0."""
        gain = float(self._learner.weights @ drafts.difference(Edit(edited), shown))
        self.beyond += edited not in (drafts.texts or ()) and gain > 0.0
        self._learner.learn(self._decision, Edit(edited))


def _unit(row: FloatArray) -> FloatArray:
    unit: FloatArray = row / max(float(np.linalg.norm(row)), 1e-12)
    return unit


CONTESTANTS = (
    "no learning",
    "last edit only",
    "nearest past edit",
    "RankingSVM",
    "PreferencePerceptron",
    "SoftPreferencePerceptron",
)


def contestant(name: str) -> Contestant:
    """A fresh one of this name."""
    if name == "RankingSVM":
        return Learning(RankingSVM(dim=Drafts.dim))
    if name == "PreferencePerceptron":
        return Learning(PreferencePerceptron(dim=Drafts.dim))
    if name == "SoftPreferencePerceptron":
        return Learning(SoftPreferencePerceptron())
    simple: dict[str, type[Nothing | LastEdit | Recall]] = {
        "no learning": Nothing,
        "last edit only": LastEdit,
        "nearest past edit": Recall,
    }
    return simple[name]()


@lru_cache(maxsize=4)
def material(folder: Any, source: str) -> list[Sentences]:
    """Real texts in sentences."""
    loaders = {"amazon": amazon, "reuters": reuters, "newsgroups": newsgroups}
    texts = loaders[source](folder).texts
    some = [sentences_of(text.partition("\n")[2]) for text in texts[:6000]]
    return [each for each in some if each is not None]


def rounds_of(texts: list[Sentences], wishes: dict[str, bool], slips: float, rounds: int, seed: int) -> list[Round]:
    """What one editor is shown, whatever the contestant: the same for the same seed.

    Parameters
    ----------
    texts
        The material.
    wishes
        The traits that the editor cares about, and whether they are wanted.
    slips
        The chance that an editor also puts in a word that has nothing to do with his taste.
    rounds, seed
        How many, and which.
    """
    rng = np.random.default_rng([seed, 41])
    made = []
    for _ in range(rounds):
        sentences = texts[int(rng.integers(len(texts)))]
        slip = str(rng.choice(_WORDS)) if rng.random() < slips else ""
        at = float(rng.random())
        drafts, edited = [], []
        for _ in range(OFFERED):
            on = {trait for trait in TRAITS if rng.random() < 0.5}
            drafts.append(rendered(sentences, on))
            wanted = (on | {t for t, yes in wishes.items() if yes}) - {t for t, yes in wishes.items() if not yes}
            edited.append(_slipped(rendered(sentences, wanted), slip, at))
        far = [token_distance(read_style(a).tokens, read_style(b).tokens) for a, b in zip(drafts, edited, strict=True)]
        made.append(Round(drafts, edited, far))
    return made


def _slipped(text: str, word: str, at: float) -> str:
    """The text with a word put in somewhere."""
    if not word:
        return text
    words = text.split(" ")
    place = int(at * len(words))
    return " ".join([*words[:place], word, *words[place:]])


def play(
    place: Place, *, source: str, traits: list[str], contestants: list[str], slips: float, rounds: int, seed: int
) -> Values:
    """One editor and all contestants: per round what was avoidable, and whether it was left unchanged.

    What is avoidable is the distance of the shown draft to what is made of it, beyond that of the best draft on offer.
    """
    rng = np.random.default_rng([seed, 40])
    wishes = {trait: bool(rng.random() < 0.5) for trait in traits}
    stream = rounds_of(material(place.data, source), wishes, slips, rounds, seed)
    found: Values = {}
    for name in contestants:
        who = contestant(name)
        avoidable, whole, same = [], [], []
        for each in stream:
            drafts = Drafts(each.drafts)
            shown = who.choose(drafts)
            avoidable.append(each.distance[shown] - min(each.distance))
            whole.append(each.distance[shown])
            same.append(each.distance[shown] == 0)
            who.hear(drafts, shown, each.edited[shown])
        edits = int(np.sum(~np.array(same)))
        found |= {
            f"{name}: avoidable": np.array(avoidable, np.float64),
            f"{name}: distance": np.array(whole, np.float64),
            f"{name}: unchanged": np.array(same, np.bool_),
            f"{name}: edits": edits,
            f"{name}: beyond": getattr(who, "beyond", 0),
        }
    return found
