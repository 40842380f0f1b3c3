"""Figures for Prometheus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from smidgen.service.messages import Finding
    from smidgen.service.models.engine import Engine
    from smidgen.service.models.writer import Writer
    from smidgen.service.store.rows import Counts

#: What a process says of itself.
Note = dict[str, Any]
#: The figures of a process: their names there, their names for Prometheus, and their kinds.
_EACH = (
    ("commits", "smidgen_commits_total", "counter"),
    ("commands", "smidgen_commands_total", "counter"),
    ("failed_snapshots", "smidgen_failed_snapshots_total", "counter"),
    ("learners_in_memory", "smidgen_learners_in_memory", "gauge"),
)


class Metrics:
    """Counts of what happened since the start."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()

    def count(self, what: str, kind: str) -> None:
        """One more of this."""
        self._counts[what, kind] += 1

    def note(self, engine: Engine, writer: Writer) -> Note:
        """What this process can say of itself."""
        return {
            "counts": [[what, kind, n] for (what, kind), n in self._sorted()],
            "commits": writer.commits,
            "commands": writer.commands,
            "failed_snapshots": engine.failed_snapshots,
            "learners_in_memory": len(engine.learners),
        }

    def text(
        self,
        notes: Sequence[Note],
        models: Iterable[tuple[str, Counts]],
        findings: Iterable[tuple[str, Finding]] = (),
        gauges: Iterable[tuple[str, dict[str, int | str], int]] = (),
    ) -> str:
        """The exposition format.

        Parameters
        ----------
        notes
            What each process says of itself; those of several workers have the number of theirs.
        models, findings
            How far the models are, and what was found about them, by name.
        gauges
            What else is told: names, labels, values.
        """
        lines: list[str] = []
        for what, label in (("feedback", "status"), ("refused", "type")):
            lines.append(f"# TYPE smidgen_{what}_total counter")
            for note in notes:
                own = [(kind, n) for of, kind, n in note["counts"] if of == what]
                lines += [f"smidgen_{what}_total{_labels(note, **{label: kind})} {n}" for kind, n in own]
        for what, name, kind in _EACH:
            lines.append(f"# TYPE {name} {kind}")
            lines += [f"{name}{_labels(note)} {note[what]}" for note in notes]
        known = list(models)
        for name in ("decisions", "version", "late"):
            lines.append(f"# TYPE smidgen_model_{name} counter")
            lines += [f'smidgen_model_{name}{{model="{model}"}} {getattr(counts, name)}' for model, counts in known]
        lines.append("# TYPE smidgen_model_findings gauge")
        found = Counter((name, finding.code, finding.severity) for name, finding in findings)
        lines += [
            f'smidgen_model_findings{{model="{name}",code="{code}",severity="{severity}"}} {n}'
            for (name, code, severity), n in sorted(found.items())
        ]
        told = set[str]()
        for name, labels, value in gauges:
            lines += [f"# TYPE {name} gauge"] if name not in told else []
            told.add(name)
            lines.append(f"{name}{_labels({}, **labels)} {value}")
        return "\n".join(lines) + "\n"

    def _sorted(self) -> list[tuple[tuple[str, str], int]]:
        return sorted(self._counts.items())


def _labels(note: Note, **more: Any) -> str:
    """Labels as they are written; that of a worker, where there are several, first."""
    told = {**({"worker": note["worker"]} if "worker" in note else {}), **more}
    return "{" + ",".join(f'{name}="{value}"' for name, value in told.items()) + "}" if told else ""
