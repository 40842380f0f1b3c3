"""The search demo: what is read, found and shown, and that clicks make it better."""

from __future__ import annotations

import inspect
import json
import math
import random
import statistics
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from service.asgi import Caller
from service.tokens import Mint
from smidgen.learners.recommended import find
from smidgen.service.monitoring.curves import BLOCK
from smidgen.structures import Ranking
from smidgen_demos.search import words
from smidgen_demos.search.comparison import Query, ndcg
from smidgen_demos.search.documents import Document, is_private, split_docstring
from smidgen_demos.search.features import NAMES, features
from smidgen_demos.search.index import K1, B, Field, Index
from smidgen_demos.search.library import library
from smidgen_demos.search.progress import progress
from smidgen_demos.search.searches import SHOWN
from smidgen_demos.search.visitors import GRADED, TASTE, visitor


@pytest.fixture
def call(tmp_path: Path) -> Iterator[Caller]:
    with Caller(tmp_path) as caller:
        yield caller


@pytest.fixture(scope="module")
def small() -> Index:
    """Five documents that a test can count by hand."""
    return Index(
        [
            Document("csv", "module", "", "Read and write files.", "Read and write files. Rows of text.", 3),
            Document("csv.DictReader", "class", "(f)", "Read rows as dicts.", "Read rows as dicts.", 3),
            Document("csv._hidden", "function", "()", "Read nothing.", "Read nothing.", 3),
            Document(
                "gzip.GzipFile.read", "method", "(size)", "Read bytes.", "Read bytes from files. " + "x " * 4000, 7
            ),
            Document("read_rows", "function", "(f)", "Rows, in order.", "Rows, in order.", 0),
        ]
    )


def rows_of(index: Index, query: str) -> dict[str, dict[str, float]]:
    found = index.find(query)
    values = features(index, found)
    names = [index.documents[place].name for place in found.places]
    return {name: dict(zip(NAMES, row, strict=True)) for name, row in zip(names, values.tolist(), strict=True)}


# What is searched


def test_thousands_of_docstrings_each_with_a_name_of_its_own() -> None:
    documents = library().documents
    assert len(documents) > 4000
    assert len({document.name for document in documents}) == len(documents)
    assert [document.name for document in documents] == sorted(document.name for document in documents)
    assert Counter(document.kind for document in documents).keys() == {"module", "class", "function", "method"}
    assert all(document.text and len(document.name) <= 200 for document in documents)


def test_documents_say_what_the_library_says() -> None:
    by_name = {document.name: document for document in library().documents}
    found = by_name["json.loads"]
    assert (found.kind, found.signature[:7]) == ("function", "(s, *, ")
    assert found.text == inspect.cleandoc(json.loads.__doc__ or "").strip()
    assert by_name["math.sqrt"].summary == "Return the square root of x."
    assert by_name["statistics.mean"].text == (inspect.getdoc(statistics.mean) or "")
    assert by_name["str.join"].kind == "method"
    assert by_name["json.JSONDecoder" if "json.JSONDecoder" in by_name else "json.decoder.JSONDecoder"].kind == "class"
    assert by_name["os"].imports > by_name["wave"].imports


def test_nothing_is_run_to_read_it() -> None:
    """`this` prints a poem and `antigravity` opens a browser when they are imported."""
    assert not {document.name for document in library().documents} & {"this", "antigravity"}


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("Open a file.  Then\nmore.", ("", "Open a file.", "Open a file.  Then\nmore.")),
        ("f(x, /) --> int\n\nAdds one.", ("(x, /) --> int", "Adds one.", "Adds one.")),
        (
            "Heaps (a.k.a. queues)\nof things.",
            ("", "Heaps (a.k.a. queues) of things.", "Heaps (a.k.a. queues)\nof things."),
        ),
        ("f(x)", ("(x)", "f(x)", "f(x)")),
    ],
)
def test_a_docstring_is_signature_summary_and_text(raw: str, expected: tuple[str, str, str]) -> None:
    assert split_docstring(raw) == expected


def test_private_is_what_begins_with_an_underscore_but_not_the_dunders() -> None:
    assert [is_private(name) for name in ("a._b", "_a.b", "a.b", "a.__init__", "a.__mangled")] == [1, 1, 0, 0, 1]


# Finding


def naive_bm25(texts: list[list[str]], query: list[str], place: int) -> float:
    mean = sum(len(text) for text in texts) / len(texts)
    total = 0.0
    for word in query:
        n = sum(word in text for text in texts)
        times = texts[place].count(word)
        weight = math.log(1 + (len(texts) - n + 0.5) / (n + 0.5))
        total += weight * times * (K1 + 1) / (times + K1 * (1 - B + B * len(texts[place]) / mean))
    return total


