"""Compile the core in place: one extension module for each instruction-set level, and the one that names the levels.

    python build_core.py [--level x86-64-v3 | --native | --oldest] [--sanitize] [--no-stubs] [--jobs N]

Compiles what has changed, several files at once. The package's build (`hatch_build.py`), `make core` and the tests call
`build`. `--native` compiles for this machine only, in a third of the time: enough to run, where a wheel and the tests
need every level. The compiler is ``CXX`` (else c++, g++ or clang++); ``CXXFLAGS`` and ``LDFLAGS`` are added at the end.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import importlib.util
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent
HERE = ROOT / "src" / "smidgen" / "_core"

#: The same bits at each level: no fused multiply-add, no reordered sums.
FLAGS = [
    "-std=c++17",
    "-O3",
    "-g0",
    "-fPIC",
    "-fvisibility=hidden",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-Wall",
    "-Wextra",
    "-Wno-psabi",
    "-Wno-missing-field-initializers",
]
SANITIZE = ["-O1", "-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
NO_COMPILER = (
    "smidgen's core needs a C++ compiler and found none: install g++ "
    "(Debian, Ubuntu: apt install g++; Fedora: dnf install gcc-c++; macOS: xcode-select --install), or name it by CXX"
)


class BuildFailed(SystemExit):
    """The core cannot be compiled; says why."""


def levels() -> list[str]:
    """The instruction-set levels that this machine's kind of processor has."""
    if platform.machine().lower() in ("x86_64", "amd64"):
        return ["x86-64-v2", "x86-64-v3", "x86-64-v4"]
    return ["baseline"]


def module_name(level: str) -> str:
    """The name of a level's extension module."""
    return "_" + level.replace("-", "_")


def native_levels() -> list[str]:
    """The best level of this machine, and those that are here already: what is old would have other sources."""
    best = best_level()
    return [each for each in levels() if each == best or _place(module_name(each)).exists()]


def best_level() -> str:
    """The best level that this machine's processor can run."""
    (module,) = build([])
    spec = importlib.util.spec_from_file_location("_cpu", module)
    if spec is None or spec.loader is None:
        raise BuildFailed(f"{module} cannot be loaded")
    cpu: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(cpu)
    return next((each for each in cpu.levels() if each in levels()), levels()[0])


def build(only: Sequence[str] | None = None, *, sanitize: bool = False, jobs: int = 0) -> list[Path]:
    """Compile what has changed, for all levels or for some; returns the extension modules."""
    compiler = _compiler()
    objects: list[tuple[list[str], Path, Path]] = []
    modules: list[tuple[list[Path], Path]] = []
    common = [*_includes(), *(["-DSMIDGEN_CHECKED"] if sanitize else [])]
    more = [*(SANITIZE if sanitize else []), *shlex.split(os.environ.get("CXXFLAGS", ""))]
    for level in levels() if only is None else only:
        name = module_name(level)
        march = [f"-march={level}"] if level != "baseline" else []
        flags = [*compiler, *FLAGS, *march, *common, f"-DSMIDGEN_MODULE_NAME={name}", *more]
        parts = [_object(flags, source) for source in sorted(HERE.glob("*.cpp"))]
        objects += parts
        modules.append(([made for _, _, made in parts], _place(name)))
    flags = [*compiler, "-x", "c", "-O2", "-g0", "-fPIC", "-Wall", "-Wextra", *common, *more]
    part = _object(flags, HERE / "cpu.c")
    objects.append(part)
    modules.append(([part[2]], _place("_cpu")))
    if any(not _current(made) for _, _, made in objects) or any(not _linked(*each) for each in modules):
        with _alone():
            _make(objects, modules, [*compiler, *_linking(sanitize)], jobs=jobs, quiet=only == [])
    return [made for _, made in modules]


