"""The searched documents: docstrings of Python's standard library on this machine.

Modules written in Python are parsed, never run. A few that are compiled into the interpreter have no source; their
docstrings are read from the modules themselves.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
import sysconfig
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, NamedTuple

Kind = Literal["module", "class", "function", "method"]
Definition = ast.FunctionDef | ast.AsyncFunctionDef

#: Folders that hold tests, other people's packages, programs, or tables.
LEFT_OUT = {"test", "tests", "idlelib", "lib2to3", "ensurepip", "turtledemo", "pydoc_data", "encodings", "distutils"}
LEFT_OUT_TOO = {"site-packages", "dist-packages", "__pycache__", "__phello__", "idle_test"}
#: Python sources that stand for a compiled module.
STANDS_FOR = {"_pydecimal": "decimal", "_pyio": "io", "_strptime": None, "_pydatetime": "datetime"}
#: Compiled modules of the interpreter, and the names by which people know them.
COMPILED = {
    "math": "math",
    "cmath": "cmath",
    "itertools": "itertools",
    "time": "time",
    "sys": "sys",
    "gc": "gc",
    "zlib": "zlib",
    "array": "array",
    "binascii": "binascii",
    "unicodedata": "unicodedata",
    "select": "select",
    "atexit": "atexit",
    "marshal": "marshal",
    "posix": "os",
    "_collections": "collections",
    "_functools": "functools",
    "_socket": "socket",
    "_random": "random",
    "_struct": "struct",
}
LONGEST_TEXT = 6_000
_HEADING = re.compile(r"^\s*(?:[-=~]{3,}|.{0,60}\n\s*[-=~]{3,})\s*\n")
_SIGNATURE = re.compile(r"^[\w.]+\(.*\)\s*(-+>.*)?$")
_SENTENCE = re.compile(r"\.\s+(?=[A-Z])")


class Document(NamedTuple):
    """A docstring and what it belongs to.

    Attributes
    ----------
    name
        Its qualified name; every document has another.
    kind
        Module, class, function or method.
    signature
        Its arguments, in parentheses; empty for modules.
    summary
        The first sentence or line.
    text
        The whole docstring.
    imports
        How many modules of the library import the package it belongs to; what needs no import counts as the most.
    """

    name: str
    kind: Kind
    signature: str
    summary: str
    text: str
    imports: int = 0


def read_documents() -> list[Document]:
    """Every documented module, class, function and method, sorted by name."""
    found: dict[str, Document] = {}
    imports: Counter[str] = Counter()
    for name, path in _sources(Path(sysconfig.get_path("stdlib"))):
        try:
            tree = ast.parse(path.read_bytes())
        except (OSError, SyntaxError, ValueError):
            continue  # not for this interpreter
        for document in _of_module(name, tree):
            found.setdefault(document.name, document)
        imports.update(_imported(tree) - {name.partition(".")[0]})
    for module, name in COMPILED.items():
        for document in _of_compiled(module, name):
            found.setdefault(document.name, document)
    most = max(imports.values(), default=0)
    for document in _of_compiled("builtins", ""):
        found[document.name] = document
        imports[document.name.partition(".")[0]] = most
    return [found[name]._replace(imports=imports[name.partition(".")[0]]) for name in sorted(found)]


def split_docstring(raw: str) -> tuple[str, str, str]:
    """Signature (if the docstring begins with one), summary and text."""
    text = inspect.cleandoc(raw).strip()
    first, _, rest = text.partition("\n")
    signature = ""
    if _SIGNATURE.match(first.strip()):
        signature, text = first[first.index("(") :].strip(), rest.strip()
    text = text or first
    paragraph = _HEADING.sub("", text + "\n").strip().partition("\n\n")[0]
    words = " ".join(paragraph.split())
    end = _SENTENCE.search(words)
    summary = words[: end.start() + 1] if end else words
    return signature, summary if len(summary) <= 200 else summary[:199].rstrip() + "…", text[:LONGEST_TEXT]


def is_private(name: str) -> bool:
    """True if any part of the name is private. Names such as ``__init__`` are public."""
    return any(part.startswith("_") and not part.endswith("__") for part in name.split("."))


def _sources(root: Path) -> Iterator[tuple[str, Path]]:
    """Names and files of the modules that people import, shallow ones first."""
    for path in sorted(root.iterdir()):
        if path.suffix == ".py":
            name = STANDS_FOR.get(path.stem, None if path.stem.startswith("_") else path.stem)
            if name is not None and path.stem not in ("this", "antigravity"):
                yield name, path
        elif path.is_dir() and (path / "__init__.py").is_file() and path.name not in LEFT_OUT | LEFT_OUT_TOO:
            yield from _package(path.name, path)


def _package(name: str, folder: Path) -> Iterator[tuple[str, Path]]:
    if folder.name.startswith("_"):
        return
    yield name, folder / "__init__.py"
    for path in sorted(folder.iterdir()):
        if path.suffix == ".py" and not path.stem.startswith("_"):
            yield f"{name}.{path.stem}", path
        elif (path / "__init__.py").is_file() and path.name not in LEFT_OUT | LEFT_OUT_TOO:
            yield from _package(f"{name}.{path.name}", path)


def _of_module(name: str, tree: ast.Module) -> Iterator[Document]:
    if raw := ast.get_docstring(tree, clean=False):
        yield _document(name, "module", "", raw)
    yield from _of_body(name, tree.body, within_class=False)


def _of_body(place: str, body: list[ast.stmt], *, within_class: bool) -> Iterator[Document]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            name = f"{place}.{node.name}"
            if raw := ast.get_docstring(node, clean=False):
                yield _document(name, "class", _of_init(node), raw)
            yield from _of_body(name, node.body, within_class=True)
        elif isinstance(node, Definition):
            if raw := ast.get_docstring(node, clean=False):
                kind: Kind = "method" if within_class else "function"
                yield _document(f"{place}.{node.name}", kind, _arguments(node), raw)
        elif isinstance(node, ast.If | ast.Try):  # what depends on the platform
            yield from _of_body(place, [*node.body, *node.orelse], within_class=within_class)


def _of_init(node: ast.ClassDef) -> str:
    for inner in node.body:
        if isinstance(inner, Definition) and inner.name == "__init__":
            return _arguments(inner)
    return ""


def _arguments(node: Definition) -> str:
    arguments = node.args
    for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        each.annotation = None
    first = [*arguments.posonlyargs, *arguments.args][:1]
    text = ast.unparse(arguments)
    if first and first[0].arg in ("self", "cls"):
        text = text.partition(", ")[2]
    return f"({text})" if len(text) <= 160 else f"({text[:159]}…)"


def _imported(tree: ast.Module) -> set[str]:
    """The packages that a module imports at its top."""
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Import):
            found.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found


def _of_compiled(module: str, name: str) -> Iterator[Document]:
    """Documents of a compiled module."""
    if module not in sys.builtin_module_names and module not in sys.stdlib_module_names:
        return
    try:
        found = importlib.import_module(module)
    except ImportError:
        return  # not on this platform
    if name == module and found.__doc__:
        yield _document(name, "module", "", found.__doc__)
    for inner, value in sorted(vars(found).items()):
        if not inner.startswith("_"):
            yield from _of_object(f"{name}.{inner}" if name else inner, value, found)


def _of_object(name: str, value: Any, module: ModuleType) -> Iterator[Document]:
    if isinstance(value, type):
        if value.__doc__:
            yield _document(name, "class", "", value.__doc__)
        for inner, member in sorted(vars(value).items()):
            if not inner.startswith("_") and inspect.ismethoddescriptor(member) and member.__doc__:
                yield _document(f"{name}.{inner}", "method", _described_arguments(member), member.__doc__)
    elif inspect.isbuiltin(value) and value.__doc__:
        yield _document(name, "function", _described_arguments(value), value.__doc__)


def _described_arguments(value: Any) -> str:
    text = getattr(value, "__text_signature__", None) or ""
    return re.sub(r"\(\$\w+(, )?(/, |/)?", "(", text)


def _document(name: str, kind: Kind, signature: str, raw: str) -> Document:
    signature_line, summary, text = split_docstring(raw)
    return Document(name, kind, signature or signature_line, summary, text)
