"""The public names of Finegold, for editors and type checkers. Written by tools/make_stub.py."""

from finegold import checks as checks
from finegold import judges as judges
from finegold import paper as paper
from finegold.api.aggregate import aggregate as aggregate
from finegold.api.crowd_estimators import DawidSkene as DawidSkene
from finegold.api.crowd_estimators import MajorityVote as MajorityVote
from finegold.api.crowd_estimators import Wawa as Wawa
from finegold.api.estimators import Estimator
from finegold.api.evaluate import agreement as agreement
from finegold.api.evaluate import audit as audit
from finegold.api.evaluate import compare as compare
from finegold.api.evaluate import evaluate as evaluate
from finegold.api.next_votes import next_votes as next_votes
from finegold.api.result import Result as Result
from finegold.api.result import load as load
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
from finegold.methods.anchored import AnchoredVote as _AnchoredVote
from finegold.methods.base import Method as Method
from finegold.methods.bwa import BWA as _BWA
from finegold.methods.catd import CATD as _CATD
from finegold.methods.cbcc import CBCC as _CBCC
from finegold.methods.ds import DS as _DS
from finegold.methods.ebcc import EBCC as _EBCC
from finegold.methods.fgbcc import FGBCC as _FGBCC
from finegold.methods.glad import GLAD as _GLAD
from finegold.methods.hds import HDS as _HDS
from finegold.methods.hpt import HPT as _HPT
from finegold.methods.ibcc import IBCC as _IBCC
from finegold.methods.lookup import register as register
from finegold.methods.ptbcc import PTBCC as _PTBCC
from finegold.methods.tiremge import TiReMGE as _TiReMGE
from finegold.paper.datasets import load_dataset as load_dataset
from finegold.results.multi import MultiResult as MultiResult
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

class CATD(Estimator, _CATD):
    """A weighted vote: an annotator's weight is the inverse of their error rate, with caution for few votes."""

class DS(Estimator, _DS):
    """Each annotator has a confusion matrix of their own, found by maximum likelihood (Dawid-Skene, EM)."""

class GLAD(Estimator, _GLAD):
    """Each annotator has an ability, each task a difficulty; all wrong votes are equally likely."""

class IBCC(Estimator, _IBCC):
    """Each annotator has a confusion matrix of their own, with a prior that expects skill (Bayesian DS)."""

class CBCC(Estimator, _CBCC):
    """Annotators belong to a few communities; those of a community have similar confusion matrices."""

class BWA(Estimator, _BWA):
    """A weighted vote: each annotator has a weight per class, which is higher the more they agree with the rest."""

class TiReMGE(Estimator, _TiReMGE):
    """A graph network embeds tasks near the votes of annotators who are reliable and similar to each other."""

class EBCC(Estimator, _EBCC):
    """Tasks of a class come in subtypes, such as easy and hard; annotators have a confusion matrix for each
    subtype."""

class FGBCC(Estimator, _FGBCC):
    """Each annotator's confusion matrix is a softmax of Gaussian scores; the prior of the scores follows them."""

class PTBCC(Estimator, _PTBCC):
    """A few prototype confusion matrices shared by all annotators; each annotator is a mixture of them."""

class HDS(Estimator, _HDS):
    """Each annotator has a confusion matrix of their own, drawn from a common prior that is learned (hierarchical
    DS)."""

class HPT(Estimator, _HPT):
    """PTBCC's prototypes to find the truth roughly, then each annotator's own confusion matrix (HDS) to refine it."""

class AnchoredVote(Estimator, _AnchoredVote):
    """Half of each label is the weighted vote, half a model of annotators; the default, the best on real data."""
