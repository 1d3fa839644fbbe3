"""TiReMGE: truth inference by reliability-driven multi-view graph embedding.

Gongqing Wu, Xingrui Zhuo, Xianyu Bao, Xuegang Hu, Richang Hong, Xindong Wu: Crowdsourcing Truth
Inference via Reliability-Driven Multi-View Graph Embedding. ACM Transactions on Knowledge Discovery
from Data 17 (5), 2023.

Tasks and annotators are the nodes of a graph, votes its edges. A small network turns the features X
of the nodes, computed from the annotators' reliabilities r, into embeddings e with one number per
class. The embedding of a task should be close to the one-hot votes C_ij of reliable annotators:

    h1 = relu(A1hat X W1 + b1),  h2 = relu(A2hat (A2hat X W2 + b2) W3 + b3),  e = (h1 + h2) W4 + b4
    dist_ij = ||e_i - C_ij||,    q_j proportional to (r_j sum_i dist_ij)^2
    cor = softmax of the rows of cos(e_j, e_j')
    r_j <- sum_j' cor_jj' exp(-sqrt(q_j'))
    loss = mean_j [ r_j mean_i dist_ij ]

with A1 = A + 2 I and A2 = A + I, both normalised by their degrees. There is no activation between
W2 and W3, and X is constant within a step, so A2hat A2hat X is computed once, W2 W3 is used as one
matrix, and the gradient needs no pass through the graph. Gradients, `d...` below, are those of the
loss.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from finegold.engines.base import Block
from finegold.methods.base import Floats, Method
from finegold.methods.common import Ballots, ballots, set_posterior, softmax
from finegold.results.data import Learned

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# size of the hidden layers, and between the two layers of the second view
UNITS, VIEW_UNITS = 256, 64
# Adam
LEARNING_RATE = 0.01
BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-7
# minimum length in divisions: shorter vectors have no direction
MIN_LENGTH = 1e-12
# of nodes or annotators whose hidden layers or similarities are computed at once
ROWS = 4096
# W1 [K, units], b1, W2 [K, view_units], b2, W3 [view_units, units], b3, W4 transposed [K, units], b4
Weights = list[Floats]


@dataclass(kw_only=True)
class TiReMGE(Method):
    """A graph network embeds tasks near the votes of annotators who are reliable and similar to
    each other.

    Use it for comparisons only: it seldom beats majority vote. The public program of its authors
    does not reach the accuracy that the PTBCC paper reports (mean .7036), and neither does this
    implementation, which agrees with that program (.66 on ten of the eleven data sets; below
    majority vote on most). It always runs 150 steps, each a few passes over votes, nodes and all
    pairs of annotators. The start depends on the seed. The model has no posterior: probabilities
    are a softmax of the embedding. It cannot use known truths. Reliabilities are shared among
    annotators with similar embeddings, usually all of them, so they are close together. It computes
    in 64 bits, since in the 32 bits of the original program 150 steps magnify rounding: 1 % of the
    labels depended on the processor.

    Args:
        tolerance: Stop when no probability changes by more than this in a sweep; with 0, after all.
        max_iterations: The number of steps.
        seed: Seed of the network's first weights.
    """

    name: ClassVar[str] = "tiremge"
    takes_gold: ClassVar[bool] = False
    divisible: ClassVar[bool] = False
    random_start = True

    tolerance: float = 0.0
    max_iterations: int = 150

    def start(self, block: Block, restart: int) -> Statistics:
        block.posterior[:] = 1 / block.n_classes
        even = np.full(block.n_annotators, 1 / block.n_annotators)
        return Statistics(0.0, block.posterior.sum(axis=0), even, math.nan, [])

    def begin(self, statistics: Statistics) -> Parameters:
        """Draw Glorot's uniform weights; biases are zero."""
        rng, K = np.random.default_rng(self.seed), len(statistics.tau)
        weights = []
        for rows, columns in ((K, UNITS), (K, VIEW_UNITS), (VIEW_UNITS, UNITS), (K, UNITS)):
            limit = math.sqrt(6 / (rows + columns))
            weights += [rng.uniform(-limit, limit, (rows, columns)), np.zeros(columns)]
        # the last layer is transposed
        weights[-1] = np.zeros(K)
        zeros = [np.zeros_like(each) for each in weights]
        return Parameters(weights, zeros, zeros, 0, statistics.reliability, statistics.tau)

    def sweep(self, block: Block, parameters: Parameters) -> Statistics:
        votes = ballots(block)
        r, weights = parameters.reliability, parameters.weights
        loss, reliability, gradient, e = learn(votes, weights, network_inputs(votes, r), r)
        # posteriors are the softmax of embeddings
        change = set_posterior(block, softmax(e[: block.n_tasks]))
        return Statistics(change, block.class_sums(), reliability, loss, gradient)

    def expect(self, statistics: Statistics, before: Parameters) -> Parameters:
        steps, gradient = before.steps + 1, statistics.gradient
        rate = LEARNING_RATE * math.sqrt(1 - BETA_2**steps) / (1 - BETA_1**steps)
        weights, momentum, scale = [], [], []
        for w, m, s, g in zip(*before[:3], gradient, strict=True):
            momentum.append(BETA_1 * m + (1 - BETA_1) * g)
            scale.append(BETA_2 * s + (1 - BETA_2) * g * g)
            weights.append(w - rate * momentum[-1] / (np.sqrt(scale[-1]) + EPSILON))
        return Parameters(weights, momentum, scale, steps, statistics.reliability, statistics.tau)

    def objective(self, parameters: Parameters, statistics: Statistics) -> float:
        return -statistics.loss

    def learned(self, parameters: Parameters) -> Learned:
        prior = parameters.tau / parameters.tau.sum()
        return Learned(class_prior=prior, statistics={"reliability": parameters.reliability})


