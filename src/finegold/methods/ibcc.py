"""IBCC: independent Bayesian classifier combination.

H.-C. Kim, Z. Ghahramani: Bayesian Classifier Combination. AISTATS 2012. "ep" has the priors, the
inference and the number of sweeps of the Infer.NET program of M. Venanzi, J. Guiver, G. Kazai, P.
Kohli, M. Shokouhi: Community-Based Bayesian Aggregation Models for Crowdsourcing. WWW 2014, with
which the PTBCC paper compares.

    tau ~ Dirichlet(1)            how frequent the classes are
    v_jk ~ Dirichlet(b_k)         how annotator j votes when the truth is k; b favours k
    z_i ~ tau                     truth of task i
    y_ij ~ v_{j, z_i}             the vote

q(tau) = Dirichlet(g) and q(v_jk) = Dirichlet(a_jk). There are two ways to find them.

Expectation propagation ("ep"), T. P. Minka: Expectation Propagation for Approximate Bayesian
Inference. UAI 2001. A vote of annotator j on task i for l adds the pseudo-counts delta_k to a_jkl,
and a task adds eps_ik to g_k. Each message is computed from the totals of the last sweep without
the sender's own message, A'_k = sum_l a_jkl - delta_k and g'_k = g_k - eps_ik:

    m_k     = (a_jkl - delta_k) / A'_k                       likelihood of the vote
    phi_ik  proportional to g'_k prod m_k over the votes on i
    delta_k = phi_ik A'_k / (A'_k + 1 - phi_ik)              matches the mean of the mixture
    eps_ik  = (g'_c phi_ik - g'_k phi_ic) / (g'_c + phi_ic)  with c the least likely class of the task

Variational Bayes ("vb"), Y. Li, B. I. P. Rubinstein, T. Cohn: Exploiting Worker Correlation for
Label Aggregation in Crowdsourcing. ICML 2019, the baseline there:

    a = b + n, n_jkl = sum over j's votes for l of phi_ik,   g = 1 + sum_i phi_i
    phi_ik proportional to exp(E log tau_k + sum_j E log v_{j, k, y_ij})
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from finegold.engines.base import Block
from finegold.methods.base import Floats, Method, setting
from finegold.methods.common import (
    ConfusionSums,
    ballots,
    dirichlets,
    mean,
    set_posterior,
    softmax,
    start_confusion,
    sum_rows,
    sweep_confusion,
)
from finegold.results.data import Learned


@dataclass(kw_only=True)
class IBCC(Method):
    """Each annotator has a confusion matrix of their own, with a prior that expects skill (Bayesian
    DS).

    Assumes that annotators err independently given the truth, each in their own way. Use it instead
    of DS where annotators cast few votes: the prior fills in for missing votes. The default,
    variational Bayes, maximises a bound and runs until it has converged. The paper uses 40 sweeps
    of expectation propagation (`inference="ep", max_iterations=40, tolerance=0`), which has no
    bound and stores K numbers per vote. It costs a few nanoseconds per vote, class and sweep.

    Args:
        tolerance: Stop when no probability of a class changes by more than this in a sweep. With 0,
            all iterations are made.
        max_iterations: The largest number of sweeps.
        seed: Has no effect: nothing is drawn at random.
        inference: Expectation propagation or variational Bayes.
    """

    name: ClassVar[str] = "ibcc"
    order: ClassVar[int] = 2
    takes_prior: ClassVar[bool] = True

    inference: Literal["ep", "vb"] = setting("vb", ("ep", "vb"))

    @property
    def has_objective(self) -> bool:  # type: ignore[override]  # a property, since "ep" has none
        return self.inference == "vb"

    def prior(self, n_classes: int) -> Floats:
        """[K, K] Return b, which is symmetric in truth and vote: 1 for each wrong one, and for right
        ones 4, or 7/3 (K - 1) with expectation propagation.
        """
        right = 7 / 3 * max(n_classes - 1, 1) if self.inference == "ep" else 4.0
        return 1 + (right - 1) * np.eye(n_classes)

    def _expected(self, n_classes: int) -> Floats:
        """Return the prior counts: [K, K], or [W, L, K] with the counts of an earlier run."""
        b = self.prior(n_classes)
        return b if self.earlier is None else b + self.earlier

    def start(self, block: Block, restart: int) -> ConfusionSums:
        sums = start_confusion(block)
        if self.inference == "vb":
            return sums
        of_votes, of_tasks = (len(ballots(block).y), block.n_classes), block.posterior.shape
        block.state |= {"delta": np.zeros(of_votes), "eps": np.zeros(of_tasks)}
        return sums._replace(tau=np.zeros_like(sums.tau), n=np.zeros_like(sums.n))

    def sweep(self, block: Block, parameters: Parameters) -> ConfusionSums:
        if parameters.vb is not None:
            return sweep_confusion(block, parameters.vb.log_tau, parameters.vb.log_v)
        return propagate(block, parameters.g, parameters.a)

    def expect(self, statistics: ConfusionSums, before: Parameters | None) -> Parameters:
        b = self._expected(len(statistics.tau))
        g, a = 1 + statistics.tau, b + statistics.n
        if self.inference == "ep":
            return Parameters(g, a, None)
        tau, v = dirichlets(g), dirichlets(a.transpose(0, 2, 1))
        # b [K, K] is the prior of every annotator
        of_v = dirichlets(b.swapaxes(-1, -2)).log_beta * (len(a) if b.ndim == 2 else 1)
        prior = dirichlets(np.ones_like(g)).log_beta + of_v
        log_v = v.log.transpose(0, 2, 1).copy()
        return Parameters(g, a, Expectations(tau.log, log_v, tau.log_beta + v.log_beta - prior))

    def objective(self, parameters: Parameters, statistics: ConfusionSums) -> float:
        """Return the ELBO of the parameters that the sweep used and the phi that it computed."""
        g, a, vb = parameters
        if vb is None:
            return super().objective(parameters, statistics)
        of_tau, of_v = np.vdot(1 - g, vb.log_tau), np.vdot(self._expected(len(g)) - a, vb.log_v)
        return float(statistics.log_norm + of_tau + of_v + vb.log_beta)

    def learned(self, parameters: Parameters) -> Learned:
        g, a = parameters.g, parameters.a
        a_by_truth, n = a.transpose(0, 2, 1).copy(), np.maximum(a - self.prior(len(g)), 0.0)
        statistics = {"a": a_by_truth, "g": g, "n": n}
        return Learned(class_prior=mean(g), confusion=mean(a_by_truth), statistics=statistics)


class Expectations(NamedTuple):
    # [K]
    log_tau: Floats
    # [W, L, K]
    log_v: Floats
    # of the posteriors minus that of the priors
    log_beta: float


class Parameters(NamedTuple):
    # [K]
    g: Floats
    # [W, L, K]
    a: Floats
    # None: ep
    vb: Expectations | None


def propagate(block: Block, g: Floats, a: Floats) -> ConfusionSums:
    """Run one parallel sweep of expectation propagation; return the sums of the messages."""
    votes, K, unknown = ballots(block), block.n_classes, block.gold < 0
    delta, eps = block.state["delta"], block.state["eps"]
    slot = votes.j * K + votes.y
    rest = a.sum(axis=1)[votes.j] - delta
    m = (a.reshape(-1, K)[slot] - delta) / rest
    likelihood, prior = sum_rows(votes.i, np.log(m), block.n_tasks), g - eps
    change = set_posterior(block, softmax(np.log(prior) + likelihood))
    phi = block.posterior
    p = phi[votes.i]
    delta[:] = p * rest / (rest + (1 - p))
    sent = sum_rows(slot, delta, block.n_annotators * K)
    c = likelihood.argmin(axis=1)[:, None]
    prior_c, phi_c = (np.take_along_axis(values, c, axis=1) for values in (prior, phi))
    message = np.maximum((prior_c * phi - prior * phi_c) / (prior_c + phi_c), 0)
    eps[unknown] = message[unknown]
    g_sums = eps.sum(axis=0) + phi[~unknown].sum(axis=0)
    return ConfusionSums(change, g_sums, sent.reshape(a.shape))
