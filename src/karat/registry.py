"""The only list of methods. A line here brings the command-line choice, the class in `karat`, the laws, the
documentation's row and the benchmark's row. Loading it loads no method."""

from __future__ import annotations

__all__ = ["REGISTRY"]

REGISTRY = {
    "mv": "karat.methods.mv:MajorityVote",
    "ds": "karat.methods.ds:DS",
    "glad": "karat.methods.glad:GLAD",
    "ibcc": "karat.methods.ibcc:IBCC",
    "tiremge": "karat.methods.tiremge:TiReMGE",
    "fgbcc": "karat.methods.fgbcc:FGBCC",
    "catd": "karat.methods.catd:CATD",
    "bwa": "karat.methods.bwa:BWA",
    "cbcc": "karat.methods.cbcc:CBCC",
    "ebcc": "karat.methods.ebcc:EBCC",
    "ptbcc": "karat.methods.ptbcc:PTBCC",
    "hds": "karat.methods.hds:HDS",
    "hpt": "karat.methods.hpt:HPT",
    "auto": "karat.methods.auto:Auto",
}
