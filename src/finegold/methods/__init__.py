"""The maths, one file per method, in the symbols of its paper. `registry` lists the methods,
`lookup` makes them.
"""
