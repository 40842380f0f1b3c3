"""Limits of records. A larger record is refused at once, so that no input costs unbounded time.

The guide "Records in, names out" states every number; a test compares it with these.
"""

from __future__ import annotations

#: Fields of one record, those of nested objects counted too.
FIELDS = 1_000
#: Objects inside objects.
DEPTH = 8
#: Characters of the name of a field.
KEY = 200
#: Characters of a category.
CATEGORY = 1_000
#: Characters of a text.
TEXT = 131_072
#: Entries of a list.
LIST = 1_000
#: Numbers of a vector.
SHORTEST_VECTOR, LONGEST_VECTOR = 2, 4_096
#: Columns of crosses of vectors with candidates.
VECTOR_CROSSES = 1_024
#: Categories of one candidate that a context's vector is crossed with.
VECTOR_GROUPS = 4
#: Numbers beyond ± this are refused.
LARGEST = 1e100
#: Characters of a feature's name; a longer one is cut, and distinguished by a digest.
NAME = 200
#: Crosses of one candidate with its context.
CROSSES = 256
#: Candidates of one decision.
CANDIDATES = 10_000
#: Numbers of a kind of record (context, or candidate and plain record) that get an indicator when they are absent.
INDICATORS = 64
#: Fields whose look-up tables are kept at a time.
TABLES = 4_096