def test_the_scores_are_bm25() -> None:
    rng = random.Random(3)
    texts = [[rng.choice("abcdefg") for _ in range(rng.randint(1, 30))] for _ in range(40)]
    field = Field(texts)
    for query in (["a"], ["b", "g"], ["a", "c", "nowhere"]):
        scores = field.scores(query)
        assert scores == pytest.approx([naive_bm25(texts, query, place) for place in range(len(texts))])
        assert scores.max() < field.best_possible(query)


def test_the_fields_of_the_real_index_are_bm25_too() -> None:
    index = library()
    texts = [words.of_text(document.summary) for document in index.documents]
    query = words.of_query("temporary files")
    scores = index.summary.scores(query)
    for place in (*np.argsort(-scores)[:3].tolist(), 0):
        assert scores[place] == pytest.approx(naive_bm25(texts, query, place))


def test_candidates_come_in_the_order_of_names_and_at_most_fifty() -> None:
    found = library().find("read file")
    assert len(found.places) == 50
    assert (np.diff(found.places) > 0).all()
    assert (
        len(library().find("qwxzv").places) == len(library().find("").places) == len(library().find(" !?").places) == 0
    )


@pytest.mark.parametrize(
    ("query", "name"), [("sqrt", "math.sqrt"), ("json", "json"), ("tempdir", "tempfile.gettempdir")]
)
def test_what_people_look_for_is_among_the_candidates(query: str, name: str) -> None:
    index = library()
    assert name in [index.documents[place].name for place in index.find(query).places]


def test_an_unfinished_word_finds_names_that_go_on(small: Index) -> None:
    assert list(rows_of(small, "dictr")) == ["csv.DictReader"]


# Features


def test_features_of_five_documents(small: Index) -> None:
    rows = rows_of(small, "read rows")
    exact, method, hidden = rows["read_rows"], rows["gzip.GzipFile.read"], rows["csv._hidden"]
    assert exact["exact name"] == exact["name begins so"] == exact["all words in name"] == 1
    assert exact["is a function"] == 1
    assert exact["deep inside"] == exact["often imported"] == 0
    assert method["exact name"] == method["all words in name"] == 0
    assert method["share of words found"] == 0.5
    assert method["long text"] == method["often imported"] == 1
    assert [method[f"is a {kind}"] for kind in ("module", "class", "function")] == [0, 0, 0]
    assert method["deep inside"] == 0.5
    assert hidden["private"] == 1
    assert exact["private"] == 0
    assert rows["csv.DictReader"]["words in summary"] > rows["csv"]["words in summary"] > 0
    assert rows["csv"]["words in name"] == 0 < rows["csv"]["words in text"]


@pytest.mark.parametrize("query", ["read csv", "Path", "a", "is it", "csv.DictReader", "x" * 200, "os path join file"])
def test_features_are_between_0_and_1(query: str) -> None:
    index = library()
    rows = features(index, index.find(query))
    assert rows.shape[1] == len(NAMES) == len(TASTE)
    assert np.isfinite(rows).all()
    assert (rows >= 0).all()
    assert (rows <= 1).all()


# Searching is deciding, clicking is feedback


def test_a_search_is_a_decision_and_a_click_teaches(call: Caller) -> None:
    first = call.post("/demo/search/query", {"q": "read csv"})
    reply = first.json()
    assert first.status_code == 201
    assert reply["model"] == "demo-search"
    assert len(reply["results"]) == SHOWN
    names = [result["name"] for result in reply["results"]]
    wanted = names[6]
    click = call.post(f"/v1/decisions/{reply['decision']}/feedback", {"clicked": [wanted]})
    assert click.json() == {"status": "learnt", "model_version": 1}
    again = call.post("/demo/search/query", {"q": "read csv"}).json()
    figures = call.get("/demo/search/weights").json()
    now = sorted(reply["results"], key=lambda result: -np.dot(result["features"], figures["weights"]))
    assert [result["name"] for result in now].index(wanted) < 6
    assert figures["features"] == list(NAMES)
    assert any(figures["weights"])
    assert call.get("/v1/models/demo-search").json()["learner"] == find("rank", "clicks")[0].__name__
    assert (figures["learnt"], figures["decisions"]) == (1, 2)
    assert figures["points"] == [{"to": 1, "position": 7.0, "unchanged": 0.0}]
    scored = again["results"][0]
    assert scored["score"] == pytest.approx(np.dot(scored["features"], figures["weights"]))
    log = [json.loads(line) for line in call.get("/v1/models/demo-search/log").text.splitlines()]
    assert [line["type"] for line in log] == ["created", "decision", "feedback", "decision"]


