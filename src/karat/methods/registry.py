"""The list of methods. One line here adds a method to the command line, the classes of `karat`, the checks of
`karat.checks`, the documentation and the benchmarks. Importing this module does not import the methods."""

from __future__ import annotations

__all__ = ["ALIASES", "DEFAULT_METHOD", "REGISTRY"]

DEFAULT_METHOD = "anchored"  # if the user names none

ALIASES = {"auto": DEFAULT_METHOD}  # names of removed methods, and what they mean now

REGISTRY = {
    "mv": "karat.methods.mv:MajorityVote",
    "catd": "karat.methods.catd:CATD",
    "ds": "karat.methods.ds:DS",
    "glad": "karat.methods.glad:GLAD",
    "ibcc": "karat.methods.ibcc:IBCC",
    "cbcc": "karat.methods.cbcc:CBCC",
    "bwa": "karat.methods.bwa:BWA",
    "tiremge": "karat.methods.tiremge:TiReMGE",
    "ebcc": "karat.methods.ebcc:EBCC",
    "fgbcc": "karat.methods.fgbcc:FGBCC",
    "ptbcc": "karat.methods.ptbcc:PTBCC",
    "hds": "karat.methods.hds:HDS",
    "hpt": "karat.methods.hpt:HPT",
    "anchored": "karat.methods.anchored:AnchoredVote",
}
