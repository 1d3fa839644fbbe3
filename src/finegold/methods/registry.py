"""The list of methods. One line here adds a method to the command line, the classes of `finegold`, the checks of
`finegold.checks`, the documentation and the benchmarks. Importing this module does not import the methods."""

from __future__ import annotations

__all__ = ["DEFAULT_METHOD", "REGISTRY"]

DEFAULT_METHOD = "anchored"  # if the user names none

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
    "hpt": "finegold.methods.hpt:HPT",
    "anchored": "finegold.methods.anchored:AnchoredVote",
}
