"""A store in memory: an independent oracle, and a store for tests that need no disk."""

from service.memory.store import CommittedTables, MemoryStore

__all__ = ["CommittedTables", "MemoryStore"]