class Statistics(NamedTuple):
    change: float
    # [K] sum of the posteriors
    tau: Floats
    # [W]
    reliability: Floats
    loss: float
    # by the weights; none at the start
    gradient: Weights


class Parameters(NamedTuple):
    weights: Weights
    momentum: Weights
    # Adam's running mean of squared gradients
    scale: Weights
    steps: int
    # [W]
    reliability: Floats
    # [K]
    tau: Floats


def features(votes: Ballots, r: Floats) -> Floats:
    """[T + W, K] Return the softmax over classes of the summed reliabilities behind each class."""
    used = votes.by_annotator_and_class(np.ones(len(votes.y))) > 0
    return softmax(np.concatenate([votes.by_class(r[votes.j]), r[:, None] * used]))


def network_inputs(votes: Ballots, reliability: Floats) -> list[Floats]:
    """Return A1hat X [T + W, K], A2hat A2hat X [T + W, K] and A2hat 1 [T + W, 1]."""
    x, cast = features(votes, reliability), votes.cast()
    far = propagate(cast, propagate(cast, x, self_loops=1), self_loops=1)
    ones = propagate(cast, np.ones((len(x), 1)), self_loops=1)
    return [propagate(cast, x, self_loops=2), far, ones]


def propagate(cast: csr_array, x: Floats, self_loops: int) -> Floats:
    """Return Ahat x = D^-1/2 (A + self_loops I) D^-1/2 x, where D are the degrees including self
    loops.
    """
    n_tasks = cast.shape[0]
    degree = np.concatenate([cast.sum(axis=1), cast.sum(axis=0)])
    root = 1 / np.sqrt(degree + self_loops)[:, None]
    x = x * root
    neighbours = np.concatenate([cast @ x[n_tasks:], cast.T @ x[:n_tasks]])
    return np.asarray((neighbours + self_loops * x) * root)


