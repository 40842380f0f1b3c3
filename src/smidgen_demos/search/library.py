"""The index, made on the first visit by a thread of its own, and searched there: neither holds up the service."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

from smidgen_demos.search.documents import read_documents
from smidgen_demos.search.index import Index

T = TypeVar("T")
_reader = ThreadPoolExecutor(1, thread_name_prefix="search")


@cache
def library() -> Index:
    """The documents of this machine, read once; called by the thread only."""
    return Index(read_documents())


async def with_library(work: Callable[[Index], T]) -> T:
    """Run a function on the index in the background. Waits until the index is loaded."""
    return await asyncio.get_running_loop().run_in_executor(_reader, lambda: work(library()))
