"""Compiled functions: arrays in, arrays out, nothing else.

Kernels know no names, files, classes or random state. Arguments are marked IN or OUT where a kernel writes.
Indices are unsigned, because Numba then need not test for negative ones in every access.
"""
