"""The version of a piece of work: a hash of the code that it runs, and of nothing else."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from smidgen_papers.source import Mention, Origin, Source, Statement, read, read_compiled

ROOTS = ("smidgen", "smidgen_papers")
#: What computes nothing: words of refusal, the machinery that calls the parts and keeps their answers.
IDLE = frozenset(
    {
        "smidgen.errors",
        *(f"smidgen_papers.{name}" for name in ("part", "store", "source", "version", "catalogue", "claims")),
    }
)
#: The folder of compiled code: its modules have stubs.
COMPILED = "_core"
#: Decorators that describe a class, or enter it in a list, and give it back as it is.
DESCRIBING = frozenset({"register", "structure", "runtime_checkable"})


class Name(NamedTuple):
    """A name that a module defines; without a name, all of the module."""

    module: str
    name: str | None


def _name(work: str) -> Name:
    module, _, name = work.partition(":")
    return Name(module, name)


class Code:
    """Our packages' source, looked through from one function on.

    A function reaches the functions, classes and constants that it mentions, and what these mention, through
    imports, wherever they are written. Of a class it reaches the methods whose names are taken by dots, or stand in
    quotes, anywhere in what is reached. A module that is handed around, or searched by a name that only the run knows,
    is reached as a whole. What is not reached has no say: another learner, the list of learners, how a learner is
    saved, how a figure is drawn.

    Parameters
    ----------
    folders
        Where each package is.
    """

    def __init__(self, folders: Mapping[str, Path]) -> None:
        self.folders = dict(folders)
        self._sources: dict[str, Source | None] = {}
        self._versions: dict[str, str] = {}

    def version(self, work: str) -> str:
        """The version of a function, ``"module:name"``.

        It changes with what the function reaches, but not with comments, docstrings or types of arguments, nor with
        the file in which a piece is kept.
        """
        if work not in self._versions:
            reached = self._reach(_name(work))
            lines = {self._line(name.module, each) for name, statements in reached.items() for each in statements}
            self._versions[work] = hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()[:16]
        return self._versions[work]

    def reached(self, work: str) -> set[Name]:
        """What a function reaches, itself among it; methods as ``Class.method``, what an import does without a name."""
        return set(self._reach(_name(work)))

    def _reach(self, start: Name) -> dict[Name, list[Statement]]:
        found: dict[Name, list[Statement]] = {}
        dotted: set[str] = set()
        methods: dict[str, list[tuple[Name, Statement]]] = {}
        waiting = [start]

        def enter(name: Name, statements: list[Statement]) -> None:
            found[name] = statements
            for each in statements:
                for mention in each.mentions:
                    to = self._resolve(name.module, mention)
                    waiting.extend([to] if to is not None else [])
                new = {*each.attributes, *self._taken(name.module, each)} - dotted
                dotted.update(new)
                for taken in new:
                    for method, code in methods.pop(taken, []):
                        enter(method, [code])
                for called, code in each.methods.items():
                    method, word = Name(name.module, f"{name.name}.{called}"), called.rstrip(".")
                    if word in dotted or word.startswith("__"):
                        enter(method, [code])
                    else:
                        methods.setdefault(word, []).append((method, code))

        while waiting:
            one = waiting.pop()
            source = self._source(one.module)
            if one in found or source is None:
                continue
            if one.name is None:
                found[one] = []
                waiting.extend(self._members(one.module, source))
                continue
            enter(one, source.definitions[one.name])
            if Name(one.module, "") not in found:
                enter(Name(one.module, ""), self._effects(one.module, source))
        return found

    def _taken(self, module: str, statement: Statement) -> set[str]:
        """What is taken by dots from names of ours; not what is taken from other packages."""
        source = self._source(module)
        found: set[str] = set()
        for start, rest in statement.mentions:
            origin = start if isinstance(start, Origin) else source.origins.get(start) if source else None
            if origin is None or origin.module.partition(".")[0] in self.folders:
                found.update(rest)
        return found

    def _effects(self, module: str, source: Source) -> list[Statement]:
        """What an import does besides defining names; entering figures and claims counts as nothing."""
        return [each for each in source.effects if not any(self._is_idle(module, one) for one in each.mentions)]

    def _is_idle(self, module: str, mention: Mention) -> bool:
        source = self._source(module)
        origin = source.origins.get(mention.start) if source and isinstance(mention.start, str) else None
        return origin is not None and origin.module in IDLE

    def _members(self, module: str, source: Source) -> list[Name]:
        named = (self._resolve(module, Mention(name)) for name in (*source.definitions, *source.origins, *source.typed))
        return [each for each in named if each is not None]

    def _line(self, module: str, statement: Statement) -> str:
        """What a statement says, and which code each of its names stands for."""
        bound = []
        for mention in statement.mentions:
            to = self._resolve(module, mention)
            if to is not None:
                start = mention.start if isinstance(mention.start, str) else mention.start.name or ""
                bound.append(f"{'.'.join((start, *mention.rest))}={self._print(to)}")
        return " ".join([statement.print, *sorted(bound)])

    def _print(self, name: Name) -> str:
        source = self._source(name.module)
        if source is None or name.name is None:
            return name.module
        return "+".join(each.print for each in source.definitions[name.name])

    def _resolve(self, module: str, mention: Mention) -> Name | None:
        """What a mention in a module means, if it is ours and computes something."""
        if isinstance(mention.start, Origin):
            return self._follow(mention.start, mention.rest)
        source = self._source(module)
        if source is None:
            return None
        if mention.start in source.definitions:
            return Name(module, mention.start)
        origin = source.origins.get(mention.start) or source.typed.get(mention.start)
        return None if origin is None else self._follow(origin, mention.rest)

    def _follow(self, origin: Origin, rest: tuple[str, ...]) -> Name | None:
        module, name = origin
        source = self._source(module)
        if source is None:
            return None
        if name is None:
            return self._follow(Origin(module, rest[0]), rest[1:]) if rest else Name(module, None)
        if name in source.definitions:
            return Name(module, name)
        next_ = source.origins.get(name) or source.typed.get(name)
        inner = f"{module}.{name}"
        if next_ is not None and next_ != origin:
            return self._follow(next_, rest)
        if inner in IDLE:
            return None
        # A name that the module makes up as it runs: all of the module may have a part in it.
        return self._follow(Origin(inner), rest) if self._source(inner) is not None else Name(module, None)

    def _source(self, module: str) -> Source | None:
        if module not in self._sources:
            path = None if module in IDLE else self._path(module)
            if path is not None and path.parent.name == COMPILED and path.with_suffix(".pyi").is_file():
                self._sources[module] = read_compiled(path.with_suffix(".pyi"))
            else:
                self._sources[module] = None if path is None else read(path, DESCRIBING)
        return self._sources[module]

    def _path(self, module: str) -> Path | None:
        root, _, rest = module.partition(".")
        if root not in self.folders:
            return None
        stem = self.folders[root].joinpath(*filter(None, rest.split(".")))
        candidates = [stem / "__init__.py", stem.with_suffix(".py")]
        if stem.parent.name == COMPILED:  # a family of entry points has a stub, and no module of its own
            candidates.append(stem.with_suffix(".pyi"))
        return next((path for path in candidates if path.is_file()), None)


@cache
def _code(root: str) -> Code:
    folders = {name: folder for name in (*ROOTS, root) if (folder := _folder(name)) is not None}
    return Code(folders)


def _folder(package: str) -> Path | None:
    """Where a package is; of a single file the path without its ending."""
    try:
        spec = find_spec(package)
    except (ModuleNotFoundError, ValueError):
        return None
    if spec is None or spec.origin is None:
        return None
    origin = Path(spec.origin)
    return origin.parent if origin.name == "__init__.py" else origin.with_suffix("")


def code_version(work: str) -> str:
    """The version of a function, ``"module:name"``, of the packages that are imported here.

    A kept result is good as long as nothing that computed it has changed. What others' packages bring from elsewhere
    does not count, but for the package that the function itself is of.
    """
    return _code(work.partition(":")[0].partition(".")[0]).version(work)
