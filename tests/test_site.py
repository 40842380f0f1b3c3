"""The site: settings that are documented, names of loops, pictures in both themes, tables that count themselves."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from types import ModuleType

import pytest

from smidgen.learners.card import Loop
from smidgen_papers.aims import aims_page, verdict
from smidgen_papers.pages import claims_page
from smidgen_papers.tables import cells, row, rows_under, tally
from smidgen_papers.themes import DARK, themed

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PICTURES = sorted(path for path in DOCS.rglob("*.svg") if path.parent.name == "images")
CHARTS = [path for path in PICTURES if "matplotlib" in path.read_text()]
PACKAGES = [ROOT / "src", ROOT / "papers" / "src"]
PROSE = [ROOT / "README.md", *sorted(DOCS.rglob("*.md")), *(path for each in PACKAGES for path in each.rglob("*.py"))]
VARIABLE = re.compile(r"\bSMIDGEN_[A-Z_]+\b")
SOURCES = [path for ending in ("py", "js") for each in PACKAGES for path in each.rglob(f"*.{ending}")]


def _extension(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, DOCS / "extensions" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


class TestEnvironment:
    def test_every_variable_of_the_source_has_a_row_and_every_row_a_source(self) -> None:
        given = set(
            re.findall(r"^\| `(SMIDGEN_[A-Z_]+)` \|", (DOCS / "reference" / "environment.md").read_text(), re.MULTILINE)
        )
        used = {found for path in SOURCES for found in VARIABLE.findall(path.read_text())}
        assert used - given == set(), "give each a row in docs/reference/environment.md"
        assert given - used == set(), "nothing reads these"


class TestLoops:
    def test_a_loop_has_one_name(self) -> None:
        assert {str(loop) for loop in Loop} == {"rank", "choose", "label", "filter", "tune", "draft"}
        others = "coactive|ranking|clicks?|bandit|reward|filtering|tuning|labelling|choice|choosing|drafts|edit|knobs?"
        strays = re.compile(rf"\b({others}) loop")
        found = {str(path): match[0] for path in PROSE for match in [strays.search(path.read_text())] if match}
        assert found == {}


class TestPictures:
    @pytest.mark.parametrize("path", CHARTS, ids=lambda path: path.stem)
    def test_every_chart_has_both_themes(self, path: Path) -> None:
        text = path.read_text()
        assert "#only-dark:target" in text, f"python -m smidgen_papers.themes {path}"
        assert themed(text) == text
        bare = set(re.findall(r"(?:fill|stroke): (#[0-9a-f]{6})", text))
        assert bare & DARK.keys() == set()
        assert bare == set(), "give each a colour for the dark in smidgen_papers/themes.py"
        ET.fromstring(text)

    def test_a_picture_stands_twice_where_there_are_two(self) -> None:
        both = _extension("figures").both
        page = both(
            '<p><img alt="a" src="../a.svg" loading="lazy"><img src="b.png"><img src="c.png"></p>', {"c-dark.png"}
        )
        assert re.findall(r'src="([^"]+)"', page) == [
            "../a.svg#only-light",
            "../a.svg#only-dark",
            "b.png",
            "c.png#only-light",
            "c-dark.png#only-dark",
        ]
        assert page.count('loading="lazy"') == 2
        assert both(page, {"c-dark.png"}) == page

    def test_the_icon_is_that_of_the_service(self) -> None:
        ours = ROOT / "src" / "smidgen" / "service" / "pages" / "icon.svg"
        assert (DOCS / "images" / "icon.svg").read_bytes() == ours.read_bytes()

    def test_the_colours_are_those_of_the_service(self) -> None:
        service = (ROOT / "src" / "smidgen" / "service" / "pages" / "style.css").read_text()
        site = (DOCS / "stylesheets" / "extra.css").read_text()
        for rule, there in ((r":root \{", "default"), (r':root\[data-theme="dark"\] \{', "slate")):
            theirs = re.search(rf"^{rule}(.*?)^\}}", service, re.DOTALL | re.MULTILINE)
            mine = re.search(rf'\[data-md-color-scheme="{there}"\] \{{(.*?)^\}}', site, re.DOTALL | re.MULTILINE)
            assert theirs is not None
            assert mine is not None
            colours = dict(re.findall(r"(--[a-z-]+): ([^;]+);", theirs[1]))
            assert dict(re.findall(r"(--[a-z-]+): ([^;]+);", mine[1])) == colours


class TestFirstPage:
    def test_its_picture_is_that_of_the_run(self) -> None:
        landing = _extension("landing")
        kept = (DOCS / "images" / "landing-loop.svg").read_text()
        played = [landing.run(seed) for seed in range(3)]
        again = [landing.run(seed) for seed in range(3)]
        assert played == again
        assert [int(n) for n in re.findall(r">Round (\d+)<", kept)] == list(landing.SHOWN)
        text = landing.loop(played[0][0])
        assert re.sub(r"[\d.+-]+", "", text.partition("<g ")[0]) == re.sub(r"[\d.+-]+", "", kept.partition("<g ")[0])
        assert "prefers-reduced-motion" in kept
        ET.fromstring(kept)
        ET.fromstring((DOCS / "images" / "landing-curve.svg").read_text())

    @pytest.mark.long
    def test_the_whole_picture_again(self) -> None:
        landing = _extension("landing")
        played = [landing.run(seed) for seed in range(landing.RUNS)]
        middle = sorted(played, key=lambda one: sum(one[1]))[landing.RUNS // 2]
        assert landing.loop(middle[0]) == (DOCS / "images" / "landing-loop.svg").read_text()
        assert landing.curve([best for _, best in played]) == (DOCS / "images" / "landing-curve.svg").read_text()


#: What strangers ask, the words that they search for, and the page that answers.
QUESTIONS = {
    "What replaces Azure AI Personalizer?": (
        ["azure personalizer", "personalizer"],
        "develop/migrate-from-azure-ai-personalizer",
    ),
    "What is the default reward?": (["default reward"], "operate/manage-models"),
    "Which learner should I use?": (["which learner"], "develop/choose-a-loop"),
    "How do I create a token for my app?": (["token", "create token", "token for an app"], "operate/security"),
    "How do I run it in Docker?": (["docker", "docker compose"], "operate/containers"),
    "How do I run it on Kubernetes?": (["kubernetes"], "operate/kubernetes"),
    "How do I delete a person's data?": (["delete user", "gdpr", "erasure"], "operate/delete-user-data"),
    "How do I use embeddings?": (["embeddings", "embedding vector"], "develop/embeddings"),
    "How many requests per second does it handle?": (
        ["requests per second", "throughput"],
        "evidence/service-performance",
    ),
    "Which alerts should I set up?": (["alerts", "metrics alerts"], "operate/monitor"),
    "Why does my model not learn?": (["model does not learn"], "trust/model-does-not-learn"),
    "How does it compare with other tools?": (["compare", "banditdb", "growthbook"], "compare-with-others"),
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, str]]:
    build = pytest.importorskip("mkdocs.commands.build", reason="the documentation's packages are not installed")
    from mkdocs.config import load_config

    folder = tmp_path_factory.mktemp("site")
    config = load_config(
        str(ROOT / "mkdocs.yml"),
        site_dir=str(folder),
        strict=False,
        plugins=["search"],
        hooks=[],
        nav=None,
        exclude_docs="extensions/\napi/\nnotebooks/\npapers/",
        validation={"links": {"not_found": "ignore", "anchors": "ignore"}, "nav": {"omitted_files": "ignore"}},
    )
    build.build(config)
    found: list[dict[str, str]] = json.loads((folder / "search" / "search_index.json").read_text())["docs"]
    return found


class TestSearch:
    """The site's own index, ranked as its search does in essence: words of titles count more than words of texts."""

    @staticmethod
    def pages(index: list[dict[str, str]], query: str) -> list[str]:
        """The pages in which all words occur, best first."""
        words = query.lower().split()
        scores: dict[str, float] = {}
        for entry in index:
            title, text = entry["title"].lower(), entry["text"].lower()
            if all(word in title or word in text for word in words):
                score = sum(10 * (word in title) + min(text.count(word), 20) / 20 for word in words)
                page = entry["location"].partition("#")[0].strip("/")
                scores[page] = max(scores.get(page, 0.0), score)
        return sorted(scores, key=lambda page: -scores[page])

    @pytest.mark.parametrize("question", QUESTIONS)
    def test_a_question_is_found(self, index: list[dict[str, str]], question: str) -> None:
        queries, page = QUESTIONS[question]
        for query in queries:
            assert page in self.pages(index, query)[:5], query

    @pytest.mark.parametrize("question", QUESTIONS)
    def test_a_question_is_one_click_away(self, question: str) -> None:
        first = (DOCS / "index.md").read_text()
        row = re.search(rf"^\| {re.escape(question)} \| (.+) \|$", first, re.MULTILINE)
        assert row is not None
        assert f"]({QUESTIONS[question][1]}.md" in row[1]


