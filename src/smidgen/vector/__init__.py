"""Arithmetic in vector registers: for the few kernels that need it (decision 011).

`lanes` has the instructions, eight numbers at a time; `arrays` (inner products, shifts) and `normals` are built on
them. `row_sums` (a sparse row times a block of classes) and `single_scores` (the highest of many scores) are whole
loops in the compiler's own terms. Each instruction has a plain twin, its body.
"""