def learn(
    votes: Ballots, weights: Weights, inputs: list[Floats], before: Floats
) -> tuple[float, Floats, Weights, Floats]:
    """Return the loss, the new reliabilities, the gradient of the loss by the weights, and the
    embeddings.
    """
    # `before`, the reliabilities of the last step, and `inputs` are constants of this step.
    w1, b1, w2, b2, w3, b3, w4, b4 = weights
    w23, b23 = w2 @ w3, b2 @ w3

    def hidden(nodes: slice) -> tuple[Floats, Floats]:
        near, far, ones = (values[nodes] for values in inputs)
        return np.maximum(near @ w1 + b1, 0), np.maximum(far @ w23 + ones * b23 + b3, 0)

    e = np.empty_like(inputs[0])
    runs = [slice(first, first + ROWS) for first in range(0, len(e), ROWS)]
    for nodes in runs:
        h1, h2 = hidden(nodes)
        e[nodes] = (h1 + h2) @ w4.T + b4
    loss, reliability, de = appraise(votes, e, before)

    dw1, dw23, dw4 = np.zeros_like(w1), np.zeros_like(w23), np.zeros_like(w4)
    db1, db23, db3 = np.zeros_like(b1), np.zeros_like(b3), np.zeros_like(b3)
    for nodes in runs:
        (h1, h2), (near, far, ones) = hidden(nodes), (values[nodes] for values in inputs)
        dw4 += de[nodes].T @ (h1 + h2)
        dh = de[nodes] @ w4
        d1, d2 = dh * (h1 > 0), dh * (h2 > 0)
        dw1 += near.T @ d1
        db1 += d1.sum(axis=0)
        dw23 += far.T @ d2
        db23 += (ones * d2).sum(axis=0)
        db3 += d2.sum(axis=0)
    dw2, db2, dw3 = dw23 @ w3.T, w3 @ db23, w2.T @ dw23 + np.outer(b2, db23)
    gradient = [dw1, db1, dw2, db2, dw3, db3, dw4, de.sum(axis=0)]
    return loss, reliability, gradient, e


def appraise(votes: Ballots, e: Floats, before: Floats) -> tuple[float, Floats, Floats]:
    """Return the loss, the new reliabilities, and the gradient of the loss by the embeddings."""
    n_annotators, n_tasks = votes.n_annotators, len(e) - votes.n_annotators
    i, j, y = votes.i, votes.j, votes.y
    d = np.bincount(j, minlength=n_annotators)
    # ||e_i - C_ij||^2 = ||e_i||^2 - 2 e_iy + 1
    square = (e[:n_tasks] ** 2).sum(axis=1)
    dist = np.sqrt(np.maximum(square[i] - 2 * e[i, y] + 1, 0))
    total = votes.by_annotator(dist)
    # sqrt(q), and exp(-sqrt(q))
    root, length = unit_vectors(total * before)
    raw = np.exp(-root)
    u, norm = unit_vectors(e[n_tasks:])
    dr = total / d / n_annotators
    r, draw, du = np.empty_like(raw), np.zeros_like(raw), np.zeros_like(u)
    for first in range(0, n_annotators, ROWS):
        rows = slice(first, first + ROWS)
        cor = softmax(u[rows] @ u.T)
        r[rows] = cor @ raw
        draw += cor.T @ dr[rows]
        dcos = cor * dr[rows, None] * (raw - r[rows, None])
        du[rows] += dcos @ u
        du += dcos.T @ u[rows]

    de = np.zeros_like(e)
    de[n_tasks:] = gradient_by_vectors(du, u, norm)
    dtotal = r / d / n_annotators + gradient_by_vectors(-raw * draw, root, length) * before
    weight = votes.by_class(dtotal[j] / np.maximum(dist, MIN_LENGTH))
    de[:n_tasks] = weight.sum(axis=1, keepdims=True) * e[:n_tasks] - weight
    return float(r @ dr), r, de


def unit_vectors(x: Floats) -> tuple[Floats, Floats]:
    """Return x / ||x|| along the last axis, and the length."""
    length = np.maximum(np.sqrt(np.sum(x * x, axis=-1, keepdims=True)), MIN_LENGTH)
    return x / length, length


def gradient_by_vectors(by_unit: Floats, unit: Floats, length: Floats) -> Floats:
    """Return the gradient by x of a function with the gradient `by_unit` by x / ||x||."""
    along = np.sum(by_unit * unit, axis=-1, keepdims=True)
    return np.asarray((by_unit - unit * along) / length)
