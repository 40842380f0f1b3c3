"""Which papers, figures, studies and claims there are. The papers' modules fill it."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from smidgen.errors import InvalidArgument
from smidgen_papers.claims import Claim, Finding
from smidgen_papers.outcome import Outcome
from smidgen_papers.part import Answers, Part, Run
from smidgen_papers.remarks import read

MODULES = ("coactive", "coactive2012", "confidit", "filtering", "onseg", "beyond")


@dataclass(frozen=True)
class Paper:
    """A paper: its short name here, and its citation.

    Attributes
    ----------
    name, title, citation
        As they are printed.
    page
        Whether the documentation has a page that is written from the results.
    """

    name: str
    title: str
    citation: str
    page: bool = True


@dataclass(frozen=True)
class Study:
    """One half of a figure, or all of it: what to compute and how to show it.

    Attributes
    ----------
    name
        ``"web"``, ``"movies"``, …; its key is ``"coactive/fig2:web"``.
    plan
        ``plan(run)`` gives the parts. Parts that two studies share are done once.
    gather
        ``gather(run, answers)`` makes panels, tables and notes of the answers, which come in the order of the plan.
    data
        The data sets that it would like; with those that are absent it runs on generated data of the same shape.
    """

    name: str
    plan: Callable[[Run], Iterable[Part]]
    gather: Callable[[Run, Answers], Outcome]
    data: tuple[str, ...] = ()


@dataclass(frozen=True)
class Figure:
    """A figure or table of a paper.

    Attributes
    ----------
    id
        ``"coactive/fig2"``.
    title
        What is varied, in a line.
    shows
        What the paper's own figure shows, in our words.
    remarks
        What we found, and why a claim fails; Markdown with places for what was measured, see `remarks`.
    studies
        In the order of the paper's panels.
    """

    id: str
    title: str
    shows: str
    remarks: str = ""
    studies: list[Study] = field(default_factory=list)

    @property
    def paper(self) -> str:
        """The paper's short name."""
        return self.id.partition("/")[0]

    @property
    def data(self) -> tuple[str, ...]:
        """The data sets of all its studies."""
        return tuple(dict.fromkeys(name for study in self.studies for name in study.data))

    def claims(self) -> list[Claim]:
        """The claims that are checked with this figure: those whose first study is one of its own."""
        return [claim for claim in claims.values() if claim.needs[0].partition(":")[0] == self.id]


papers: dict[str, Paper] = {}
figures: dict[str, Figure] = {}
claims: dict[str, Claim] = {}


def add_paper(paper: Paper) -> None:
    """Enter a paper."""
    papers[paper.name] = paper


def add_figure(id: str, *, title: str, shows: str, remarks: str | None = None) -> Figure:
    """Enter a figure or table; its studies follow by `add_study`.

    Without remarks it has those of the file of its name in this package, if there is one.
    """
    figures[id] = Figure(id=id, title=title, shows=shows, remarks=read(id) if remarks is None else remarks)
    return figures[id]


def add_study(
    figure: str,
    name: str,
    *,
    plan: Callable[[Run], Iterable[Part]],
    gather: Callable[[Run, Answers], Outcome],
    data: tuple[str, ...] = (),
) -> None:
    """Enter a study of a figure."""
    figures[figure].studies.append(Study(name=name, plan=plan, gather=gather, data=data))


def add_claim(
    id: str, *, says: str, where: str, needs: str | tuple[str, ...]
) -> Callable[[Callable[..., Finding]], Callable[..., Finding]]:
    """Enter a claim; decorates its check, ``check(run, *answers) -> Finding``."""
    wanted = (needs,) if isinstance(needs, str) else needs

    def enter(check: Callable[..., Finding]) -> Callable[..., Finding]:
        claims[id] = Claim(id=id, says=says, where=where, needs=wanted, check=check)
        return check

    return enter


def chosen(names: Iterable[str] = ()) -> list[Figure]:
    """The figures of these names; a paper's name means all of its figures, none at all means every figure.

    Only the papers that are asked for are imported.
    """
    wanted = list(names)
    for module in dict.fromkeys(name.partition("/")[0] for name in wanted or MODULES):
        if module in MODULES:
            importlib.import_module(f"smidgen_papers.{module}")
    found: dict[str, Figure] = {}
    for name in wanted or MODULES:
        if name in figures:
            found[name] = figures[name]
        elif name in MODULES:
            found.update({figure.id: figure for figure in figures.values() if figure.paper == name})
        else:
            known = [id for id in figures if id.partition("/")[0] == name.partition("/")[0]] or MODULES
            raise InvalidArgument(f"there is no experiment {name!r}", f"choose among {', '.join(known)}")
    return list(found.values())


def study(key: str) -> Study:
    """The study of a key like ``"coactive/fig2:web"``."""
    figure, _, name = key.partition(":")
    for candidate in figures[figure].studies if figure in figures else ():
        if candidate.name == name:
            return candidate
    raise InvalidArgument(f"there is no study {key!r}", "a claim's `needs` names figure:study")
