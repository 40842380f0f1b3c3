"""Records to rows (W6): one by one, in lists, in frames; candidates with a context; next to those who do it too."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

import smidgen
from benchmarks.interleave import Contender, Workload
from benchmarks.peers import NOT_HERE

RECORDS, CANDIDATES, NUMBERS, CATEGORIES, DIM = 500, 50, 8, 10, 2**14
TIMES = 20  # as many rows does a large frame have
JOB = (
    "a record of 20 fields to a row of features: 8 numbers, 10 categories of 20 values, a bool, 10 words; all "
    "names known, statistics taken from 1,000 records"
)

SIZES = f"{RECORDS:,} rows, as the list has; a frame without that word has {TIMES * RECORDS:,}"


def record(rng: np.random.Generator, text: bool = True) -> dict[str, Any]:
    """Twenty fields; without the text an eleventh category."""
    made: dict[str, Any] = {f"n{k}": float(rng.normal(50, 10)) for k in range(NUMBERS)}
    made |= {f"c{k}": f"v{rng.integers(20)}" for k in range(CATEGORIES)}
    made["vip"] = bool(rng.random() < 0.5)
    last = " ".join(f"word{k}" for k in rng.integers(300, size=10))
    return made | ({"title": last} if text else {"c99": f"v{rng.integers(20)}"})


@cache
def records() -> list[dict[str, Any]]:
    """The same for all contenders."""
    rng = np.random.default_rng(0)
    return [record(rng) for _ in range(RECORDS)]


@cache
def vectorizer() -> smidgen.Vectorizer:
    """One that knows all names."""
    made = smidgen.Vectorizer(dim=DIM, text=("title",))
    for each in (*records(), *records()):
        made.learn(each)
    return made


def single(quick: bool) -> Workload:
    """One record after the other."""

    def ours() -> None:
        row = vectorizer().row
        for each in records():
            row(each)

    contenders: dict[str, Contender] = {"smidgen, one record": ours}
    remarks: dict[str, str] = {}
    _add_vw(contenders, remarks)
    _add_sklearn(contenders, remarks, bulk=False)
    _add_river(contenders, remarks)
    return Workload("W6", "records: one by one", JOB, "record", RECORDS, contenders, remarks)


def bulk(quick: bool) -> Workload:
    """Many records in one call."""
    contenders: dict[str, Contender] = {
        "smidgen, a list": lambda: vectorizer().rows(records()),
        "smidgen, one record": (lambda: [vectorizer().row(each) for each in records()[:100]], 100),
    }
    remarks = {"smidgen, one record": "the same one by one, for comparison", "smidgen, a small frame": SIZES}
    for name in ("pandas", "polars"):
        if find_spec(name) is None:
            remarks[name] = NOT_HERE
        else:
            contenders[f"smidgen, a frame of {name}"] = (_framed(name, times=TIMES), TIMES * RECORDS)
            contenders[f"smidgen, a small frame of {name}"] = _framed(name)
    _add_sklearn(contenders, remarks, bulk=True)
    return Workload("W6", "records: in bulk", JOB, "record", RECORDS, contenders, remarks)


def bare(quick: bool) -> Workload:
    """The same without the text, where columns can be read as they lie."""
    short = [{name: value for name, value in each.items() if name != "title"} for each in records()]
    contenders: dict[str, Contender] = {
        "smidgen, a list": lambda: vectorizer().rows(short),
        "smidgen, one record": (lambda: [vectorizer().row(each) for each in short[:100]], 100),
    }
    for name in ("pandas", "polars"):
        if find_spec(name) is not None:
            contenders[f"smidgen, a frame of {name}"] = (_framed(name, "title", TIMES), TIMES * RECORDS)
            contenders[f"smidgen, a small frame of {name}"] = _framed(name, "title")
    remarks = {"smidgen, a small frame": SIZES}
    return Workload(
        "W6", "records: in bulk, without text", f"{JOB}; but no text", "record", RECORDS, contenders, remarks
    )


def offered(quick: bool) -> Workload:
    """Fifty candidates with a context."""
    rng = np.random.default_rng(1)
    context = {"device": "ios", "country": "se", "hour": 13}
    offer = smidgen.Candidates({f"i{k}": record(rng, False) for k in range(CANDIDATES)}, context=context, top=5)

    def encoded(crosses: Any) -> Callable[[], object]:
        made = smidgen.Vectorizer(dim=DIM, crosses=crosses)
        for _ in range(3):
            whole = made.encode_candidates(offer, mains=False)
            made.absorb(whole, made.planned(whole)[0])
        return lambda: made.encode_candidates(offer, mains=False)

    def two_verbs() -> Callable[[], object]:
        learner = smidgen.PreferencePerceptron(dim=DIM)
        pipeline = smidgen.Pipeline(features=smidgen.Vectorizer(dim=DIM), learner=learner)
        better = np.random.default_rng(2).permutation(CANDIDATES)
        return lambda: pipeline.learn(pipeline.decide(offer), better)

    return Workload(
        "W6",
        "candidates: 50 x 20 fields",
        "a ranking of 50 candidates of 20 fields and an id, with a context of three fields, to rows",
        "ranking",
        1,
        {
            "smidgen, crosses off": encoded(()),
            "smidgen, default crosses": encoded("auto"),
            "smidgen, two verbs": two_verbs(),
        },
        {"smidgen, two verbs": "decide and learn of a `Pipeline` with the preference perceptron, default crosses"},
    )


def _framed(name: str, without: str = "", times: int = 1) -> Callable[[], object]:
    @cache
    def frame() -> Any:
        import importlib

        kept = [{key: value for key, value in each.items() if key != without} for each in records()]
        return importlib.import_module(name).DataFrame(times * kept)

    return lambda: vectorizer().rows(frame())


def _vw_line(each: dict[str, Any]) -> str:
    numbers = " ".join(f"n{k}:{each[f'n{k}']:.6g}" for k in range(NUMBERS))
    categories = " ".join(f"c{k}={each[f'c{k}']}" for k in range(CATEGORIES))
    return f"| {numbers} {categories} vip={str(each['vip']).lower()} |title {each['title']}"


def _add_vw(contenders: dict[str, Contender], remarks: dict[str, str]) -> None:
    if find_spec("vowpalwabbit") is None:
        remarks["Vowpal Wabbit"] = NOT_HERE
        return

    def parsed(settings: str, lines: Callable[[], list[str]]) -> Callable[[], object]:
        @cache
        def prepared() -> tuple[Any, list[str]]:
            from vowpalwabbit import Workspace

            return Workspace(f"--quiet -b 18 {settings}"), lines()

        def run() -> None:
            workspace, given = prepared()
            for line in given:
                workspace.finish_example(workspace.example(line))

        return run

    contenders["Vowpal Wabbit, text"] = parsed("", lambda: [_vw_line(each) for each in records()])
    contenders["Vowpal Wabbit, text, pairs of words"] = parsed(
        "--ngram t2", lambda: [_vw_line(each) for each in records()]
    )
    contenders["Vowpal Wabbit, from records"] = _vw_from_records()
    remarks["Vowpal Wabbit"] = (
        "`workspace.example`, the text already made; hashes names, and does not scale (its learner does); pairs "
        "of words only with --ngram. From records: the text is made too, as a person must"
    )


def _vw_from_records() -> Callable[[], object]:
    @cache
    def workspace() -> Any:
        from vowpalwabbit import Workspace

        return Workspace("--quiet -b 18 --ngram t2")

    def run() -> None:
        for each in records():
            workspace().finish_example(workspace().example(_vw_line(each)))

    return run


def _add_sklearn(contenders: dict[str, Contender], remarks: dict[str, str], bulk: bool) -> None:
    if find_spec("sklearn") is None:
        remarks["scikit-learn"] = NOT_HERE
        return

    @cache
    def prepared() -> tuple[Any, Any]:
        from sklearn.feature_extraction import FeatureHasher
        from sklearn.preprocessing import StandardScaler

        numbers = [[each[f"n{k}"] for k in range(NUMBERS)] for each in records()]
        return FeatureHasher(n_features=DIM), StandardScaler().fit(numbers)

    def features(each: dict[str, Any]) -> dict[str, Any]:
        words = each["title"].split()
        fields: dict[str, Any] = {key: value for key, value in each.items() if key[0] == "c"}
        fields |= {"vip": str(each["vip"])} | {f"title:{word}": 1.0 for word in words}
        return fields | {f"title:{a} {b}": 1.0 for a, b in itertools.pairwise(words)}

    def transformed(some: list[dict[str, Any]]) -> object:
        from scipy import sparse

        hasher, scaler = prepared()
        numbers = scaler.transform([[each[f"n{k}"] for k in range(NUMBERS)] for each in some])
        return sparse.hstack([sparse.csr_array(numbers), hasher.transform([features(each) for each in some])])

    if bulk:
        contenders["scikit-learn FeatureHasher + StandardScaler"] = lambda: transformed(records())
    else:
        few = records()[:20]
        contenders["scikit-learn FeatureHasher + StandardScaler"] = (
            lambda: [transformed([each]) for each in few],
            len(few),
        )
    remarks["scikit-learn"] = "the dictionaries of categories and words are made by hand; hashed, names are lost"


def _add_river(contenders: dict[str, Contender], remarks: dict[str, str]) -> None:
    if find_spec("river") is None:
        remarks["river"] = NOT_HERE
        return

    @cache
    def pipeline() -> Any:
        from river import compose, feature_extraction, preprocessing

        numbers = compose.Select(*(f"n{k}" for k in range(NUMBERS))) | preprocessing.StandardScaler()
        names = (*(f"c{k}" for k in range(CATEGORIES)), "vip")
        categories = compose.Select(*names) | preprocessing.OneHotEncoder()
        words = feature_extraction.BagOfWords(on="title", ngram_range=(1, 2))
        made = numbers + categories + words
        for each in records():
            made.learn_one(each)
        return made

    few = records()[:100]

    def run() -> None:
        transform = pipeline().transform_one
        for each in few:
            transform(each)

    contenders["river"] = (run, len(few))
    remarks["river"] = "StandardScaler + OneHotEncoder + BagOfWords of words and pairs; the row is a dictionary"


WORKLOADS = {"W6 one": single, "W6 bulk": bulk, "W6 bulk bare": bare, "W6 candidates": offered}
