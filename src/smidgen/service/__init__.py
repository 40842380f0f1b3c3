"""The decision service: two verbs over HTTP, every decision and reaction on disk before it is answered.

The names below are the public path of the service. Modules inside may move. Each name is imported when it is first
used, so that ``import smidgen.service`` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from smidgen.service.admin.backup import backup, restore
    from smidgen.service.admin.fsck import fsck
    from smidgen.service.engine.engine import Engine
    from smidgen.service.engine.inspection import Inspection
    from smidgen.service.engine.log_sources import StoreSource
    from smidgen.service.http.app import create_app
    from smidgen.service.http.plugins import mount, unmount
    from smidgen.service.http.resources import Options
    from smidgen.service.http.rights import Rule, grant_of
    from smidgen.service.loops.base import Loop, ParsedFeedback
    from smidgen.service.loops.evaluator import CoactiveEvaluator, Evaluator
    from smidgen.service.ope.replay import replay
    from smidgen.service.ope.whatif import what_if
    from smidgen.service.schemas import Candidate, DecisionBody, FeedbackBody, ModelBody
    from smidgen.service.storage.address import open_store
    from smidgen.service.storage.protocol import Store, StoreReader
    from smidgen.service.storage.sqlite import SQLiteStore

_HOME = {
    "Candidate": "schemas",
    "CoactiveEvaluator": "loops.evaluator",
    "DecisionBody": "schemas",
    "Engine": "engine.engine",
    "Evaluator": "loops.evaluator",
    "FeedbackBody": "schemas",
    "Inspection": "engine.inspection",
    "Loop": "loops.base",
    "ModelBody": "schemas",
    "Options": "http.resources",
    "ParsedFeedback": "loops.base",
    "Rule": "http.rights",
    "SQLiteStore": "storage.sqlite",
    "Store": "storage.protocol",
    "StoreReader": "storage.protocol",
    "StoreSource": "engine.log_sources",
    "backup": "admin.backup",
    "create_app": "http.app",
    "fsck": "admin.fsck",
    "grant_of": "http.rights",
    "mount": "http.plugins",
    "open_store": "storage.address",
    "replay": "ope.replay",
    "restore": "admin.backup",
    "unmount": "http.plugins",
    "what_if": "ope.whatif",
}

__all__ = [
    "Candidate",
    "CoactiveEvaluator",
    "DecisionBody",
    "Engine",
    "Evaluator",
    "FeedbackBody",
    "Inspection",
    "Loop",
    "ModelBody",
    "Options",
    "ParsedFeedback",
    "Rule",
    "SQLiteStore",
    "Store",
    "StoreReader",
    "StoreSource",
    "backup",
    "create_app",
    "fsck",
    "grant_of",
    "mount",
    "open_store",
    "replay",
    "restore",
    "unmount",
    "what_if",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'smidgen.service' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(f"smidgen.service.{_HOME[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
