"""What the demos have in common: a frame for their page, and an ordinary model under a name of their own."""

from smidgen.service.demos.demo import DemoPage, NothingBody
from smidgen.service.http.assets import uncached

__all__ = ["DemoPage", "NothingBody", "uncached"]
