"""Run the parts that are not there yet, in parallel, and gather what they found."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from smidgen import serialization
from smidgen.errors import InvalidArgument, MissingExtra
from smidgen.jobs import Task
from smidgen.jobs import backend as place_of_work
from smidgen_papers.catalogue import Figure, Study, study
from smidgen_papers.claims import Claim, Finding
from smidgen_papers.outcome import Outcome
from smidgen_papers.part import Answer, Answers, Part, Place, Run, Values
from smidgen_papers.store import Store

Report = Callable[[Part, float], None]


@dataclass(frozen=True)
class Shown:
    """A figure with what was found: what to draw, and the verdicts on its claims."""

    figure: Figure
    outcome: Outcome
    findings: tuple[tuple[Claim, Finding], ...]


@dataclass(frozen=True)
class Work:
    """The parts that some figures need, without repetition, and which of them are kept already."""

    parts: tuple[Part, ...]
    kept: tuple[Part, ...]

    @property
    def missing(self) -> list[Part]:
        """What must be computed, the longest first, so that no long part is left for the end."""
        done = {id(part) for part in self.kept}
        return sorted((part for part in self.parts if id(part) not in done), key=lambda part: -part.seconds)


def work_of(figures: Iterable[Figure], run: Run) -> Work:
    """The parts of the figures' studies and of the studies that their claims look at."""
    store = Store(run.place)
    parts = {store.path(part): part for one in _studies(figures) for part in one.plan(run)}
    return Work(tuple(parts.values()), tuple(part for part in parts.values() if store.get(part) is not None))


def compute(
    work: Work, run: Run, *, jobs: int = 1, backend: str = "processes", report: Report = lambda part, seconds: None
) -> None:
    """Do the missing parts. Each is kept as soon as it is done, so an interrupted run goes on where it stopped.

    Parameters
    ----------
    work
        What `work_of` found.
    run
        The run that it was found for.
    jobs
        How many parts at a time; 1 stays in this process.
    backend
        ``"processes"`` on this machine, or ``"ray"``: on the cluster that ``RAY_ADDRESS`` names, else on one of this
        machine that is closed to others (`smidgen.jobs`). Data are read by path, so a cluster needs a folder that all
        its machines see.
    report
        Called with every finished part and its seconds.
    """
    store = Store(run.place)
    for part, values, seconds in results(work.missing, run.place, jobs, backend):
        store.put(part, values, seconds)
        report(part, seconds)


def show(figure: Figure, run: Run) -> Shown:
    """What a figure shows, from kept parts. `compute` comes first."""
    outcome = Outcome()
    for one in figure.studies:
        outcome = outcome + one.gather(run, _answers(one, run))
    findings = tuple((claim, _verdict(claim, run)) for claim in figure.claims())
    return Shown(figure, outcome, findings)


def complete(figure: Figure, run: Run) -> bool:
    """Check whether every part that the figure and its claims need is kept."""
    return not work_of([figure], run).missing


def _verdict(claim: Claim, run: Run) -> Finding:
    return claim.check(run, *(_answers(study(need), run) for need in claim.needs))


def _answers(one: Study, run: Run) -> Answers:
    store = Store(run.place)
    return Answers(_answer(store, part) for part in one.plan(run))


def _answer(store: Store, part: Part) -> Answer:
    values = store.get(part)
    if values is None:
        raise InvalidArgument(f"the part {part.work} {part.settings} is not there", "compute it first")
    return Answer(part.settings, values)


def _studies(figures: Iterable[Figure]) -> list[Study]:
    found: dict[int, Study] = {}
    for figure in figures:
        needed = [study(need) for claim in figure.claims() for need in claim.needs]
        found.update({id(one): one for one in (*figure.studies, *needed)})
    return list(found.values())


def results(
    parts: list[Part], place: Place, jobs: int, backend: str = "processes"
) -> Iterator[tuple[Part, Values, float]]:
    """Do parts, and give each with its values and its seconds as soon as it is done. Nothing is kept."""
    if backend not in ("processes", "ray"):
        raise InvalidArgument(f"the backend is {backend!r}", "choose processes or ray")
    if not parts:
        return
    if jobs == 1 and backend == "processes":
        yield from (_timed(part, place) for part in parts)
        return
    if backend == "ray":
        yield from _on_ray(parts, place, jobs)
        return
    try:
        import joblib
    except ImportError as error:
        raise MissingExtra("parallel work needs joblib", "pip install joblib, or use --jobs 1") from error
    work = [joblib.delayed(_timed)(part, place) for part in parts]
    yield from joblib.Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)(work)


def work(settings: Values) -> Iterator[bytes]:
    """Do a part elsewhere: its name, its settings and paths come as JSON; so do its values and its seconds go back."""
    data = settings["data"]
    part = Part(settings["work"], settings["settings"])
    _, values, seconds = _timed(part, Place(None if data is None else Path(data), Path(settings["kept"])))
    yield msgspec.json.encode({"values": serialization.pack(values), "seconds": seconds})


def _on_ray(parts: list[Part], place: Place, jobs: int) -> Iterator[tuple[Part, Values, float]]:
    data = None if place.data is None else str(place.data.absolute())
    where = {"data": data, "kept": str(place.kept.absolute())}
    tasks = [Task(f"{__name__}:work", {"work": part.work, "settings": part.settings, **where}) for part in parts]
    for number, said in place_of_work("ray", jobs).run(tasks):
        if isinstance(said, bytes):
            answer = msgspec.json.decode(said)
            yield parts[number], serialization.unpack(answer["values"]), float(answer["seconds"])


def _timed(part: Part, place: Place) -> tuple[Part, Values, float]:
    start = time.perf_counter()
    values = part.run(place)
    return part, values, time.perf_counter() - start
