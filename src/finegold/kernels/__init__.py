"""Compiled functions on arrays.

Kernels do not handle names, files, objects or random state. Comments mark each argument as IN, OUT or IN/OUT.
Indices are unsigned, so that Numba need not test for negative ones in every access.
"""
