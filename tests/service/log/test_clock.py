"""Times are written to the millisecond, like those of the standard library."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import example, given
from hypothesis import strategies as st

from smidgen.service.log.events import stamp

SECONDS = st.floats(-1e9, 1e11)


@given(st.one_of(SECONDS, SECONDS.map(lambda seconds: round(seconds) - 5e-7), SECONDS.map(round)))
@example(0.9999995)
@example(-0.25)
@example(1_795_000_000.9999999)
def test_a_time_is_formatted_as_in_the_standard_library(seconds: float) -> None:
    found = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    assert stamp(seconds) == found.replace("+00:00", "Z")
