"""TiReMGE: truth inference by reliability-driven multi-view graph embedding.

Gongqing Wu, Xingrui Zhuo, Xianyu Bao, Xuegang Hu, Richang Hong, Xindong Wu: Crowdsourcing Truth
Inference via Reliability-Driven Multi-View Graph Embedding. ACM Transactions on Knowledge Discovery
from Data 17 (5), 2023.

Tasks and annotators are the nodes of a graph, votes its edges. A small network turns the features X
of the nodes, computed from the annotators' reliabilities r, into embeddings e with one number per
class. The embedding of a task should be close to the one-hot votes C_ij of reliable annotators:

    h1 = relu(A1hat X W1 + b1),  h2 = relu(A2hat (A2hat X W2 + b2) W3 + b3),  e = (h1 + h2) W4 + b4
    loss = mean_j [ r_j mean_i ||e_i - C_ij|| ]
with A1 = A + 2 I and A2 = A + I, both normalised by their degrees. There is no activation between
W2 and W3, and X is constant within a step, so A2hat A2hat X is computed once, W2 W3 is used as one
matrix, and the gradient needs no pass through the graph. Gradients are derived by hand.
"""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

import numpy as np

from finegold.engines.blocks import Block
from finegold.kernels import tiremge as kernels
from finegold.kernels.numerics import normalise, subtract_largest
from finegold.kernels.tiremge import Layers
from finegold.methods.base import COUNT, Floats, Method, Range, setting, with_settings
from finegold.results.data import Learned
from finegold.votes.annotations import Annotations

# Adam
BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-7
# minimum length in divisions: shorter vectors have no direction
MIN_LENGTH = 1e-12
# gradients of a batch are added, then those of the batches
NODES_PER_BATCH = 4096


class Weights(NamedTuple):
    # [K, units]
    w1: Floats
    b1: Floats
    # [K, view_units]
    w2: Floats
    b2: Floats
    # [view_units, units]
    w3: Floats
    b3: Floats
    # [K, units], transposed
    w4: Floats
    b4: Floats


# of tasks and annotators: A1hat X [T + W, K], A2hat A2hat X, A2hat 1 [T + W]
Inputs = tuple[Floats, Floats, Floats]


class Statistics(NamedTuple):
    change: float
    # [K] sum of the posteriors
    tau: Floats
    # [W]
    reliability: Floats
    loss: float
    gradient: Weights | None


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


@with_settings
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
        learning_rate: Learning rate of the optimiser, Adam.
        units: Size of the hidden layers.
        view_units: Size between the two layers of the second view.

    Examples:
        >>> import finegold
        >>> votes = finegold.Annotations.from_arrays([1, 1, 1, 2, 2, 2], list("abcabc"), list("xxyyyy"))
        >>> finegold.aggregate(votes, "tiremge").label.tolist()
        ['x', 'y']
    """

    name: ClassVar[str] = "tiremge"
    takes_gold: ClassVar[bool] = False
    divisible: ClassVar[bool] = False
    random_start: ClassVar[bool] = True
    # Adam divides by small numbers
    unstable: ClassVar[tuple[str, ...]] = ("reliability",)

    tolerance: float = 0.0
    max_iterations: int = 150
    learning_rate: float = setting(0.01, Range("positive", 1e-9, 10.0))
    units: int = setting(256, COUNT)
    view_units: int = setting(64, COUNT)

    def n_parameters(self, annotations: Annotations) -> int:
        return (annotations.n_tasks + annotations.n_annotators) * (
            self.units + 2 * annotations.n_classes
        )

    def start(self, block: Block, restart: int) -> Statistics:
        block.posterior[:] = 1 / block.n_classes
        even = np.full(block.n_annotators, 1 / block.n_annotators)
        return Statistics(0.0, block.posterior.sum(axis=0), even, math.nan, None)

    def begin(self, statistics: Statistics) -> Parameters:
        """Draw Glorot's uniform weights; biases are zero."""
        rng, K = np.random.default_rng(self.seed), len(statistics.tau)

        def draw(rows: int, columns: int) -> Floats:
            limit = math.sqrt(6 / (rows + columns))
            return rng.uniform(-limit, limit, (rows, columns))

        units, view_units = self.units, self.view_units
        first, second = (
            (draw(K, units), np.zeros(units)),
            (draw(K, view_units), np.zeros(view_units)),
        )
        weights = Weights(
            *first, *second, draw(view_units, units), np.zeros(units), draw(K, units), np.zeros(K)
        )
        zeros = Weights(*map(np.zeros_like, weights))
        return Parameters(weights, zeros, zeros, 0, statistics.reliability, statistics.tau)

    def sweep(self, block: Block, parameters: Parameters) -> Statistics:
        inputs = network_inputs(block, features(block, parameters.reliability))
        loss, reliability, gradient, e = learn(
            block, parameters.weights, inputs, parameters.reliability
        )
        # posteriors are the softmax of embeddings
        score, tau = e[: block.n_tasks].ravel(), np.zeros(block.n_classes)
        subtract_largest(block.classes, block.n_tasks, score, block.gold)
        np.exp(score, out=score)
        change, _ = normalise(block.classes, block.n_tasks, score, block.gold, block.posterior, tau)
        return Statistics(change, tau, reliability, loss, gradient)

    def expect(self, statistics: Statistics, before: Parameters) -> Parameters:
        # only `start` has no gradient
        assert statistics.gradient is not None
        steps = before.steps + 1
        rate = self.learning_rate * math.sqrt(1 - BETA_2**steps) / (1 - BETA_1**steps)
        pairs = zip(before.momentum, before.scale, statistics.gradient, strict=True)
        averages = [
            (BETA_1 * m + (1 - BETA_1) * g, BETA_2 * s + (1 - BETA_2) * g * g) for m, s, g in pairs
        ]
        momentum, scale = (Weights(*arrays) for arrays in zip(*averages, strict=True))
        steppers = zip(before.weights, momentum, scale, strict=True)
        weights = Weights(
            *(weight - rate * m / (np.sqrt(s) + EPSILON) for weight, m, s in steppers)
        )
        return Parameters(weights, momentum, scale, steps, statistics.reliability, statistics.tau)

    def bound(self, parameters: Parameters, statistics: Statistics) -> float:
        return -statistics.loss

    def learned(self, parameters: Parameters) -> Learned:
        prior = parameters.tau / parameters.tau.sum()
        return Learned(class_prior=prior, statistics={"reliability": parameters.reliability})


