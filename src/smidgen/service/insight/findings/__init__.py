"""The findings of a model's health: one file each, found by being there."""