@contextmanager
def _alone() -> Iterator[None]:
    """Wait until no other process compiles here: what it makes need not be made again."""
    place = ROOT / "build" / "core"
    place.mkdir(parents=True, exist_ok=True)
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _make(
    objects: list[tuple[list[str], Path, Path]],
    modules: list[tuple[list[Path], Path]],
    linker: list[str],
    *,
    jobs: int,
    quiet: bool,
) -> None:
    stale = [each for each in objects if not _current(each[2])]
    stale.sort(key=lambda each: -each[1].stat().st_size)  # a long one that starts last would run alone
    if stale and not quiet:
        print(f"compiling smidgen's core: {len(stale)} of {len(objects)} files", flush=True)
    with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
        for done, _ in enumerate(pool.map(lambda each: _compile(*each), stale), 1):
            if sys.stdout.isatty():
                print(f"\r{done} of {len(stale)}", end="\n" if done == len(stale) else "", flush=True)
        list(pool.map(lambda each: _link(linker, *each), modules))


def _compiler() -> list[str]:
    named = shlex.split(os.environ.get("CXX", ""))
    for name in [named[0]] if named else ["c++", "g++", "clang++"]:
        if shutil.which(name):
            return [name, *named[1:]]
    raise BuildFailed(NO_COMPILER)


def _includes() -> list[str]:
    try:
        import numpy
    except ModuleNotFoundError:
        raise BuildFailed("smidgen's core is compiled against numpy's headers: pip install numpy") from None
    python = sysconfig.get_path("include")
    if not (Path(python) / "Python.h").exists():
        raise BuildFailed(
            f"smidgen's core needs Python's headers and {python} has none: install them (Debian: python3-dev)"
        )
    return ["-isystem", python, "-isystem", numpy.get_include()]


def _linking(sanitize: bool) -> list[str]:
    shared = ["-bundle", "-undefined", "dynamic_lookup"] if sys.platform == "darwin" else ["-shared", "-Wl,-s"]
    return [*shared, *(SANITIZE if sanitize else []), *shlex.split(os.environ.get("LDFLAGS", ""))]


def _place(name: str) -> Path:
    return HERE / f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}"


def _object(flags: list[str], source: Path) -> tuple[list[str], Path, Path]:
    # The folder too, since a copied tree must not compare with the original's files; not where the headers are: pip
    # compiles in an environment of its own, and what it made must not be compiled again.
    headers = {flags[i + 1] for i, flag in enumerate(flags) if flag == "-isystem"}
    made_of = "\0".join([*(flag for flag in flags if flag not in headers), sys.implementation.cache_tag, str(HERE)])
    key = hashlib.blake2b(made_of.encode(), digest_size=8).hexdigest()
    return flags, source, ROOT / "build" / "core" / key / f"{source.stem}.o"


def _current(made: Path) -> bool:
    """Whether an object is newer than all that it was made of."""
    named = made.with_suffix(".d")
    if not made.exists() or not named.exists():
        return False
    sources = shlex.split(named.read_text().replace("\\\n", " ").partition(":")[2])
    when = made.stat().st_mtime_ns
    return all(Path(each).exists() and Path(each).stat().st_mtime_ns <= when for each in sources)


def _compile(flags: list[str], source: Path, made: Path) -> None:
    made.parent.mkdir(parents=True, exist_ok=True)
    partial = made.with_suffix(f".{os.getpid()}.o")
    _run([*flags, "-MMD", "-MF", str(made.with_suffix(".d")), "-MT", made.name, "-c", str(source), "-o", str(partial)])
    partial.replace(made)


def _linked(objects: list[Path], made: Path) -> bool:
    """Whether a module is made of these objects, and newer than them; another build has others, e.g. sanitizers."""
    named = _named(made)
    if not made.exists() or not named.exists() or named.read_text() != "\n".join(map(str, objects)):
        return False
    return all(each.exists() and each.stat().st_mtime_ns <= made.stat().st_mtime_ns for each in objects)


def _named(made: Path) -> Path:
    """The file that names the objects of a module."""
    return ROOT / "build" / "core" / f"{made.name}.objects"


def _link(command: list[str], objects: list[Path], made: Path) -> None:
    if _linked(objects, made):
        return
    partial = made.with_suffix(f".{os.getpid()}.partial")
    _run([*command, *map(str, objects), "-o", str(partial)])
    partial.replace(made)  # never half-written, and running processes keep the one that they have
    _named(made).write_text("\n".join(map(str, objects)))


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode or done.stderr:
        print(done.stderr, file=sys.stderr, flush=True)
    if done.returncode:
        raise BuildFailed(f"smidgen's core does not compile: {shlex.join(command)}")


