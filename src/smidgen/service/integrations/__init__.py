"""Interfaces of other systems, and export formats."""
