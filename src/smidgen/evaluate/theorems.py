"""The older place of `smidgen.theory.theorems`: the same module."""

import sys

from smidgen.theory import theorems

sys.modules[__name__] = theorems
