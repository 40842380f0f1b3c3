"""Metrics for Prometheus: counters of this process, request durations, the process, the store and the models.

Everything is text in Prometheus' exposition format 0.0.4. Each process counts in its own memory; of several workers,
each publishes its figures as a `Note` (`resources.SharedStatus`), and the one that is asked writes them all.
"""

from __future__ import annotations

import os
import platform
import resource
import sys
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from smidgen import __version__

if TYPE_CHECKING:
    from smidgen.service.engine.engine import Engine
    from smidgen.service.engine.writer import Writer
    from smidgen.service.schemas import Finding
    from smidgen.service.storage.records import Counts

#: Figures that one process publishes.
Note = dict[str, Any]
#: Upper bounds of the buckets of `smidgen_request_seconds`.
BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
#: Most models that have series of their own, unless `--metrics-models` says otherwise.
MODELS = 200


class Metric(NamedTuple):
    """Name, kind and meaning of a metric."""

    name: str
    kind: str
    help: str


_FEEDBACK = Metric("smidgen_feedback_total", "counter", "Feedback received since the start, by status.")
_REFUSED = Metric("smidgen_refused_total", "counter", "Requests refused since the start, by type of error.")
_FORWARDED = Metric("smidgen_forwarded_total", "counter", "Requests passed to the owner of their shard, by result.")
#: Field of a note, and its metric.
_PROCESS = (
    ("commits", Metric("smidgen_commits_total", "counter", "Commits since the start.")),
    ("commands", Metric("smidgen_commands_total", "counter", "Commands in these commits.")),
    ("failed_snapshots", Metric("smidgen_failed_snapshots_total", "counter", "Snapshots that could not be written.")),
    ("learners_in_memory", Metric("smidgen_learners_in_memory", "gauge", "Learners in memory, keyed ones included.")),
    ("cpu", Metric("process_cpu_seconds_total", "counter", "User and system CPU time in seconds.")),
    ("resident", Metric("process_resident_memory_bytes", "gauge", "Resident memory in bytes.")),
    ("virtual", Metric("process_virtual_memory_bytes", "gauge", "Virtual memory in bytes.")),
    ("started", Metric("process_start_time_seconds", "gauge", "Start of the process, in seconds since 1970.")),
    ("open_files", Metric("process_open_fds", "gauge", "Open file descriptors.")),
    ("max_files", Metric("process_max_fds", "gauge", "Limit of open file descriptors.")),
)
_WEBHOOKS = Metric("smidgen_webhooks_total", "counter", "Webhook messages delivered, failed or dropped.")
_SECONDS = Metric("smidgen_request_seconds", "histogram", "Time to answer a request, by route, method and status.")
_BUILD = Metric("smidgen_build_info", "gauge", "Always 1; the labels name the versions.")
#: Field of a model's counts, and its metric.
_MODEL = (
    ("decisions", Metric("smidgen_model_decisions_total", "counter", "Decisions in the log.")),
    ("late", Metric("smidgen_model_late_total", "counter", "Feedback that came after the window.")),
    ("version", Metric("smidgen_model_version", "gauge", "Version of the model: events that changed weights.")),
)
_FINDINGS = Metric("smidgen_model_findings", "gauge", "Health findings, by code and severity.")
_LEFT_OUT = Metric("smidgen_models_without_series", "gauge", "Models beyond the limit of --metrics-models.")
STORE = Metric("smidgen_store_bytes", "gauge", "Size of the database in bytes.")
WORKERS = Metric("smidgen_workers", "gauge", "Workers of this machine that run.")
OWNED = Metric("smidgen_shards_owned", "gauge", "Shards that a worker owns.")
LAG = Metric("smidgen_lag_events", "gauge", "Events of other workers that this one has still to apply.")
#: Field of the figures of a budget, and its metric.
BUDGET = (
    ("limit", Metric("smidgen_model_cost_limit", "gauge", "Limit on the mean cost of a decision, by currency.")),
    ("mean", Metric("smidgen_model_cost_mean", "gauge", "Mean cost of all decisions, by currency.")),
    ("recent", Metric("smidgen_model_cost_recent", "gauge", "Mean cost of the last 200 decisions, by currency.")),
    ("price", Metric("smidgen_model_price", "gauge", "Price that a budget puts on cost, by currency.")),
)

#: A metric, the labels of one series of it, and the value.
Gauge = tuple[Metric, Mapping[str, Any], float]


