"""The names of the methods, where they live, and which is the default. Importing this module does
not import them.

`python tools/make_methods.py` writes the list, from the classes in this folder. A line brings the
choice on the command line, the class in `finegold`, the laws of `finegold.checks`, the page of
methods and the benchmarks.
"""

from __future__ import annotations

# if the user names none
DEFAULT_METHOD = "anchored"

REGISTRY = {
    "mv": "finegold.methods.mv:MajorityVote",
    "catd": "finegold.methods.catd:CATD",
    "ds": "finegold.methods.ds:DS",
    "glad": "finegold.methods.glad:GLAD",
    "ibcc": "finegold.methods.ibcc:IBCC",
    "cbcc": "finegold.methods.cbcc:CBCC",
    "bwa": "finegold.methods.bwa:BWA",
    "tiremge": "finegold.methods.tiremge:TiReMGE",
    "ebcc": "finegold.methods.ebcc:EBCC",
    "fgbcc": "finegold.methods.fgbcc:FGBCC",
    "ptbcc": "finegold.methods.ptbcc:PTBCC",
    "hds": "finegold.methods.hds:HDS",
    "anchored": "finegold.methods.anchored:AnchoredVote",
}