#: Run where the core can be imported: prints the table of entry points, by family.
_TABLE = "import json; from smidgen._core import tables; print(json.dumps(tables))"


def make_stubs() -> dict[str, str]:
    """The types of the entry points as stubs, by family, from the table that the compiled core holds."""
    path = os.pathsep.join([str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    table = json.loads(_output([sys.executable, "-c", _TABLE], env={**os.environ, "PYTHONPATH": path}))
    texts = {}
    for family, entries in table.items():
        lines = [f"def {name}{_signature(*entries[name])}: ...\n" for name in sorted(entries)]
        head = '"""Entry points of the compiled core: `make core` writes this file from their table."""\n\n'
        body = "".join(lines)
        arrays = "import numpy as np\nfrom numpy.typing import NDArray\n\n" if "NDArray" in body else ""
        ruff = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(HERE / f"{family}.pyi"), "-"]
        texts[family] = _output(ruff, input=head + arrays + body)
    return texts


def _signature(names: str, functions: list[str]) -> str:
    """The arguments and the result of an entry point; a function for each dtype makes unions."""
    rows = [(*kinds.partition(">")[0].split(";"), kinds.partition(">")[2]) for kinds in functions]
    types = [" | ".join(dict.fromkeys(map(_type, column))) for column in zip(*rows, strict=True)]
    arguments = [f"{name}: {kind}" for name, kind in zip(names.split(", "), types[:-1], strict=True)]
    return f"({', '.join(arguments)}, /) -> {types[-1]}"


def _type(kind: str) -> str:
    """The type of one kind of argument, for type checkers: see `array_kind` in bind.hpp."""
    if kind.startswith("("):
        return f"tuple[{', '.join(map(_type, parts_of(kind)))}]"
    if "[" in kind:
        return f"NDArray[np.{kind.partition('[')[0]}]"
    if kind.endswith("*"):
        return f"list[{_type(kind[:-1])}]"
    return {"uint": "int | np.uint64", "Generator": "np.random.Generator"}.get(kind, kind)


def parts_of(kind: str) -> list[str]:
    """The kinds of the parts of a tuple, which may be tuples too."""
    parts, depth = [""], 0
    for letter in kind[1:-1]:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _output(command: list[str], **more: Any) -> str:
    done: subprocess.CompletedProcess[str] = subprocess.run(
        command, capture_output=True, text=True, check=False, **more
    )
    if done.returncode:
        raise BuildFailed(done.stderr)
    return done.stdout


def write_stubs() -> None:
    """Write the stubs that have changed; `smidgen._core` makes the modules that they describe."""
    texts = make_stubs()
    for old in HERE.glob("[a-z]*.pyi"):
        if old.stem not in texts:
            old.unlink()
    for name, text in texts.items():
        place = HERE / f"{name}.pyi"
        if not place.exists() or place.read_text() != text:
            place.write_text(text)


def main() -> None:
    """Compile, then write the stubs of the entry points."""
    parser = argparse.ArgumentParser(description="Compile smidgen's core in place.")
    parser.add_argument(
        "--level", action="append", choices=levels(), help="only this instruction-set level (may be repeated)"
    )
    parser.add_argument("--native", action="store_true", help="only the level of this machine")
    parser.add_argument("--oldest", action="store_true", help="only the level that every processor has")
    parser.add_argument("--sanitize", action="store_true", help="with AddressSanitizer and UndefinedBehaviorSanitizer")
    parser.add_argument("--no-stubs", action="store_true", help="leave the types of the entry points as they are")
    parser.add_argument("--jobs", type=int, default=0, help="how many files at once")
    given = parser.parse_args()
    if given.native:  # under sanitizers the other levels stay as they are
        only = [best_level()] if given.sanitize else native_levels()
    else:
        only = levels()[:1] if given.oldest else given.level
    build(only, sanitize=given.sanitize, jobs=given.jobs)
    if not (given.sanitize or given.no_stubs) and importlib.util.find_spec("ruff"):  # only developers need the stubs
        write_stubs()


if __name__ == "__main__":
    main()
