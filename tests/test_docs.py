"""The documentation says what the code says. That its code blocks run is tested by the conftest.py at the root."""

from __future__ import annotations

import importlib.util
import inspect
import pkgutil
import re
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import smidgen
from smidgen import errors
from smidgen.features import limits
from smidgen.learners import cards, learners
from smidgen.learners.card import in_order, learner_markdown
from smidgen.users.clicks import MODELS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text()
PAGES = sorted(DOCS.rglob("*.md"))


def _listings() -> ModuleType:
    spec = importlib.util.spec_from_file_location("listings", DOCS / "extensions" / "listings.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


listings = _listings()
API = "\n".join(listings.on_page_markdown(page.read_text()) for page in sorted((DOCS / "api").glob("*.md")))
DIRECTIVES = frozenset(re.findall(r"^::: (\S+)", API, re.MULTILINE))
DATE = re.compile(r"\b2\d{3}-\d{2}-\d{2}\b")
PARTS = ("Update", "Symbols", "Assumes", "Bound", "Cost", "Differs")
OURS = {name: cls for name, cls in learners.items() if cls.__module__.startswith("smidgen.")}


def between(text: str, name: str) -> str:
    found = re.search(rf"<!-- {name}:begin -->\n(.*?)<!-- {name}:end -->", text, re.DOTALL)
    assert found is not None, f"the markers of {name} are missing"
    return found[1].strip()


def without_code(text: str) -> str:
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE))


def section(page: str, heading: str) -> str:
    found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE)
    assert found is not None, f"there is no heading {heading}"
    return found[1]


class TestReadme:
    def test_is_short(self) -> None:
        assert len(README.split()) <= 1500

    def test_names_what_people_search_for(self) -> None:
        for words in ("Azure AI Personalizer", "make serve", "make test", 'pip install ".[service]"', "C++ compiler"):
            assert words in README, words


def test_no_page_is_where_pytest_or_git_do_not_look() -> None:
    folders = {part for page in PAGES for part in page.relative_to(DOCS).parts[:-1]}
    assert not folders & {"build", "dist", "site", "node_modules", "venv"}


class TestInstall:
    def test_names_every_extra(self) -> None:
        page = (DOCS / "develop" / "install.md").read_text()
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
        for extra in extras.keys() - {"dev", "docs"}:
            assert f"`smidgen[{extra}]`" in page


class TestLearners:
    def test_the_table_of_learners_is_that_of_the_code(self) -> None:
        ours = in_order({name: cards[name] for name in OURS})
        page = (DOCS / "reference" / "learners.md").read_text()
        assert between(page, "learners") == learner_markdown(ours), "run `make listings`"


@pytest.mark.parametrize(
    ("path", "text"), list(listings.written()), ids=lambda it: it.parent.name if isinstance(it, Path) else ""
)
def test_every_list_of_learners_is_that_of_the_register(path: Path, text: str) -> None:
    assert path.read_text() == text, "run `make listings`"


def test_every_learner_is_on_the_api_page() -> None:
    assert {f"smidgen.{name}" for name in OURS} <= DIRECTIVES


def test_every_version_is_the_same() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == smidgen.__version__
    papers = tomllib.loads((ROOT / "papers" / "pyproject.toml").read_text())["project"]
    assert papers["version"] == smidgen.__version__
    assert f"smidgen[cli,plots,scipy,svm]=={smidgen.__version__}" in papers["dependencies"]
    assert f"\nversion: {smidgen.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"## [{smidgen.__version__}]" in (ROOT / "CHANGELOG.md").read_text()


def test_every_make_target_is_documented() -> None:
    targets = re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE)
    guide = (ROOT / "CONTRIBUTING.md").read_text()
    assert "test" in targets
    for target in targets:
        assert target == "help" or f"`make {target}`" in guide, target


class TestCommandLine:
    def test_every_command_and_option_is_documented(self) -> None:
        typer = pytest.importorskip("typer")
        from smidgen.cli import app

        page = (DOCS / "reference" / "cli.md").read_text()
        root = typer.main.get_command(app)
        commands: dict[str, Any] = {"smidgen": root} | {f"smidgen {name}": each for name, each in root.commands.items()}
        for name, command in commands.items():
            text = section(page, f"`{name}`")
            for option in (option for parameter in command.params for option in parameter.opts):
                assert f"`{option}".lower() in text.lower(), f"{name} {option}"


class TestHttp:
    def test_every_call_is_on_the_page(self) -> None:
        pytest.importorskip("starlette")
        from smidgen.service.http.rights import MATRIX

        page = (DOCS / "reference" / "http.md").read_text()
        for call in MATRIX:
            path = re.sub(r"{(\w+):path}", r"{\1}", call)
            if path.split(" ")[1].startswith(("/v1/", "/personalizer/", "/ofrep/")):
                assert f"`{path}`" in page, path

    def test_every_error_code_is_on_the_page_with_its_status(self) -> None:
        page = (DOCS / "reference" / "http.md").read_text()
        for line in (ROOT / "tests" / "surface" / "error_codes.txt").read_text().splitlines():
            code, *status = line.split()
            row = re.search(rf"^\| `{code}` \| (\d+) \|", page, re.MULTILINE)
            assert row is not None, code
            assert not status or row[1] == status[0], code