@pytest.mark.parametrize(
    ("body", "status"), [({"q": "x" * 201}, 422), ({}, 422), ({"q": 1}, 422), ({"q": "a", "b": 1}, 422)]
)
def test_queries_that_are_refused(call: Caller, body: Any, status: int) -> None:
    assert call.post("/demo/search/query", body).status_code == status


def test_a_search_without_candidates_is_no_decision(call: Caller) -> None:
    for q in ("", "qwxzv", "\u0000 💥"):
        reply = call.post("/demo/search/query", {"q": q})
        assert reply.status_code == 200
        assert reply.json()["decision"] is None
    assert call.get("/v1/models").json()["models"] == []


def test_simulated_visitors_make_the_ranking_better(call: Caller) -> None:
    """Six models, measured over their runs by their logs, not by the figures of the page."""
    early, late, likeness = [], [], []
    for number in range(1, 7):
        name = "demo-search" if number == 1 else f"demo-search-{number}"
        for _ in range(4):
            reply = call.post("/demo/search/simulate", {"users": 10}).json()
            assert (reply["model"], reply["played"]) == (name, 10)
        places = clicked_places(call, name)
        assert reply["learnt"] == len(places) > 20
        assert max(places) <= SHOWN
        assert reply["points"][-1]["position"] == pytest.approx(statistics.mean(places[-_latest(len(places)) :]))
        early += places[:6]
        late += places[-15:]
        taste, learnt = np.array([TASTE[name] for name in reply["features"]]), np.array(reply["weights"])
        likeness.append(learnt @ taste / np.linalg.norm(learnt) / np.linalg.norm(taste))
        call.post("/demo/search/reset", {})
    assert statistics.mean(late) < statistics.mean(early) - 0.4
    assert statistics.mean(likeness) > 0.5


def clicked_places(call: Caller, name: str) -> list[int]:
    """Position of the first click in the shown list, for every feedback in the log."""
    log = [json.loads(line) for line in call.get(f"/v1/models/{name}/log").text.splitlines()]
    shown = {line["decision"]: line["reply"]["ranking"] for line in log if line["type"] == "decision"}
    assert len(shown) == 40
    clicks = [(line["decision"], line["feedback"]["clicked"]) for line in log if line["type"] == "feedback"]
    return [min(shown[id].index(one) + 1 for one in names) for id, names in clicks]


def _latest(n: int) -> int:
    """Number of clicks in the last point of the curve: nine full blocks and the open one."""
    return 9 * BLOCK + ((n - 1) % BLOCK + 1)


def test_visitors_have_an_opinion_and_repeat() -> None:
    who, again = visitor(5, library()), visitor(5, library())
    assert who.search == again.search
    assert (who.grades == again.grades).all()
    assert sorted(who.grades.tolist(), reverse=True)[:3] == [4, 3, 2]
    assert (who.grades > 0).sum() == min(sum(GRADED), len(who.grades))
    assert len({visitor(seed, library()).search.query for seed in range(10)}) > 5


def naive_ndcg(order: list[int], grades: list[float]) -> float:
    def gain(documents: list[int]) -> float:
        return sum((2 ** grades[doc] - 1) / math.log2(place + 1) for place, doc in enumerate(documents[:SHOWN], 1))

    return gain(order) / gain(sorted(range(len(grades)), key=lambda doc: -grades[doc]))


def test_ndcg_is_what_the_formula_says() -> None:
    rng = np.random.default_rng(1)
    for n in (5, 10, 30):
        query = Query(Ranking(rng.normal(size=(n, 2))), np.minimum(4.0, np.arange(n, 0.0, -1.0)))
        order = rng.permutation(n)
        assert ndcg(order, query) == pytest.approx(naive_ndcg(order.tolist(), query.grades.tolist()))


