"""Kernels that numba compiles, for the players of whole experiments: steps, projections, directions, vectors.

They compute what the learners compute, as one loop: a player runs thousands of rounds without a call from Python.
Tests hold the players equal to the two verbs of the learners.
"""