class TestApi:
    @pytest.mark.parametrize("name", smidgen.__all__)
    def test_every_public_name_is_documented(self, name: str) -> None:
        thing = getattr(smidgen, name)
        if isinstance(thing, ModuleType):
            assert thing.__name__ in DIRECTIVES or f"`smidgen.{name}`" in API
            for member in getattr(thing, "__all__", ()):
                whole_page = getattr(getattr(thing, member), "__module__", None) in DIRECTIVES
                assert whole_page or re.search(rf"\b{member}\b", API), f"{thing.__name__}.{member}"
        else:
            assert {f"smidgen.{name}", f"smidgen.{thing.__name__}", thing.__module__} & DIRECTIVES

    @pytest.mark.parametrize("path", sorted(DIRECTIVES))
    def test_every_documented_name_exists(self, path: str) -> None:
        pkgutil.resolve_name(path)

    @pytest.mark.parametrize("name", OURS)
    def test_every_learner_has_all_parts_of_its_docstring(self, name: str) -> None:
        text = inspect.getdoc(OURS[name]) or ""
        for part in PARTS:
            assert f"**{part}**" in text, part
        for heading in ("Parameters", "Notes", "Examples", "References"):
            assert re.search(rf"^{heading}\n-+$", text, re.MULTILINE), heading
        assert ">>> " in text


class TestGuides:
    def test_every_field_of_a_decision_is_in_the_table(self) -> None:
        table = (DOCS / "develop" / "decisions-and-feedback.md").read_text()
        for field in ("id", *smidgen.Decision.__struct_fields__):
            assert f"| `{field}` |" in table, field

    def test_every_error_is_in_the_table_with_its_status(self) -> None:
        table = (DOCS / "develop" / "decisions-and-feedback.md").read_text()
        for name, error in inspect.getmembers(errors, inspect.isclass):
            if issubclass(error, errors.SmidgenError):
                row = re.search(rf"^\| `{name}` \|[^|]*\| (\d+) \|", table, re.MULTILINE)
                assert row is not None, name
                assert int(row[1]) == error.status, name

    def test_the_click_models_are_those_of_the_code(self) -> None:
        page = (DOCS / "evidence" / "simulated-users.md").read_text()
        for models in MODELS.values():
            for name, (click, stop) in models.items():
                numbers = (", ".join(f"{p:g}" for p in row) for row in (click, stop))
                assert f"| {name} | {' | '.join(numbers)} |" in page

    def test_every_limit_of_records_is_in_the_table_of_limits(self) -> None:
        table = (DOCS / "reference" / "limits.md").read_text().partition("**A record**")[2]
        found = re.findall(r"^\| [^|]+ \| ([\d,]+) \|", table.partition("**Connections**")[0], re.MULTILINE)
        elsewhere = ("TABLES", "CANDIDATES", "LARGEST")  # a table of ours; with the limits of a request
        known = [value for name, value in vars(limits).items() if name.isupper() and name not in elsewhere]
        assert found == [f"{value:,}" for value in known]

    def test_every_bound_is_named(self) -> None:
        page = (DOCS / "evidence" / "theory.md").read_text()
        for name, function in inspect.getmembers(smidgen.bounds, inspect.isfunction):
            if function.__module__ == smidgen.bounds.__name__ and not name.startswith("_"):
                assert name in page, name


class TestDecisions:
    @pytest.mark.parametrize("page", sorted((DOCS / "decisions").glob("0*.md")), ids=lambda page: page.stem)
    def test_is_linked_and_has_its_three_parts(self, page: Path) -> None:
        assert f"]({page.name})" in (DOCS / "decisions" / "index.md").read_text()
        headings = re.findall(r"^## (.+)$", page.read_text(), re.MULTILINE)
        assert headings == ["Context", "Decision", "Consequences"]


def test_pages_of_figures_say_when_they_were_measured() -> None:
    folders = [*(ROOT / "docs/beyond").glob("*.md"), *(ROOT / "docs/papers").glob("*.md")]
    others = ["speed.md", "evidence/service-performance.md", "evidence/fault-tolerance.md", "operate/scale.md"]
    pages = [page for page in folders if page.name not in ("index.md", "claims.md")]  # made of the others
    undated = [
        page.name for page in (*pages, *(ROOT / "docs" / each for each in others)) if not DATE.search(page.read_text())
    ]
    assert len(pages) > 15
    assert undated == []


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES], ids=lambda page: page.name)
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text())):
        if not target.startswith(("http:", "https:", "#")):
            assert (page.parent / target.partition("#")[0]).exists(), target
