"""A store in memory: an independent oracle, and a store for tests that need no disk."""

from service.memory.store import MemoryStore, Shelf

__all__ = ["MemoryStore", "Shelf"]
