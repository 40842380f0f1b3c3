"""The golden files of a format: a data folder, its exported logs, every learner saved, and what was known of it."""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import smidgen
from golden.scenes import NEXT, missing, requests, tell
from service.asgi import Caller
from service.bodies import Clock
from smidgen import serialization
from smidgen.learners import cards, learners
from smidgen.service.storage.formats import LOG, parts
from smidgen.testing.learners import cases_of

HERE = Path(__file__).parent
#: When the folders are open_read_only again.
LATER = 1_800_500_000.0
#: Of a learner whose decisions take more bytes than this, one is enough.
LARGE = 20_000
#: Of replies, what differs from run to run.
VOLATILE = ("decision", "expires_at")


def machine() -> dict[str, str]:
    """Properties of the machine on which the last bit of floats depends."""
    config: Any = np.show_config(mode="dicts")
    found = config.get("SIMD Extensions", {}).get("found", [])
    return {"machine": platform.machine(), "instructions": ",".join(found), "numpy": np.__version__}


def own_learners() -> list[str]:
    """The registered learners that are ours."""
    return [name for name in sorted(cards) if learners[name].__module__.startswith("smidgen.")]


def save_learners(folder: Path, names: Sequence[str]) -> None:
    """Learners: each as it was saved, the feedback that it got then, and its bytes after that."""
    for name in names:
        case = next(iter(cases_of(learners[name])))
        learner, contexts = case.make(), case.form.contexts(1, 9)
        case.play(learner, contexts[:6], seed=1)
        (folder / f"{name}.smidgen").write_bytes(learner.to_bytes())
        more = []
        for context in contexts[6:]:
            decision = learner.decide(context)
            heard = case.form.may_learn(learner, decision)
            feedback = case.form.feedback(learner, decision, 1) if heard else None
            if heard:
                learner.learn(decision, feedback)
            content = np.frombuffer(decision.to_bytes(), np.uint8)
            more.append([context, content, heard, feedback])
            if len(content) > LARGE:
                break
        (folder / f"{name}.next").write_bytes(serialization.encode({"told": more}))
        (folder / f"{name}.after").write_bytes(learner.to_bytes())


def keys_of(call: Caller, name: str) -> list[str | None]:
    """The keys that a model has heard of; None if it has none."""
    lines = [json.loads(line) for line in call.get(f"/v1/models/{name}/log").text.splitlines()]
    found = sorted({line["key"] for line in lines if line.get("key") is not None})
    return list(found) if found else [None]


def weights_of(call: Caller, name: str) -> dict[str, Any]:
    """All weights of a model, by key."""
    out: dict[str, Any] = {}
    for key in keys_of(call, name):
        answer = call.get(f"/v1/models/{name}/weights", params={"limit": 1000} | ({"key": key} if key else {}))
        reply = answer.json()
        out[key or ""] = reply["weights"] if answer.status_code == 200 else answer.status_code
    return out


def state_of(call: Caller, name: str) -> dict[str, Any]:
    """State of a model as the service reports it."""
    reply = call.get(f"/v1/models/{name}").json()
    known = ("loop", "learner", "model_version", "decisions", "archived_at")
    return {**{field: reply.get(field) for field in known}, "weights": weights_of(call, name)}


def continued(call: Caller) -> dict[str, Any]:
    """Next answers of the models of every loop, and their learned state."""
    out = {}
    asked = {name: (request, answers[-1]) for name, _, request, answers in requests()} | NEXT
    for name, (request, answer) in asked.items():
        if call.get(f"/v1/models/{name}").status_code != 200:
            continue  # a loop, or a story, that the format does not know
        made = call.post(f"/v1/models/{name}/decisions", request).json()
        if made.get("forward", True):
            call.post(f"/v1/decisions/{made['decision']}/feedback", answer)
        reply = {field: value for field, value in made.items() if field not in VOLATILE}
        out[name] = {"reply": reply, "weights": weights_of(call, name)}
    return out


def known(folder: Path) -> dict[str, Any]:
    """State of a copy of the folder, before and after more rounds."""
    clock = Clock()
    clock.now = LATER
    with tempfile.TemporaryDirectory() as aside:
        copy = Path(shutil.copytree(folder, Path(aside) / "data"))
        with Caller(copy, clock=clock) as call:
            names = [model["name"] for model in call.get("/v1/models").json()["models"]]
            models = {name: state_of(call, name) for name in names}
            return {"models": models, "continued": continued(call)}


def export(folder: Path, logs: Path) -> None:
    """The log of every model as NDJSON."""
    logs.mkdir()
    with tempfile.TemporaryDirectory() as aside:
        copy = Path(shutil.copytree(folder, Path(aside) / "data"))
        clock = Clock()
        clock.now = LATER
        with Caller(copy, clock=clock) as call:
            for model in call.get("/v1/models").json()["models"]:
                text = call.get(f"/v1/models/{model['name']}/log").content
                (logs / f"{model['name']}.ndjson").write_bytes(text)


def write(target: Path, number: str) -> None:
    """Write all of it, aside first, so that nothing half is left."""
    with tempfile.TemporaryDirectory() as aside:
        made = Path(aside) / number
        made.mkdir()
        types = tell(made / "data")
        if lacking := missing(types):
            raise SystemExit(
                f"no story writes events of the types {sorted(lacking)}: add one to tests/golden/scenes.py"
            )
        for leftover in (made / "data").glob("*-shm"):
            leftover.unlink()
        export(made / "data", made / "logs")
        (made / "learners").mkdir()
        save_learners(made / "learners", own_learners())
        fields = {
            "format": number,
            "parts": parts(),
            "smidgen": smidgen.__version__,
            "machine": machine(),
            "types": sorted(types),
            "learners": own_learners(),
        }
        (made / "known.json").write_text(json.dumps(fields | known(made / "data"), indent=1, sort_keys=True) + "\n")
        if target.exists():
            shutil.rmtree(target)
        shutil.copytree(made, target)


def add(target: Path) -> list[str]:
    """Add the learners that came after the folder was written; what is there stays. Gives their names."""
    found = json.loads((target / "known.json").read_text())
    new = [name for name in own_learners() if name not in found["learners"]]
    if new:
        save_learners(target / "learners", new)
        found["learners"] = sorted([*found["learners"], *new])
        found["added"] = found.get("added", {}) | {name: machine() for name in new}
        (target / "known.json").write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
    return new


def main(arguments: Sequence[str]) -> None:
    """Write the files of a format, if there are none yet; else those of the learners that are missing."""
    parser = argparse.ArgumentParser(prog="python tests/golden/write.py", description=__doc__)
    parser.add_argument("format", nargs="?", default=LOG, help=f"the number of the format; left out: {LOG}")
    parser.add_argument("--force", action="store_true", help="overwrite: only before the format was released")
    given = parser.parse_args(arguments)
    target = HERE / given.format
    if given.format != LOG:
        raise SystemExit(f"this smidgen writes the format {LOG}, not {given.format}")
    if not target.exists() or given.force:
        write(target, given.format)
    elif new := add(target):
        print(f"added: {', '.join(new)}")
    else:
        raise SystemExit(f"{target} is there: a format that was released stays as it is; raise the number instead")
    size = sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
    print(f"{target}: {size / 1e6:.2f} MB")
