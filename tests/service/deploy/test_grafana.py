"""The Grafana dashboard asks for figures that the service gives."""

from __future__ import annotations

import json
import re
from pathlib import Path

from service.asgi import Caller

BOARD = Path(__file__).parents[3] / "deploy" / "grafana.json"


def test_every_figure_is_there(tmp_path: Path) -> None:
    asked = set(re.findall(r"smidgen_\w+", json.dumps(json.loads(BOARD.read_text())["panels"])))
    assert len(asked) >= 7
    with Caller(tmp_path) as call:
        call.put("/v1/models/routes", {"loop": "choose", "budget": {"usd": 2}})
        call.post("/v1/models/routes/decisions", {"candidates": [{"id": "a", "costs": {"usd": 1}}]})
        call.post("/v1/models/nobody/decisions", {})
        given = set(re.findall(r"smidgen_\w+", call.get("/metrics").text))
    assert asked <= given


def test_panels_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in json.loads(BOARD.read_text())["panels"]:
        place = panel["gridPos"]
        cells = {(place["x"] + i, place["y"] + j) for i in range(place["w"]) for j in range(place["h"])}
        assert place["x"] + place["w"] <= 24
        assert not cells & taken
        taken |= cells
