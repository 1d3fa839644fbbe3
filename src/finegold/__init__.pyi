"""The public names of Finegold, for type checkers: written by `python tools/make_methods.py`."""

from finegold import checks as checks
from finegold import judges as judges
from finegold.api.aggregate import aggregate as aggregate
from finegold.api.aggregate import next_votes as next_votes
from finegold.api.certify import certify as certify
from finegold.api.estimators import Estimator
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
from finegold.methods import (
    anchored,
    bwa,
    catd,
    cbcc,
    ds,
    ebcc,
    fgbcc,
    glad,
    hds,
    ibcc,
    mv,
    ptbcc,
    tiremge,
)
from finegold.methods.base import Method as Method
from finegold.methods.lookup import register as register
from finegold.votes.annotations import Annotations as Annotations
from finegold.votes.simulation import simulate as simulate

__version__: str

class AnchoredVote(Estimator, anchored.AnchoredVote): ...
class BWA(Estimator, bwa.BWA): ...
class CATD(Estimator, catd.CATD): ...
class CBCC(Estimator, cbcc.CBCC): ...
class DS(Estimator, ds.DS): ...
class EBCC(Estimator, ebcc.EBCC): ...
class FGBCC(Estimator, fgbcc.FGBCC): ...
class GLAD(Estimator, glad.GLAD): ...
class HDS(Estimator, hds.HDS): ...
class IBCC(Estimator, ibcc.IBCC): ...
class MajorityVote(Estimator, mv.MajorityVote): ...
class PTBCC(Estimator, ptbcc.PTBCC): ...
class TiReMGE(Estimator, tiremge.TiReMGE): ...

__all__: list[str]
