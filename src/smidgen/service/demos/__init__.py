"""What the demos have in common: a frame for their page, and an ordinary model under a name of their own."""

from smidgen.service.demos.demo import DemoPage, NothingBody, told

__all__ = ["DemoPage", "NothingBody", "told"]
