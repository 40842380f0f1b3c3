"""Arithmetic in vector registers: for the few kernels that need it (decision 011).

`lanes` has the instructions, eight numbers at a time; `arrays` (inner products, shifts) and `normals` are built on
them, and `memory` makes arrays that lie well for them. `row_sums` (a sparse row times a block of classes),
`short_scores` (the highest of many scores) and `places` (how many rank before one) are written in the compiler's own
terms too. Each instruction has a plain twin, its body.
"""