class TestTables:
    def test_rows_come_back(self) -> None:
        assert cells(row("a", "b | c", "")) == ["a", "b | c", ""]
        page = "\n".join(["| x | y |", "|---|--:|", row("1", "|"), "", "| x | z |", "|---|---|", row("no", "no")])
        assert rows_under(page, "x", "y") == [["1", "|"]]

    def test_counts_add_up(self) -> None:
        lines = tally("paper", [("yes", "good"), ("no", "bad")], [("a", "yes"), ("b", "no"), ("a", "no")])
        assert lines[-2:] == ["| a | 2 | 1 | 1 |", "| b | 1 | 0 | 1 |"]
        assert '<span class="good"><b>1</b> yes</span><span class="bad"><b>2</b> no</span>' in lines[0]

    def test_the_page_of_claims_counts_its_own_rows(self) -> None:
        page = (DOCS / "papers" / "claims.md").read_text()
        found = rows_under(page, "figure", "the paper says", "verdict", "measured")
        assert claims_page([(link, says, verdict, measured) for link, says, verdict, measured in found]) == page

    def test_aims_are_collected_from_the_pages(self, tmp_path: Path) -> None:
        (tmp_path / "a.md").write_text(
            "# A page\n\n| aim | measured | reached |\n|---|---|---|\n| quick | 3 | **no** |\n"
        )
        page = aims_page(tmp_path)
        assert "| [A page](a.md) | quick | ✗ missed | 3 | **no** |" in page
        assert "| [A page](a.md) | 1 | 0 | 0 | 1 |" in page
        assert verdict("yes; if") == "✓ reached"


class TestOffline:
    def test_what_would_be_fetched_is_found(self) -> None:
        fetched = _extension("offline").fetched
        for markup in (
            '<script async src="https://cdn.example/a.js">',
            '<link rel="stylesheet" href="//fonts.example/a.css">',
            '<script type="module">await import("https://cdn.example/a.mjs")</script>',
            "<style>@import url(https://fonts.example/a.css);</style>",
            "<style>a { background: url('https://pictures.example/a.png') }</style>",
        ):
            assert fetched(markup), markup
        assert fetched('<a href="https://example.org">x</a><link rel="canonical" href="https://example.org/">') == []
