"""Doors: calls of other systems, translated into ours. Each is a guest, and one file."""
