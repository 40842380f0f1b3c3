"""Capture the public surface as text: HTTP API, command line, public names, error codes, metrics, environment.

``make surface`` writes the files next to this module. ``test_surface.py`` compares them with the code, so that the
surface changes only by intent. The format is plain text, sorted, one fact per line: a diff shows what a user notices.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent

#: Modules whose names users import.
PUBLIC = (
    "smidgen",
    "smidgen.client",
    "smidgen.data",
    "smidgen.drafts",
    "smidgen.errors",
    "smidgen.evaluate",
    "smidgen.evaluate.losses",
    "smidgen.features",
    "smidgen.geometry",
    "smidgen.history",
    "smidgen.jobs",
    "smidgen.knobs",
    "smidgen.learners",
    "smidgen.learners.choose",
    "smidgen.learners.coactive",
    "smidgen.learners.filter",
    "smidgen.learners.label",
    "smidgen.learners.rank",
    "smidgen.learners.tune",
    "smidgen.offline",
    "smidgen.optim",
    "smidgen.randomness",
    "smidgen.settings",
    "smidgen.sklearn",
    "smidgen.state",
    "smidgen.structures",
    "smidgen.testing",
    "smidgen.theory",
    "smidgen.theory.bounds",
    "smidgen.users",
)


def openapi() -> str:
    """The OpenAPI document, sorted, without the version of the release."""
    from smidgen.service.http.openapi import document

    described = document()
    described["info"]["version"] = "x.y.z"
    return json.dumps(described, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def routes() -> str:
    """Every method and path of a service that was started without options, pages and integrations included."""
    from smidgen.service.http.app import create_app
    from smidgen.service.http.resources import Options

    with tempfile.TemporaryDirectory() as folder:
        app = create_app(Options(Path(folder)))
    return _lines(_served(app.routes))


def _served(entries: Any) -> Iterator[str]:
    for entry in entries:
        route = getattr(entry, "route", entry)  # that of a plugin stands inside an entry of ours
        methods = sorted(getattr(route, "methods", None) or ["*"])
        yield from (f"{route.path} {method}" for method in methods if method != "HEAD")


def commands() -> str:
    """The help of each command, on lines of any length and without frames."""
    import typer

    from smidgen.cli import app

    return "\n".join(_help(app, path) for path in _paths(typer.main.get_command(app), ()))


def _paths(command: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    yield path
    for name, inner in sorted(getattr(command, "commands", {}).items()):
        yield from _paths(inner, (*path, name))


def _help(app: Any, path: tuple[str, ...]) -> str:
    from typer.testing import CliRunner

    wide = {"COLUMNS": "2000", "TERMINAL_WIDTH": "2000", "NO_COLOR": "1"}
    shown = CliRunner().invoke(app, [*path, "--help"], prog_name="smidgen", env=wide, catch_exceptions=False).output
    bare = (re.sub(r"[╭╮╰╯│─]+", " ", line).strip() for line in shown.splitlines())
    return f"$ smidgen {' '.join([*path, '--help'])}\n" + "".join(
        f"    {re.sub(r' {2,}', '  ', line)}\n" for line in bare if line
    )


def names() -> str:
    """The names of each public module with their parameters; the members of a class stand where it is named first."""
    modules = [importlib.import_module(name) for name in PUBLIC]
    public = {value: f"{module.__name__}.{name}" for module in reversed(modules) for name, value in _classes(module)}
    return "\n".join(_module(module, public) for module in modules)


def _classes(module: ModuleType) -> Iterator[tuple[str, type]]:
    for name in reversed(_names(module)):
        if inspect.isclass(value := getattr(module, name)):
            yield name, value


def _names(module: ModuleType) -> list[str]:
    """Public names of a module; without `__all__`, those it defines."""
    own = [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]
    return sorted(getattr(module, "__all__", own))


def _module(module: ModuleType, public: dict[type, str]) -> str:
    lines = [module.__name__]
    for name in _names(module):
        value = getattr(module, name)
        lines.append(f"  {name}{_parameters(value)}")
        if inspect.isclass(value) and public[value] == f"{module.__name__}.{name}":
            lines += [f"    {member}" for member in _members(value, public)]
    return "\n".join(lines) + "\n"


def _members(cls: type, public: dict[type, str]) -> list[str]:
    """The public members of a class, without those of its public bases: they stand there."""
    own = [each for each in cls.__mro__ if each.__module__.startswith("smidgen")]
    named = {each: {*vars(each), *vars(each).get("__annotations__", ())} for each in own}
    known = {name for each in own if each is not cls and each in public for name in named[each]}
    bases = [f"is a {public[each]}" for each in cls.__mro__[1:] if each in public]
    return bases + sorted(f".{name}" for name in set().union(*named.values()) - known if not name.startswith("_"))


def _parameters(value: Any) -> str:
    if inspect.ismodule(value):
        return " (module)"
    if not callable(value):
        return f": {type(value).__name__}"
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return "(...)"
    plain = [parameter.replace(annotation=parameter.empty, default=_default(parameter)) for parameter in parameters]
    return str(inspect.Signature(plain))


def _default(parameter: inspect.Parameter) -> Any:
    """The default if its text is the same everywhere, else an ellipsis."""
    plain = (bool, int, float, str, bytes, type(None), tuple)
    return parameter.default if parameter.default is parameter.empty or isinstance(parameter.default, plain) else ...


def error_codes() -> str:
    """Each wire code, with the errors and the HTTP status that it stands for."""
    from smidgen.service.http.errors import CODES, OTHERS

    lines = [f"{code} {getattr(kind, 'status', '-')} {kind.__name__}" for kind, code in CODES.items()]
    return _lines([*lines, *OTHERS])


def metrics() -> str:
    """The metrics of a service that has decided, learned, spent, refused and found something: names, types, labels.

    Metrics of a shared store are not reported by a service on SQLite: their names are read from the source.
    """
    from service.asgi import Caller

    now = [1_700_000_000.0]
    with tempfile.TemporaryDirectory() as folder, Caller(Path(folder), clock=lambda: now[0]) as call:
        body = {"loop": "label", "learner": "Banditron", "params": {"dim": 2}, "labels": ["x", "y"], "window_s": 60}
        call.put("/v1/models/m", body)
        for _ in range(60):
            made = call.post("/v1/models/m/decisions", {"features": [1.0, 0.5]}).json()
        call.post(f"/v1/decisions/{made['decision']}/feedback", {"correct": True})
        call.get("/v1/models/nobody")
        call.put("/v1/models/priced", {"loop": "choose", "budget": {"usd": 1}})
        call.post("/v1/models/priced/decisions", {"candidates": [{"id": "a", "costs": {"usd": 2}}]})
        now[0] += 3600.0
        reported = call.get("/metrics").text
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", reported, re.MULTILINE))
    labels = dict.fromkeys(kinds, "")
    for name, text in re.findall(r"^(smidgen_\w+)\{(.*)\} \S+$", reported, re.MULTILINE):
        labels[name] = ",".join(sorted(re.findall(r'(\w+)="', text)))
    lines = [f"{name} {kind} {{{labels[name]}}}" for name, kind in kinds.items()]
    return _lines([*lines, *(f"{name} (shared store)" for name in _metric_names() - kinds.keys())])


def _metric_names() -> set[str]:
    """Whole metric names among the strings of the HTTP layer."""
    strings = {
        node.value
        for path in (ROOT / "src" / "smidgen" / "service" / "http").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return {text for text in strings if re.fullmatch(r"smidgen(_[a-z]+)+", text)}


def environment() -> str:
    """The environment variables that the sources name."""
    folders = (ROOT / "src", ROOT / "papers" / "src")
    sources = [path for ending in ("py", "js") for folder in folders for path in folder.rglob(f"*.{ending}")]
    return _lines({name for path in sources for name in re.findall(r"\bSMIDGEN_[A-Z_]+\b", path.read_text())})


def _lines(lines: Any) -> str:
    return "".join(f"{line}\n" for line in sorted(lines))


SNAPSHOTS: dict[str, Callable[[], str]] = {
    "cli.txt": commands,
    "environment.txt": environment,
    "error_codes.txt": error_codes,
    "metrics.txt": metrics,
    "names.txt": names,
    "openapi.json": openapi,
    "routes.txt": routes,
}


def main(folder: Path = HERE) -> None:
    """Write every snapshot into the folder, and print which files have changed."""
    for name, capture in SNAPSHOTS.items():
        path, text = folder / name, capture()
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
            print(f"{path} has changed")


if __name__ == "__main__":
    sys.path[:0] = [str(HERE.parent), str(ROOT / "src"), str(ROOT / "papers" / "src")]
    main(*map(Path, sys.argv[1:]))
