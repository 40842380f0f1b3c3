"""The lists of learners that people and type checkers read, from the register; the code itself needs none of them.

``python docs/extensions/listings.py`` (``make listings``) writes those that are kept: the imports that type checkers
follow, ``__all__``, the table of learners; the front of the bounds; the table of all aims beyond the papers; the tables
of rights and of limits; and the OpenAPI document that the TypeScript client's types are made from. As a hook
of MkDocs this file puts the learners into the API page when the page is built.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

import smidgen
from smidgen import knobs
from smidgen.features import limits as record
from smidgen.learners import Learner, cards, learners
from smidgen.learners.card import in_order, learner_markdown
from smidgen.service import errors, schemas
from smidgen.service.engine import blueprint, budget, learner_cache, reports, writer
from smidgen.service.http import auth, middleware, protocol, routes_insight
from smidgen.service.http.openapi import document
from smidgen.service.http.resources import Options
from smidgen.service.http.rights import MATRIX, ModelAccess, Rule
from smidgen.service.loops import features
from smidgen.service.schemas import Auto, BatchBody, ByName, TokenBody
from smidgen.service.storage.records import SCOPES, TOKEN_NAME
from smidgen.structures import drafts
from smidgen.structures.slots import MOST_SLOTS
from smidgen.theory import choose, filter, label, preferences, tune
from smidgen_papers.aims import aims_page

ROOT = Path(__file__).parents[2]
FRONT = ROOT / "src" / "smidgen" / "__init__.py"
FOLDERS = tuple(sorted(path.parent for path in (FRONT.parent / "learners").glob("*/__init__.py")))
BOUNDS = FRONT.parent / "theory" / "bounds.py"
TABLE = ROOT / "docs" / "reference" / "learners.md"
BEYOND = ROOT / "docs" / "beyond"
OPENAPI = ROOT / "clients" / "typescript" / "openapi.json"
SECURITY = ROOT / "docs" / "operate" / "security.md"
LIMITS = ROOT / "docs" / "reference" / "limits.md"
#: The files that bounds stand in.
STATING = (choose, filter, label, preferences, tune)
#: In the API page: the learners of that folder, each with its documentation.
HERE = re.compile(r"^<!-- learners: (\w+) -->$", re.MULTILINE)
_CHECKED = re.compile(r"^if TYPE_CHECKING:  # written by `make listings`\n(?: +.*\n)+", re.MULTILINE)
_ALL = re.compile(r"^__all__(?:: list\[str\])? = \[.*?\]$", re.MULTILINE | re.DOTALL)
_RIGHTS = re.compile(r"(?<=<!-- rights:begin -->\n).*?(?=<!-- rights:end -->)", re.DOTALL)
_LIMITS = re.compile(r"(?<=<!-- limits:begin -->\n).*?(?=<!-- limits:end -->)", re.DOTALL)
_TABLE = re.compile(r"(?<=<!-- learners:begin -->\n).*?(?=<!-- learners:end -->)", re.DOTALL)


def ours(folder: str | None = None) -> dict[str, type[Learner]]:
    """Our own learners (of one folder) in the order of the table."""
    home = "smidgen." if folder is None else f"smidgen.learners.{folder}."
    found = {name: card for name, card in cards.items() if learners[name].__module__.startswith(home)}
    return {name: learners[name] for name in in_order(found)}


def written() -> Iterator[tuple[Path, str]]:
    """Every file that holds such a list, and what it should say."""
    named = {*smidgen._HOME, *smidgen._ROOMS}
    yield FRONT, _front(FRONT.read_text(), ours(), named)
    for folder in FOLDERS:
        text = (folder / "__init__.py").read_text()
        yield folder / "__init__.py", _front(text, ours(folder.name), _imported(text))
    yield BOUNDS, _bounds(BOUNDS.read_text())
    yield TABLE, _TABLE.sub(lambda _: f"{learner_markdown({n: cards[n] for n in ours()})}\n", TABLE.read_text())
    yield BEYOND / "index.md", aims_page(BEYOND)
    yield SECURITY, _RIGHTS.sub(lambda _: rights_markdown(), SECURITY.read_text())
    yield LIMITS, _LIMITS.sub(lambda _: limits_markdown(), LIMITS.read_text())
    yield OPENAPI, json.dumps(document(), indent=1, ensure_ascii=False) + "\n"


def rights_markdown() -> str:
    """The matrix of rights as a table: calls, scopes, and what a token for one model gets."""
    limits = {
        ModelAccess.NONE: "like any other token",
        ModelAccess.PATH: "its own model only",
        ModelAccess.OWN: "data of its own model only",
        ModelAccess.PERSONALIZER: "uses its own model",
        ModelAccess.SERVICE: "403",
    }
    lines = ["| call | decide | feedback | read | admin | a token for one model |", "|---|:-:|:-:|:-:|:-:|---|"]
    for key, rule in MATRIX.items():
        scopes = SCOPES if rule.is_public else (*rule.scopes, "admin")
        cells = ["✓" if scope in scopes else "" for scope in SCOPES]
        limit = "public" if rule.is_public else limits[rule.models]
        if rule.models is ModelAccess.PATH and rule.body is not Rule().body:
            limit += "; 403 if the body names another"
        elif rule.models is ModelAccess.PATH and rule.partners is not Rule().partners:
            limit += "; 403 if it has a shadow, challenger or champion"
        call = re.sub(r"{(\w+):path}", r"{\1}", key)
        lines.append(f"| `{call}` | {' | '.join(cells)} | {limit} |")
    return "\n".join(lines) + "\n"


def limits() -> Iterator[tuple[str, str, str, str]]:
    """Every limit of the service: what, how much, the option that changes it, and what happens beyond it."""
    options = Options(ROOT)
    refused, busy = "422", "503 with `Retry-After`"
    yield "**A request**", "", "", ""
    yield "body", _bytes(options.max_body), "`--max-body`", "413"
    yield "time for a body to arrive", _seconds(middleware.PATIENCE_S), "", "408"
    yield "nesting depth of objects and lists", f"{errors.DEEP:,}", "", "400"
    yield "objects and lists in one body", f"{middleware.HOLDERS:,}", "", refused
    yield "object keys in one body", f"{middleware.MOST_KEYS:,}", "", refused
    yield "absolute value of a number", f"±{features.LARGEST:g}", "", refused
    yield (
        "decisions, examples or feedback in one batch; UBI events or DSJSON lines in one call",
        f"{schemas.ROWS:,}",
        "",
        refused,
    )
    yield "candidates of a decision", f"{schemas.CANDIDATES:,}", "", refused
    yield "drafts of a decision", f"{drafts.MOST:,}", "", refused
    yield "slots of a decision", f"{MOST_SLOTS}", "", "422"
    yield "reports on a decision", f"{reports.MOST:,}", "", "409"
    yield "parts of a reward; currencies of a cost", f"{schemas.PARTS:,}", "", refused
    yield "absolute value of a reported reward", f"±{schemas.LARGEST_REWARD:,.0f}", "", refused
    yield "numbers in the features of one call", f"{features.NUMBERS:,}", "", refused
    yield "new names (fields, categories, crosses) in one call", f"{budget.NAMES:,}", "", refused
    yield "multiplications for one call", f"{budget.WORK:,}", "", refused
    yield "**Names and ids**", "", "", ""
    yield "name of a model: characters (letters, digits, `.`, `-`, `_`)", _length(schemas.Name), "", "400"
    yield "id of a request, candidate, label, feature or key: characters", _length(schemas.Id), "", refused
    yield "id of a batch: characters", _length(_field(BatchBody, "id")), "", refused
    yield "id that is an integer", "±2⁵³", "", refused
    yield "**A model**", "", "", ""
    yield (
        "memory of one learner, and of all learners of an import",
        _bytes(blueprint.LARGEST),
        "`--max-learner`",
        refused,
    )
    yield "named features; labels", f"{schemas.LABELS:,}", "", refused
    yield "classes (`n_classes`)", f"{blueprint.CLASSES:,}", "", refused
    yield "columns of hashed features (`hashed`)", f"{_most(_field(ByName, 'hashed')):,}", "", refused
    yield "columns of features by record (`auto.dim`)", f"{_most(_field(Auto, 'dim')):,}", "", refused
    yield "text fields, and crosses, in the settings", _length(_field(Auto, "text")), "", refused
    yield "knobs", f"{knobs.MOST:,}", "", refused
    yield (
        "… that are numbers, where requests have a context; columns of a context",
        f"{knobs.MOST_WITH_CONTEXT}; {knobs.MOST_COLUMNS}",
        "",
        refused,
    )
    yield "shards of a keyed model", f"{schemas.SHARDS:,}", "", refused
    yield "nesting depth of `params`", f"{blueprint.DEEPEST:,}", "", refused
    yield "`window_s`", _seconds(_most(schemas.Seconds)), "", refused
    yield "retention", f"at least {_seconds(msgspec.inspect.type_info(schemas.Age).ge)}", "`--retention`", refused
    yield "**A record**", "", "", ""
    yield "fields, including those of nested objects", f"{record.FIELDS:,}", "", refused
    yield "nesting depth", f"{record.DEPTH:,}", "", refused
    yield "name of a field: characters", f"{record.KEY:,}", "", refused
    yield "category: characters", f"{record.CATEGORY:,}", "", refused
    yield "text: characters", f"{record.TEXT:,}", "", refused
    yield "entries of a list", f"{record.LIST:,}", "", refused
    yield "fewest numbers of a vector", f"{record.SHORTEST_VECTOR:,}", "", refused
    yield "numbers of a vector", f"{record.LONGEST_VECTOR:,}", "", refused
    yield "columns in which vectors are crossed with candidates", f"{record.VECTOR_CROSSES:,}", "", "the rest have none"
    yield (
        "categories of a candidate that vectors are crossed with",
        f"{record.VECTOR_GROUPS:,}",
        "",
        "the rest have none",
    )
    yield "name of a feature: characters", f"{record.NAME:,}", "", "truncated, with a digest"
    yield "crosses of one candidate", f"{record.CROSSES:,}", "", "the rest are ignored"
    yield (
        "numbers with a `(missing)` feature, per kind of record",
        f"{record.INDICATORS:,}",
        "",
        "the rest have none",
    )
    yield "**Connections**", "", "", ""
    yield "connections", f"{options.max_connections:,}", "`--max-connections`", "503 and closed"
    yield "extra connections for `/healthz` and `/readyz`", f"{protocol.PROBES:,}", "", "503 and closed"
    yield "time for a probe on an extra connection to send its request", _seconds(protocol.PROBE_S), "", "closed"
    yield "request head (request line and headers)", _bytes(protocol.HEAD), "", "431"
    yield "headers of a request", f"{protocol.HEADERS:,}", "", "431"
    yield "time for a request head to arrive", _seconds(protocol.HEAD_S), "", "408"
    yield "idle time of a connection", _seconds(protocol.IDLE_S), "", "closed"
    yield "pipelined requests per connection", f"{protocol.PIPELINED:,}", "", "closed"
    yield "requests waiting for the writer", f"{writer.LIMIT:,}", "", busy
    yield "request bodies in memory (or four of the largest, if that is more)", _bytes(middleware.LIMIT), "", busy
    yield "**Memory**", "", "", ""
    yield (
        "keyed learners in memory",
        f"{options.keyed_in_memory:,}",
        "`--keyed-in-memory`",
        "read from the store when needed",
    )
    yield "memory of keyed learners", _bytes(learner_cache.MEMORY), "", "read from the store when needed"
    yield (
        "events of a model between two snapshots",
        f"{options.snapshot_every:,}",
        "`--snapshot-every`",
        "a snapshot is written",
    )
    yield "**Answers**", "", "", ""
    yield (
        "weights (`limit`; default: " + f"{routes_insight.WEIGHTS:,})",
        f"{routes_insight.MOST_WEIGHTS:,}",
        "",
        "only the largest are returned",
    )
    yield "**Tokens**", "", "", ""
    yield "name: characters", f"{TOKEN_NAME:,}", "", refused
    yield "`expires`: characters", _length(_field(TokenBody, "expires")), "", refused
    yield "last use is stored at most every", _seconds(auth.USED_S), "", "accurate to that time"


def limits_markdown() -> str:
    """The limits as a table."""
    lines = ["| what | limit | option | if exceeded |", "|---|--:|---|---|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in limits())]) + "\n"


def _bytes(count: int) -> str:
    size, unit = (count >> 20, "MiB") if count >= 1 << 20 else (count >> 10, "KiB")
    return f"{size:,} {unit}"


def _seconds(count: float) -> str:
    return f"{count:,.0f} s"


def _field(body: type[msgspec.Struct], name: str) -> Any:
    """The type of a field of a body."""
    return next(field.type for field in msgspec.structs.fields(body) if field.name == name)


def _limited(type: Any, name: str) -> int:
    """A limit of a type, or of the one of its alternatives that has it."""
    found = msgspec.inspect.type_info(type)
    kinds = found.types if isinstance(found, msgspec.inspect.UnionType) else (found,)
    return next(int(limit) for kind in kinds if (limit := getattr(kind, name, None)) is not None)


def _length(type: Any) -> str:
    return f"{_limited(type, 'max_length'):,}"


def _most(type: Any) -> int:
    """The largest number of a type."""
    try:
        return _limited(type, "le")
    except StopIteration:
        return _limited(type, "lt") - 1


def _imported(text: str) -> set[str]:
    """The names of ours that the front of a folder imports by hand: base classes, say."""
    hands = (node for node in ast.parse(text).body if isinstance(node, ast.ImportFrom))
    named = (alias for node in hands if str(node.module).startswith("smidgen.") for alias in node.names)
    return {alias.asname or alias.name for alias in named} - {"discover_package"}


def _bounds(text: str) -> str:
    """The front of the bounds: every public function of the files that state theorems."""
    lines, everything = [], []
    for home in sorted(STATING, key=lambda module: module.__name__):
        own = [name for name, it in inspect.getmembers(home, inspect.isfunction) if it.__module__ == home.__name__]
        names = _sorted(name for name in own if not name.startswith("_"))
        line = f"from {home.__name__} import {', '.join(names)}\n"
        if len(line) > 121:
            line = f"from {home.__name__} import (\n" + "".join(f"    {name},\n" for name in names) + ")\n"
        lines, everything = [*lines, line], [*everything, *names]
    listed = "__all__ = [\n" + "".join(f"    {_quoted(name)},\n" for name in _sorted(everything)) + "]\n"
    return text[: text.index("\nfrom ")] + "\n" + "".join(lines) + "\n" + listed


def _front(text: str, found: dict[str, type[Learner]], named: Iterable[str]) -> str:
    """The front of a package with these learners."""
    homes: dict[str, list[str]] = {}
    for name, cls in found.items():
        homes.setdefault(cls.__module__, []).append(name)
    lines = [f"    from {home} import {', '.join(_sorted(names))}\n" for home, names in sorted(homes.items())]
    text = _CHECKED.sub("if TYPE_CHECKING:  # written by `make listings`\n" + "".join(lines), text)
    everything = _sorted({*named, *found})
    short = f"__all__ = [{', '.join(map(_quoted, everything))}]"
    long = "__all__ = [\n" + "".join(f"    {_quoted(name)},\n" for name in everything) + "]"
    return _ALL.sub(short if len(short) <= 120 else long, text)


def _quoted(name: str) -> str:
    return f'"{name}"'


def _sorted(names: Iterable[str]) -> list[str]:
    """Constants, classes, all else: the order that ruff keeps."""
    return sorted(names, key=lambda name: (not name.isupper(), not name[:1].isupper(), name))


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the learners in their places."""

    def listed(found: re.Match[str]) -> str:
        return "\n\n".join(f"::: smidgen.{name}\n    options:\n      heading_level: 3" for name in ours(found[1]))

    return HERE.sub(listed, markdown)


if __name__ == "__main__":
    for path, text in written():
        path.write_text(text)