class Metrics:
    """Counts of this process since its start."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()
        self._requests: dict[tuple[str, str, int], list[float]] = {}
        self._started = time.time() - _age()

    def count(self, what: str, kind: str) -> None:
        """Count one more `feedback` with this status, one more `refused` of this type, or one more of another kind."""
        self._counts[what, kind] += 1

    def observe(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request that was answered: in its bucket, and in the sum of seconds."""
        found = self._requests.get((route, method, status))
        if found is None:
            found = self._requests[route, method, status] = [0.0] * (len(BUCKETS) + 2)
        found[bisect_left(BUCKETS, seconds)] += 1
        found[-1] += seconds

    def status_of(self, engine: Engine, writer: Writer) -> Note:
        """Figures of this process."""
        return {
            **self.process_note(),
            "counts": [[what, kind, n] for (what, kind), n in sorted(self._counts.items())],
            "requests": [[*key, *found] for key, found in sorted(self._requests.items())],
            "commits": writer.commits,
            "commands": writer.commands,
            "failed_snapshots": engine.snapshots.failed,
            "learners_in_memory": len(engine.learners),
        }

    def process_note(self) -> Note:
        """Figures of a process that has no engine."""
        return {"counts": [], "requests": [], "started": round(self._started, 2), **_process_figures()}


def exposition(
    notes: Sequence[Note],
    models: Iterable[tuple[str, Counts]],
    findings: Iterable[tuple[str, Finding]] = (),
    gauges: Iterable[Gauge] = (),
    left_out: int = 0,
) -> str:
    """Write all metrics as text.

    Parameters
    ----------
    notes
        Figures of each process; those of several workers have the field ``worker``.
    models, findings
        Counts and health findings of the models, by name.
    gauges
        Other series.
    left_out
        How many models have no series of their own.
    """
    known = list(models)
    page = _Page()
    page.add(_BUILD, {"version": __version__, "python": platform.python_version()}, 1)
    for metric, what, label in (
        (_FEEDBACK, "feedback", "status"),
        (_REFUSED, "refused", "type"),
        (_WEBHOOKS, "webhook", "result"),
        (_FORWARDED, "forwarded", "result"),
    ):
        page.head(metric)
        for note in notes:
            for of, kind, n in note["counts"]:
                if of == what:
                    page.add(metric, {**_worker(note), label: kind}, n)
    for field, metric in _PROCESS:
        for note in notes:
            if field in note:
                page.add(metric, _worker(note), note[field])
    page.head(_SECONDS)
    for note in notes:
        for route, method, status, *found in note["requests"]:
            page.histogram({**_worker(note), "route": route, "method": method, "status": status}, found)
    for field, metric in _MODEL:
        page.head(metric)
        for name, counts in known:
            page.add(metric, {"model": name}, getattr(counts, field))
    page.head(_FINDINGS)
    numbers = Counter((name, finding.code, finding.severity) for name, finding in findings)
    for (name, code, severity), n in sorted(numbers.items()):
        page.add(_FINDINGS, {"model": name, "code": code, "severity": severity}, n)
    page.add(_LEFT_OUT, {}, left_out)
    for metric, labels, value in gauges:
        page.add(metric, labels, value)
    return page.text()


class _Page:
    """Lines of the exposition format, each metric with its head once."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._heads: set[str] = set()

    def head(self, metric: Metric) -> None:
        if metric.name not in self._heads:
            self._heads.add(metric.name)
            self._lines += [f"# HELP {metric.name} {metric.help}", f"# TYPE {metric.name} {metric.kind}"]

    def add(self, metric: Metric, labels: Mapping[str, Any], value: float) -> None:
        self.head(metric)
        self._line(metric.name, labels, value)

    def histogram(self, labels: Mapping[str, Any], found: Sequence[float]) -> None:
        total = 0.0
        for bound, n in zip((*BUCKETS, "+Inf"), found[:-1], strict=True):
            total += n
            self._line(f"{_SECONDS.name}_bucket", {**labels, "le": bound}, total)
        self._line(f"{_SECONDS.name}_sum", labels, found[-1])
        self._line(f"{_SECONDS.name}_count", labels, total)

    def text(self) -> str:
        return "\n".join(self._lines) + "\n"

    def _line(self, name: str, labels: Mapping[str, Any], value: float) -> None:
        inside = ",".join(f'{label}="{_escape(str(text))}"' for label, text in labels.items())
        number = int(value) if value == int(value) else repr(float(value))
        self._lines.append(f"{name}{{{inside}}} {number}" if inside else f"{name} {number}")


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _worker(note: Note) -> dict[str, Any]:
    return {"worker": note["worker"]} if "worker" in note else {}


def _process_figures() -> Note:
    """CPU, memory and open files of this process; what the operating system does not say is left out."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    found: Note = {"cpu": round(used.ru_utime + used.ru_stime, 3), "max_files": _most_files()}
    try:
        pages = Path("/proc/self/statm").read_text().split()
        found["open_files"] = len(os.listdir("/proc/self/fd")) - 1
    except OSError:
        return found | {"resident": used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)}
    size = resource.getpagesize()
    return found | {"virtual": int(pages[0]) * size, "resident": int(pages[1]) * size}


def _most_files() -> int:
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def _age() -> float:
    """Seconds since this process started."""
    try:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        up = float(Path("/proc/uptime").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return time.process_time()
    return up - ticks / os.sysconf("SC_CLK_TCK")
