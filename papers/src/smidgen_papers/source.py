"""The source of a module, taken apart: which statement defines which name, and what each statement mentions."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_Import = ast.Import | ast.ImportFrom
_COMMENTS = re.compile(rb"//[^\n]*|/\*.*?\*/", re.DOTALL)
_INCLUDE = re.compile(rb'^#include "([^"]+)"', re.MULTILINE)


class Origin(NamedTuple):
    """Where an imported name comes from: a module, or a name in it."""

    module: str
    name: str | None = None


class Mention(NamedTuple):
    """A name of the module, or what is imported on the spot, and what is taken from it by dots."""

    start: str | Origin
    rest: tuple[str, ...] = ()


@dataclass(frozen=True)
class Statement:
    """A top-level statement.

    Attributes
    ----------
    print
        A hash of its code: without comments, docstrings and the types of arguments, which change no result.
    mentions
        What it uses that is not its own.
    attributes
        What it may take by dots from values that only the run knows: every such name, and every word in quotes.
    methods
        Of a class: its functions, which are statements of their own, and no part of the class.
    """

    print: str
    mentions: frozenset[Mention]
    attributes: frozenset[str]
    methods: Mapping[str, Statement] = field(default_factory=dict)


@dataclass(frozen=True)
class Source:
    """A module.

    Attributes
    ----------
    definitions
        The statements that define each name.
    origins
        Where imported names come from.
    effects
        Statements that do more than to define: they are run by the import.
    typed
        Imports for type checkers. A package that imports its names on demand says here where they come from.
    """

    definitions: dict[str, list[Statement]] = field(default_factory=dict)
    origins: dict[str, Origin] = field(default_factory=dict)
    effects: list[Statement] = field(default_factory=list)
    typed: dict[str, Origin] = field(default_factory=dict)


def read(path: Path, describing: frozenset[str] = frozenset()) -> Source:
    """Take a module apart. Decorators in ``describing`` only say something of a class: they are left out."""
    found = Source()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            found.typed.update(_imported(*node.body))
        elif isinstance(node, _Import):
            found.origins.update(_imported(node))
        elif not _is_text(node):
            names, alone = _defined(node)
            _strip(node, describing)
            statement = _statement(node)
            for name in names:
                found.definitions.setdefault(name, []).append(statement)
            if not alone:
                found.origins.update(_imported(node))
                found.effects.append(statement)
    return found


def read_compiled(stub: Path) -> Source:
    """The entry points of compiled code, as its stub names them: each stands for all code of its family.

    The code of a family is the C++ file of its name with all that it includes; where only the extension modules are
    there, as in a wheel, these.
    """
    sources = _included(stub.with_suffix(".cpp")) or sorted(stub.parent.glob("*.so"))
    texts = [path.read_bytes() if path.suffix == ".so" else _bare(path.read_bytes()) for path in sources]
    statement = Statement(hashlib.sha256(b"\n".join(texts)).hexdigest()[:32], frozenset(), frozenset())
    names = (node.name for node in ast.parse(stub.read_text(encoding="utf-8")).body if isinstance(node, _Function))
    return Source(definitions={name: [statement] for name in names})


def _bare(text: bytes) -> bytes:
    """C++ without comments, and with single spaces."""
    return b" ".join(_COMMENTS.sub(b" ", text).split())


def _included(path: Path) -> list[Path]:
    """A C++ file and what it includes from its own folder, by name; nothing if there is no such file."""
    found: set[Path] = set()
    waiting = [path]
    while waiting:
        one = waiting.pop()
        if one not in found and one.is_file():
            found.add(one)
            waiting += [path.parent / name.decode() for name in _INCLUDE.findall(one.read_bytes())]
    return sorted(found)


def _defined(node: ast.stmt) -> tuple[list[str], bool]:
    """The names that a statement defines, and whether it does nothing else."""
    if isinstance(node, _Function | ast.ClassDef):
        return [node.name], True
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return list(_stored(*targets)), all(isinstance(each, ast.Name | ast.Tuple) for each in targets)
    inner = [each.name for each in ast.walk(node) if isinstance(each, _Function | ast.ClassDef)]
    return [*_stored(node), *inner], False


def _statement(node: ast.stmt) -> Statement:
    methods: dict[str, Statement] = {}
    if isinstance(node, ast.ClassDef):
        for inner in node.body:
            if isinstance(inner, _Function):
                name = inner.name if inner.name not in methods else f"{inner.name}."  # a setter next to its property
                methods[name] = _statement(inner)
        node.body = [each for each in node.body if not isinstance(each, _Function)] or [ast.Pass()]
    walk = _Walk()
    walk.through(node, frozenset(), {})
    print_ = hashlib.sha256(ast.unparse(node).encode()).hexdigest()[:32]
    return Statement(print_, frozenset(walk.mentions), frozenset(walk.attributes), methods)


def _strip(node: ast.stmt, describing: frozenset[str]) -> None:
    """Take away what changes no result."""
    fields = {id(each) for inner in ast.walk(node) if isinstance(inner, ast.ClassDef) for each in inner.body}
    for inner in ast.walk(node):
        if isinstance(inner, _Function):
            inner.returns = None
        elif isinstance(inner, ast.arg):
            inner.annotation = None
        elif isinstance(inner, ast.AnnAssign) and id(inner) not in fields:
            inner.annotation = ast.Constant(None)  # of a variable; the fields of a class are more than words
        if isinstance(inner, _Function | ast.ClassDef):
            inner.body = [each for each in inner.body if not _is_text(each)] or [ast.Pass()]
            inner.decorator_list = [each for each in inner.decorator_list if _called(each) not in describing]


def _called(decorator: ast.expr) -> str:
    return ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)


class _Walk:
    """Collects the names that a piece of code takes from outside."""

    def __init__(self) -> None:
        self.mentions: set[Mention] = set()
        self.attributes: set[str] = set()

    def through(self, node: ast.AST, own: frozenset[str], imported: Mapping[str, Origin]) -> None:
        """Go through a node; ``own`` are the names of the functions around it, ``imported`` what they import."""
        if isinstance(node, ast.Attribute | ast.Name):
            self._name(node, own, imported)
        elif isinstance(node, _Function | ast.Lambda):
            self._function(node, own, imported)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
            self.attributes.add(node.value)
        elif not isinstance(node, _Import):
            if isinstance(node, _Comprehension):
                own |= {*_stored(*(each.target for each in node.generators))}
            for child in ast.iter_child_nodes(node):
                self.through(child, own, imported)

    def _name(self, node: ast.Attribute | ast.Name, own: frozenset[str], imported: Mapping[str, Origin]) -> None:
        rest: list[str] = []
        base: ast.expr = node
        while isinstance(base, ast.Attribute):
            rest.insert(0, base.attr)
            base = base.value
        if not isinstance(base, ast.Name):
            self.attributes.update(rest)
            self.through(base, own, imported)
        elif base.id in imported:
            self.mentions.add(Mention(imported[base.id], tuple(rest)))
        elif base.id in own:
            self.attributes.update(rest)
        else:
            self.mentions.add(Mention(base.id, tuple(rest)))

    def _function(self, node: _Function | ast.Lambda, own: frozenset[str], imported: Mapping[str, Origin]) -> None:
        taken = node.args
        body = [node.body] if isinstance(node, ast.Lambda) else node.body
        outside = [*taken.defaults, *(each for each in taken.kw_defaults if each is not None)]
        if not isinstance(node, ast.Lambda):
            outside += node.decorator_list
        for each in outside:
            self.through(each, own, imported)
        arguments = [*taken.posonlyargs, *taken.args, *taken.kwonlyargs, taken.vararg, taken.kwarg]
        inner = list(_inside(*body))
        shared = {name for each in inner if isinstance(each, ast.Global) for name in each.names}
        within = (own | {each.arg for each in arguments if each is not None} | {*_names(inner)}) - shared
        here = {name: origin for name, origin in imported.items() if name not in within} | dict(_origins(inner))
        for statement in body:
            self.through(statement, within, here)


def _inside(*nodes: ast.AST) -> Iterator[ast.AST]:
    """What is in these nodes, but not in functions, classes and comprehensions within, which have their own names."""
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, _Function | ast.ClassDef | ast.Lambda | _Comprehension):
            waiting.extend(ast.iter_child_nodes(node))


def _stored(*nodes: ast.AST) -> Iterator[str]:
    return _names(_inside(*nodes))


def _imported(*nodes: ast.AST) -> Iterator[tuple[str, Origin]]:
    return _origins(_inside(*nodes))


def _names(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The names that these nodes set."""
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, _Function | ast.ClassDef | ast.ExceptHandler) and node.name:
            yield node.name


def _origins(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, Origin]]:
    """What these nodes import, by the names that it gets."""
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                whole = alias.name if alias.asname else alias.name.partition(".")[0]
                yield alias.asname or whole, Origin(whole)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            for alias in node.names:
                yield alias.asname or alias.name, Origin(node.module, alias.name)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
