"""The older place of `smidgen.theory.bounds`: the same module."""

import sys

from smidgen.theory import bounds

sys.modules[__name__] = bounds
