"""The public names of Finegold, for editors and type checkers: the names of `_HOME` in `__init__.py`."""

from finegold import checks as checks
from finegold import judges as judges
from finegold import paper as paper
from finegold.api.aggregate import aggregate as aggregate
from finegold.api.aggregate import next_votes as next_votes
from finegold.api.dawid_skene import DawidSkene as DawidSkene
from finegold.api.estimators import BWA as BWA
from finegold.api.estimators import CATD as CATD
from finegold.api.estimators import CBCC as CBCC
from finegold.api.estimators import DS as DS
from finegold.api.estimators import EBCC as EBCC
from finegold.api.estimators import FGBCC as FGBCC
from finegold.api.estimators import GLAD as GLAD
from finegold.api.estimators import HDS as HDS
from finegold.api.estimators import HPT as HPT
from finegold.api.estimators import IBCC as IBCC
from finegold.api.estimators import PTBCC as PTBCC
from finegold.api.estimators import AnchoredVote as AnchoredVote
from finegold.api.estimators import TiReMGE as TiReMGE
from finegold.api.evaluate import agreement as agreement
from finegold.api.evaluate import audit as audit
from finegold.api.evaluate import compare as compare
from finegold.api.evaluate import evaluate as evaluate
from finegold.api.result import Result as Result
from finegold.api.result import load as load
from finegold.api.weighted_votes import MajorityVote as MajorityVote
from finegold.api.weighted_votes import Wawa as Wawa
from finegold.errors import FinegoldError as FinegoldError
from finegold.errors import FinegoldWarning as FinegoldWarning
from finegold.errors import InputError as InputError
from finegold.errors import NotFittedError as NotFittedError
from finegold.errors import OutputError as OutputError
from finegold.insight import coverage as coverage
from finegold.io.read import read as read
from finegold.io.read import read_each as read_each
from finegold.io.writeback import write_back as write_back
from finegold.io.writers import write_votes as write_votes
from finegold.methods.base import Method as Method
from finegold.methods.lookup import register as register
from finegold.paper.datasets import load_dataset as load_dataset
from finegold.votes.annotations import Annotations as Annotations
from finegold.votes.simulation import simulate as simulate

__version__: str

__all__ = [
    "BWA",
    "CATD",
    "CBCC",
    "DS",
    "EBCC",
    "FGBCC",
    "GLAD",
    "HDS",
    "HPT",
    "IBCC",
    "PTBCC",
    "AnchoredVote",
    "Annotations",
    "DawidSkene",
    "FinegoldError",
    "FinegoldWarning",
    "InputError",
    "MajorityVote",
    "Method",
    "NotFittedError",
    "OutputError",
    "Result",
    "TiReMGE",
    "Wawa",
    "aggregate",
    "agreement",
    "audit",
    "compare",
    "coverage",
    "evaluate",
    "load",
    "load_dataset",
    "next_votes",
    "read",
    "read_each",
    "register",
    "simulate",
    "write_back",
    "write_votes",
]
