"""Bytes of SQLite per event: decisions on compact float32 bodies, and a click on each.

Run with ``python -m benchmarks.record_bytes``. All goes through the engine, as HTTP requests do; the size is that of
the database file when the service has closed it, without any clean-up, divided by the number of events.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from smidgen.service.engine.engine import Engine
from smidgen.service.loops.registry import loops
from smidgen.service.schemas import Compact, CompactCandidates, ModelBody

#: Candidates, features, and the bytes per event of the first version.
SIZES = ((10, 10, 2300.0), (50, 100, 30_000.0))
AIM = 0.45


class Measured(NamedTuple):
    """Bytes of a size."""

    candidates: int
    features: int
    events: int
    per_event: float
    first_version: float

    @property
    def share(self) -> float:
        """Of what the first version took."""
        return self.per_event / self.first_version


def measure(candidates: int, features: int, before: float, decisions: int = 1500) -> Measured:
    """Play decisions and clicks, close, and look at the file."""
    rng = np.random.default_rng(candidates)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        engine = Engine(folder, synchronous="OFF", snapshot_every=1 << 62)
        body = ModelBody(loop="rank", learner="PreferencePerceptron", params={"dim": features})
        engine.run(lambda: engine.create("m", body))
        ids = [f"d{i}" for i in range(candidates)]

        def one() -> None:
            rows = rng.normal(size=(candidates, features)).astype("<f4")
            compact = Compact(shape=(candidates, features), f32=rows.tobytes())
            asked = loops.decision(candidates=CompactCandidates(ids=ids, features=compact))
            reply = engine.decide("m", asked)
            engine.feedback(reply["decision"], loops.feedback(clicked=[reply["ranking"][2]]))

        for _ in range(decisions // 50):
            engine.run(lambda: [one() for _ in range(50)])
        events = engine.model("m").seq
        engine.close()
        size = sum(file.stat().st_size for file in folder.glob("smidgen.db*"))
    return Measured(candidates, features, events, size / events, before)


def main() -> None:
    """Measure and print."""
    print("candidates  features  events  bytes per event  of the first version  aim")
    for size in SIZES:
        found = measure(*size)
        print(
            f"{found.candidates:10d}  {found.features:8d}  {found.events:6d}  {found.per_event:15.0f}"
            f"  {found.share:20.2f}  ≤ {AIM}"
        )


if __name__ == "__main__":
    main()