def test_users_who_only_look_at_the_top(call: Caller) -> None:
    """The default for clicks is ahead of a learner that shows its best list, over the runs that the page plays."""
    ends = []
    for run in range(6):
        reply = call.post("/demo/search/compare", {"run": run}).json()
        assert reply["users"] == list(range(0, 201, 20))
        assert [curve["feedback"] for curve in reply["curves"]] == ["clicks", "better"]
        assert [curve["learner"] for curve in reply["curves"]] == [
            find("rank", kind)[0].__name__ for kind in ("clicks", "better")
        ]
        assert all(0 <= value <= reply["ceiling"] + 0.05 for curve in reply["curves"] for value in curve["values"])
        assert reply["curves"][0]["values"][0] == reply["curves"][1]["values"][0]  # both know nothing
        ends.append([statistics.mean(curve["values"][-3:]) for curve in reply["curves"]])
    new, old = np.mean(ends, axis=0)
    assert new > old + 0.05
    assert call.post("/demo/search/compare", {"run": 5}).json() == reply
    assert call.get("/v1/models").json()["models"] == []  # played in the background
    assert call.post("/demo/search/compare", {"run": 10}).status_code == 422


def test_reset_begins_a_new_model_and_keeps_the_old_log(call: Caller) -> None:
    call.post("/demo/search/simulate", {"users": 3})
    assert call.post("/demo/search/reset", {}).json() == {"model": "demo-search-2"}
    assert call.get("/v1/models/demo-search").json()["archived_at"] is not None
    assert call.get("/v1/models/demo-search/log").text.count('"type":"decision"') == 3
    assert call.post("/demo/search/query", {"q": "json"}).json()["model"] == "demo-search-2"
    assert call.post("/demo/search/reset", {}).json() == {"model": "demo-search-3"}
    assert call.get("/demo/search/weights").json()["weights"] == [0.0] * len(NAMES)


def test_somebody_elses_model_of_that_name_is_left_alone(call: Caller) -> None:
    call.put("/v1/models/demo-search", {"loop": "rank", "learner": "PreferencePerceptron", "params": {"dim": 2}})
    assert call.post("/demo/search/query", {"q": "json"}).json()["model"] == "demo-search-2"
    assert call.get("/v1/models/demo-search").json()["decisions"] == 0


def test_the_demo_goes_when_a_token_comes(call: Caller, tmp_path: Path) -> None:
    """It asks nobody who he is; so it is there only as long as nobody needs to say."""
    paths = ["/demo/search", "/demo/search/files/search.js", "/demo/search/weights", "/demo/search/documents"]
    posts = {"query": {"q": "json"}, "simulate": {"users": 1}, "reset": {}}
    assert [call.get(path).status_code for path in paths] == [200] * 4
    assert {"title": "Search demo", "path": "/demo/search"} in call.get("/ui/guests.json").json()
    made = call.post("/demo/search/query", posts["query"]).json()["decision"]
    secret = Mint(tmp_path).create(["admin"], None, time.time())[1]
    mine = {"authorization": f"Bearer {secret}"}
    for headers in ({}, mine):
        assert [call.get(path, headers=headers).status_code for path in paths] == [404] * 4
        for name, body in posts.items():
            refused = call.post(f"/demo/search/{name}", body, headers=headers)
            assert refused.status_code == 404
            assert refused.json()["error"]["message"] == f"there is no endpoint /demo/search/{name}"
        assert call.get("/demo/search/query", headers=headers).status_code == 404, "as if it had never been there"
    assert call.get("/ui/guests.json").json() == []
    log = call.get("/v1/models/demo-search/log", headers=mine)
    assert made in log.text, "what it has learnt stays"


def test_a_service_that_has_a_token_never_has_the_demo(tmp_path: Path) -> None:
    Mint(tmp_path).create(["decide"], None, time.time())
    with Caller(tmp_path) as call:
        assert call.get("/demo/search").status_code == 404
        assert call.get("/ui/guests.json").json() == []


def test_the_curve_has_means_over_the_last_fifty_clicks() -> None:
    rng = np.random.default_rng(0)
    for n in (0, 1, 4, 5, 23, 150, 999):
        position, same = rng.integers(1, 9, n).astype(float), rng.integers(0, 2, n).astype(float)
        rows = np.array(
            [
                [len(part), len(part), same[part].sum(), 0, len(part), position[part].sum(), 0]
                for part in (np.arange(start, min(n, start + BLOCK)) for start in range(0, n, BLOCK))
            ]
        ).reshape(-1, 7)
        points = progress(rows)
        assert len(points) <= 61
        assert not n or (points[0]["to"], points[-1]["to"]) == (min(n, BLOCK), n)
        for point in points:
            begin = max(0, -(-point["to"] // BLOCK) - 50 // BLOCK) * BLOCK
            assert point["position"] == pytest.approx(position[begin : point["to"]].mean())
            assert point["unchanged"] == pytest.approx(same[begin : point["to"]].mean())
