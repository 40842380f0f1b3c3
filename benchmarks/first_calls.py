"""What the first calls of a new service cost: CPU time of its process, and its memory (Linux).

    python -m benchmarks.first_calls [PYTHON …]

For each loop a new process: start to ready, then the first PUT, decision and feedback. Then one process with a model of
each loop, for its memory. Interpreters of other environments are measured in turns with this one. CPU time, as a busy
machine changes wall time.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from smidgen.service.loops.registry import loops

#: How often each is measured; the median counts.
TIMES = 3
#: What the default learner learns from, where the example shows another.
FEEDBACK = {"choose": {"reward": 1.0}}


class Service:
    """One that runs, and its process."""

    def __init__(self, pid: int, url: str) -> None:
        self.pid, self.client = pid, httpx.Client(base_url=url, timeout=300)

    def cpu(self) -> float:
        """CPU seconds of all threads until now."""
        tasks = Path(f"/proc/{self.pid}/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9

    def memory(self) -> float:
        """Resident memory in MB."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1000

    def call(self, method: str, path: str, body: Any) -> tuple[Any, float]:
        """Send a request; return the answer, and the CPU time that it took."""
        before = self.cpu()
        answer = self.client.request(method, path, json=body)
        assert answer.is_success, answer.text
        return answer.json(), self.cpu() - before

    def first_calls(self, loop: str) -> dict[str, float]:
        """CPU time of the first PUT, decision and feedback of a loop."""
        example = loops[loop].example
        _, put = self.call("PUT", f"/v1/models/{loop}", {"loop": loop, **example.model})
        reply, decision = self.call("POST", f"/v1/models/{loop}/decisions", example.request)
        _, feedback = self.call(
            "POST", f"/v1/decisions/{reply['decision']}/feedback", FEEDBACK.get(loop, example.feedback[0][1])
        )
        return {"PUT": put, "decision": decision, "feedback": feedback}


@contextmanager
def served(python: str) -> Iterator[Service]:
    """A new service, ready."""
    with tempfile.TemporaryDirectory() as folder:
        command = [python, "-m", "smidgen", "serve", "--port", "0", "--data", folder]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=folder)
        assert process.stdout is not None
        said = process.stdout.readline()
        service = Service(process.pid, said.split()[3])
        service.client.get("/readyz").raise_for_status()
        try:
            yield service
        finally:
            service.client.close()
            process.terminate()
            process.communicate()


def measure(pythons: list[str]) -> dict[tuple[str, str], dict[str, float]]:
    """Medians by what was called and by interpreter."""
    found: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for _ in range(TIMES):
        for python in pythons:
            for loop in loops:
                with served(python) as service:
                    found["start to ready", "s"][python].append(service.cpu())
                    for name, seconds in service.first_calls(loop).items():
                        found[f"{loop}: first {name}", "s"][python].append(seconds)
            with served(python) as service:
                for loop in loops:
                    service.first_calls(loop)
                found["resident after one model of each loop", "MB"][python].append(service.memory())
    return {row: {python: statistics.median(each) for python, each in by.items()} for row, by in found.items()}


def main() -> None:
    """Print the medians, a column for each interpreter."""
    pythons = [sys.executable, *sys.argv[1:]]
    for (name, unit), by in measure(pythons).items():
        print(f"{name:40}", *(f"{by[python]:8.3f} {unit}" for python in pythons))


if __name__ == "__main__":
    main()
