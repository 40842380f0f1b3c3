"""Entry point of the module that knows the processor."""

def levels() -> tuple[str, ...]:
    """The instruction-set levels that this processor has, the best first."""