def features(block: Block, reliability: Floats) -> Floats:
    """[T + W, K] Return the softmax over classes of the summed reliabilities behind each class."""
    x = np.zeros((block.n_tasks + block.n_annotators, block.n_classes))
    kernels.add_reliabilities(block.votes, reliability, x)
    np.exp(x, out=x)
    kernels.divide_by_sums(x)
    return x


def network_inputs(block: Block, x: Floats) -> Inputs:
    far = _propagate(block, _propagate(block, x, self_loops=1), self_loops=1)
    ones = _propagate(block, np.ones_like(x[:, :1]), self_loops=1)[:, 0]
    return _propagate(block, x, self_loops=2), far, ones


def _degrees(block: Block) -> Floats:
    """Return the number of votes of each node; computed once."""
    if "degree" not in block.state:
        ones = np.ones((block.n_tasks + block.n_annotators, 1))
        degree = np.zeros_like(ones)
        kernels.neighbours(block.votes, ones, degree)
        block.state["degree"] = degree
    return block.state["degree"]


def _propagate(block: Block, x: Floats, self_loops: int) -> Floats:
    """Return Ahat x = D^-1/2 (A + self_loops I) D^-1/2 x, where D are the degrees including self
    loops.
    """
    root = 1 / np.sqrt(_degrees(block) + self_loops)
    scaled = x * root
    total: Floats = scaled * self_loops
    kernels.neighbours(block.votes, scaled, total)
    total *= root
    return total


def learn(
    block: Block, weights: Weights, inputs: Inputs, before: Floats
) -> tuple[float, Floats, Weights, Floats]:
    """Return the loss, the new reliabilities, the gradient of the loss by the weights, and the
    embeddings.
    """
    # `before`, the reliabilities of the last step, and `inputs` are constants of this step.
    w1, b1, w2, b2, w3, b3, w4, b4 = weights
    layers = Layers(w1, b1, w2 @ w3, b2 @ w3, b3, w4)
    e = np.empty_like(inputs[0])
    kernels.embed(*inputs, layers, b4, e)
    loss, reliability, e_slope = judge(block, e, before)
    slopes = Layers(*map(np.zeros_like, layers))
    for first in range(0, len(e_slope), NODES_PER_BATCH):
        part, nodes = Layers(*map(np.zeros_like, layers)), slice(first, first + NODES_PER_BATCH)
        near, far, ones = (values[nodes] for values in inputs)
        kernels.weight_gradient(near, far, ones, layers, e_slope[nodes], part)
        slopes = Layers(*(whole + addend for whole, addend in zip(slopes, part, strict=True)))
    of_second = (
        slopes.w23 @ w3.T,
        w3 @ slopes.b2,
        w2.T @ slopes.w23 + np.outer(b2, slopes.b2),
        slopes.b3,
    )
    gradient = Weights(slopes.w1, slopes.b1, *of_second, slopes.w4, e_slope.sum(axis=0))
    return loss, reliability, gradient, e


def judge(block: Block, e: Floats, before: Floats) -> tuple[float, Floats, Floats]:
    """Return the loss, the new reliabilities, and the gradient of the loss by the embeddings."""
    # a_j = (sum of j's distances) times the previous r_j; raw_j = exp(-a_j / ||a||); r = cor raw.
    n_tasks, n_annotators = block.n_tasks, block.n_annotators
    votes = _degrees(block)[n_tasks:, 0]
    total, e_slope = np.zeros(n_annotators), np.zeros_like(e)
    kernels.distances(block.votes, e[:n_tasks], total)
    away, length = _unit(total * before)
    raw = np.exp(-away)
    # of the loss by r
    slope = total / votes / n_annotators
    unit, norm = _unit(e[n_tasks:])
    reliability, raw_slope = np.empty_like(raw), np.zeros_like(raw)
    columns = np.ascontiguousarray(unit.T)
    unit_slope = np.zeros_like(columns)
    # shares reliabilities
    kernels.similarity(columns, raw, slope, reliability, raw_slope, unit_slope)
    e_slope[n_tasks:] = _unit_slope(unit_slope.T, unit, norm)
    total_slope = (
        reliability / votes / n_annotators + _unit_slope(-raw * raw_slope, away, length) * before
    )
    kernels.distance_gradient(block.votes, e[:n_tasks], total_slope, e_slope[:n_tasks])
    return float(reliability @ slope), reliability, e_slope


def _unit(x: Floats) -> tuple[Floats, Floats]:
    """Return x / ||x|| along the last axis, and the length."""
    length = np.maximum(np.sqrt(np.sum(x * x, axis=-1, keepdims=True)), MIN_LENGTH)
    return x / length, length


def _unit_slope(slope: Floats, unit: Floats, length: Floats) -> Floats:
    """Return the gradient by x of a function with the gradient `slope` by x / ||x||."""
    return np.asarray((slope - unit * np.sum(slope * unit, axis=-1, keepdims=True)) / length)
