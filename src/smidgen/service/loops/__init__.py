"""Loops: the kinds of decisions, one file each, and their evaluators."""
