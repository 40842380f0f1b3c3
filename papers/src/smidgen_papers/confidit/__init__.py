"""Crammer and Gentile (2013): multiclass classification from one bit, with upper confidence bounds."""

from smidgen_papers.confidit import (
    five_versions,
    noise_claims,
    online,
    online_claims,
    paper,
    readings,
    table_claims,
    tables,
    vowel_claims,
    vowels,
)

__all__ = [
    "five_versions",
    "noise_claims",
    "online",
    "online_claims",
    "paper",
    "readings",
    "table_claims",
    "tables",
    "vowel_claims",
    "vowels",
]
