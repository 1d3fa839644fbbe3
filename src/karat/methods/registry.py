"""The only list of methods. A line here brings the command-line choice, the class in `karat`, the laws, the
documentation's row and the benchmark's row. Loading it loads none of them."""

from __future__ import annotations

__all__ = ["ALIASES", "DEFAULT_METHOD", "REGISTRY"]

DEFAULT_METHOD = "anchored"  # wherever the user names none

ALIASES = {"auto": DEFAULT_METHOD}  # names of methods that are gone, and what they mean now

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
