"""Figures for Prometheus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from smidgen.service.messages import Finding
    from smidgen.service.models.engine import Engine
    from smidgen.service.models.writer import Writer


class Metrics:
    """Counts of what happened since the start."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()

    def count(self, what: str, kind: str) -> None:
        """One more of this."""
        self._counts[what, kind] += 1

    def text(
        self, engine: Engine, writer: Writer, findings: Iterable[tuple[str, Finding]] = (), only: str | None = None
    ) -> str:
        """The exposition format; ``findings`` are those of models by name, ``only`` is the one model to tell of."""
        models = [model for name, model in list(engine.models.items()) if only in (None, name)]
        lines = ["# TYPE smidgen_feedback_total counter"]
        lines += [f'smidgen_feedback_total{{status="{k}"}} {n}' for (w, k), n in self._sorted() if w == "feedback"]
        lines += ["# TYPE smidgen_refused_total counter"]
        lines += [f'smidgen_refused_total{{type="{k}"}} {n}' for (w, k), n in self._sorted() if w == "refused"]
        lines += ["# TYPE smidgen_commits_total counter", f"smidgen_commits_total {writer.commits}"]
        lines += ["# TYPE smidgen_commands_total counter", f"smidgen_commands_total {writer.commands}"]
        lines += ["# TYPE smidgen_failed_snapshots_total counter"]
        lines += [f"smidgen_failed_snapshots_total {engine.failed_snapshots}"]
        lines += ["# TYPE smidgen_learners_in_memory gauge", f"smidgen_learners_in_memory {len(engine.learners)}"]
        for name, kind in (("decisions", "counter"), ("version", "counter"), ("late", "counter")):
            lines.append(f"# TYPE smidgen_model_{name} {kind}")
            lines += [f'smidgen_model_{name}{{model="{m.name}"}} {getattr(m, name)}' for m in models]
        lines.append("# TYPE smidgen_model_findings gauge")
        found = Counter((name, finding.code, finding.severity) for name, finding in findings)
        lines += [
            f'smidgen_model_findings{{model="{name}",code="{code}",severity="{severity}"}} {n}'
            for (name, code, severity), n in sorted(found.items())
        ]
        return "\n".join(lines) + "\n"

    def _sorted(self) -> list[tuple[tuple[str, str], int]]:
        return sorted(self._counts.items())
