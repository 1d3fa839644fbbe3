"""The public names of Karat, for editors and type checkers: the names of `_HOME` in `__init__.py`."""

from karat import checks as checks
from karat import judges as judges
from karat import paper as paper
from karat.api.aggregate import aggregate as aggregate
from karat.api.agreement import agreement as agreement
from karat.api.audit import audit as audit
from karat.api.compare import compare as compare
from karat.api.dawid_skene import DawidSkene as DawidSkene
from karat.api.estimators import BWA as BWA
from karat.api.estimators import CATD as CATD
from karat.api.estimators import CBCC as CBCC
from karat.api.estimators import DS as DS
from karat.api.estimators import EBCC as EBCC
from karat.api.estimators import FGBCC as FGBCC
from karat.api.estimators import GLAD as GLAD
from karat.api.estimators import HDS as HDS
from karat.api.estimators import HPT as HPT
from karat.api.estimators import IBCC as IBCC
from karat.api.estimators import PTBCC as PTBCC
from karat.api.estimators import AnchoredVote as AnchoredVote
from karat.api.estimators import TiReMGE as TiReMGE
from karat.api.evaluate import evaluate as evaluate
from karat.api.next_votes import next_votes as next_votes
from karat.api.result import Result as Result
from karat.api.result import load as load
from karat.api.weighted_votes import MajorityVote as MajorityVote
from karat.api.weighted_votes import Wawa as Wawa
from karat.errors import InputError as InputError
from karat.errors import KaratError as KaratError
from karat.errors import KaratWarning as KaratWarning
from karat.errors import NotFittedError as NotFittedError
from karat.errors import OutputError as OutputError
from karat.insight import coverage as coverage
from karat.io.readers import read as read
from karat.io.readers import read_each as read_each
from karat.io.writeback import write_back as write_back
from karat.io.writers.votes import write_votes as write_votes
from karat.methods.base import Method as Method
from karat.methods.outside import register as register
from karat.paper.datasets import load_dataset as load_dataset
from karat.results.multi import MultiResult as MultiResult
from karat.votes.annotations import Annotations as Annotations
from karat.votes.simulation import simulate as simulate

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
    "InputError",
    "KaratError",
    "KaratWarning",
    "MajorityVote",
    "Method",
    "MultiResult",
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
