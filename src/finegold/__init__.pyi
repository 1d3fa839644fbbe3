"""The public names of Finegold: the one list of them, for type checkers and for `__init__.py`."""

from finegold import checks as checks
from finegold import judges as judges
from finegold import numbers as numbers
from finegold import spans as spans
from finegold.api.aggregate import aggregate as aggregate
from finegold.api.aggregate import next_votes as next_votes
from finegold.api.certify import certify as certify
from finegold.api.estimators import BWA as BWA
from finegold.api.estimators import CATD as CATD
from finegold.api.estimators import CBCC as CBCC
from finegold.api.estimators import DS as DS
from finegold.api.estimators import EBCC as EBCC
from finegold.api.estimators import FGBCC as FGBCC
from finegold.api.estimators import GLAD as GLAD
from finegold.api.estimators import HDS as HDS
from finegold.api.estimators import IBCC as IBCC
from finegold.api.estimators import PTBCC as PTBCC
from finegold.api.estimators import AnchoredVote as AnchoredVote
from finegold.api.estimators import MACE as MACE
from finegold.api.estimators import MajorityVote as MajorityVote
from finegold.api.estimators import TiReMGE as TiReMGE
from finegold.api.evaluate import agreement as agreement
from finegold.api.evaluate import audit as audit
from finegold.api.evaluate import compare as compare
from finegold.api.evaluate import evaluate as evaluate
from finegold.api.result import Result as Result
from finegold.api.result import load as load
from finegold.api.sample import sample as sample
from finegold.errors import FinegoldError as FinegoldError
from finegold.errors import FinegoldWarning as FinegoldWarning
from finegold.errors import InputError as InputError
from finegold.errors import NotFittedError as NotFittedError
from finegold.errors import OutputError as OutputError
from finegold.insight.coverage_table import coverage as coverage
from finegold.io.read import read as read
from finegold.io.read import read_each as read_each
from finegold.io.writeback import write_back as write_back
from finegold.io.writers import write_votes as write_votes
from finegold.methods.base import Method as Method
from finegold.methods.lookup import register as register
from finegold.votes.annotations import Annotations as Annotations
from finegold.votes.simulation import simulate as simulate

__version__: str
__all__: list[str]
