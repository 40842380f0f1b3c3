"""What the demos have in common: a frame for their page, and an ordinary model under a name of their own."""

from smidgen.service.demos.demo import Demo, NothingBody, told

__all__ = ["Demo", "NothingBody", "told"]
