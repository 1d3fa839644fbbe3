"""TiReMGE: sums over the votes (edges of the graph), and the forward and backward pass of the
two-layer network.

A loop either stores or sums: in one that does both, the alignment of the arrays decides whether it
is vectorised, and so the order of the additions.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from finegold.kernels import Floats, Votes
from finegold.kernels.jit import ONE, kernel
from finegold.kernels.numerics import add_row, dot_row, exp_buffer

# a smaller distance has no direction
MIN_DISTANCE = 1e-12


class Layers(NamedTuple):
    # [K, units]
    w1: Floats
    # [units]
    b1: Floats
    # [K, units] W2 W3
    w23: Floats
    # [units] b2 W3
    b2: Floats
    # [units]
    b3: Floats
    # [K, units] W4, transposed
    w4: Floats


@kernel
def neighbours(votes: Votes, x: Floats, total: Floats) -> None:
    """Add x [T + W, columns] of the neighbours of each node of the graph, tasks and then
    annotators, to total.
    """
    task_ptr, cell_ptr, _, annotator = votes
    n_tasks = np.uint64(task_ptr.size) - ONE
    for i in range(n_tasks):
        for vote in range(cell_ptr[task_ptr[i]], cell_ptr[task_ptr[i + ONE]]):
            j = n_tasks + np.uint64(annotator[vote])
            for k in range(np.uint64(x.shape[1])):
                total[i, k] += x[j, k]
                total[j, k] += x[i, k]


@kernel
def add_reliabilities(votes: Votes, r: Floats, x: Floats) -> None:
    """x [T + W, K]. Task i, class l: sum of r_j over the votes for l. Annotator j, class l: r_j if
    j ever voted l.
    """
    task_ptr, cell_ptr, cell_class, annotator = votes
    n_tasks = np.uint64(task_ptr.size) - ONE
    for i in range(n_tasks):
        for c in range(task_ptr[i], task_ptr[i + ONE]):
            label = np.uint64(cell_class[c])
            for vote in range(cell_ptr[c], cell_ptr[c + ONE]):
                j = np.uint64(annotator[vote])
                x[i, label] += r[j]
                x[n_tasks + j, label] = r[j]


@kernel
def distance(e: Floats, i: Any, label: Any) -> Any:
    """Return ||e_i - C||, where C is the one-hot vector of the label."""
    total = 0.0
    for k in range(np.uint64(e.shape[1])):
        total += e[i, k] * e[i, k]
    off = e[i, label] - 1.0
    return math.sqrt(max(total - e[i, label] * e[i, label] + off * off, 0.0))


@kernel
def distances(votes: Votes, e: Floats, total: Floats) -> None:
    """Add dist_ij = ||e_i - C_ij|| over the tasks of j to total_j; it is the same for all votes of
    a cell.
    """
    task_ptr, cell_ptr, cell_class, annotator = votes
    for i in range(np.uint64(task_ptr.size) - ONE):
        for c in range(task_ptr[i], task_ptr[i + ONE]):
            dist = distance(e, i, np.uint64(cell_class[c]))
            for vote in range(cell_ptr[c], cell_ptr[c + ONE]):
                total[annotator[vote]] += dist


@kernel
def distance_gradient(votes: Votes, e: Floats, slope: Floats, e_slope: Floats) -> None:
    """Add the gradient of the loss by e_i, the sum over its votes of slope_j (e_i - C_ij) /
    dist_ij, to e_slope_i.
    """
    # slope [W] is the gradient of the loss by the sum of j's distances.
    task_ptr, cell_ptr, cell_class, annotator = votes
    for i in range(np.uint64(task_ptr.size) - ONE):
        for c in range(task_ptr[i], task_ptr[i + ONE]):
            label = np.uint64(cell_class[c])
            weight = 0.0
            for vote in range(cell_ptr[c], cell_ptr[c + ONE]):
                weight += slope[annotator[vote]]
            weight /= max(distance(e, i, label), MIN_DISTANCE)
            for k in range(np.uint64(e.shape[1])):
                e_slope[i, k] += weight * e[i, k]
            e_slope[i, label] -= weight


@kernel
def divide_by_sums(x: Floats) -> None:
    """Normalise every row of x to sum to one."""
    for i in range(x.shape[0]):
        total = 0.0
        for k in range(x.shape[1]):
            total += x[i, k]
        for k in range(x.shape[1]):
            x[i, k] /= total


@kernel
def add_to_row(scale: Any, x: Floats, total: Floats, k: int) -> None:
    for u in range(x.size):
        total[k, u] += scale * x[u]


@kernel
def similarity(
    unit: Floats, raw: Floats, slope: Floats, shared: Floats, raw_slope: Floats, unit_slope: Floats
) -> None:
    """shared_j = sum_j' cor_jj' raw_j', cor = row-softmax of the cosines of unit [K, W], and its
    gradient by row.
    """
    # slope [W] is the gradient of the loss by `shared`; those by raw [W] and unit are added to
    # their slopes.
    K, n = unit.shape
    cor, turn = np.empty(n), np.empty(n)
    for j in range(n):
        cor[:] = 0.0
        for k in range(K):
            add_row(unit[k, j], unit, k, cor)
        exp_buffer(cor, n)
        scale = 1.0 / cor.sum()
        mean = scale * np.sum(cor * raw)
        shared[j] = mean
        scale *= slope[j]
        for other in range(n):
            raw_slope[other] += scale * cor[other]
        for other in range(n):
            turn[other] = scale * cor[other] * (raw[other] - mean)
        for k in range(K):
            unit_slope[k, j] += dot_row(turn, unit, k)
            add_to_row(unit[k, j], turn, unit_slope, k)


@kernel
def activate(
    i: int,
    near: Floats,
    far: Floats,
    ones: Floats,
    layers: Layers,
    first: Floats,
    second: Floats,
    h: Floats,
) -> None:
    """Compute both hidden layers of node i, each a relu of weighted sums; h is their sum."""
    w1, b1, w23, b2, b3, _ = layers
    zero, one = 0.0, ones[i]
    for u in range(h.size):
        first[u] = b1[u]
    for u in range(h.size):
        second[u] = b3[u] + one * b2[u]
    for k in range(near.shape[1]):
        add_row(near[i, k], w1, k, first)
        add_row(far[i, k], w23, k, second)
    for u in range(h.size):
        first[u] = max(first[u], zero)
        second[u] = max(second[u], zero)
    for u in range(h.size):
        h[u] = first[u] + second[u]


@kernel
def embed(near: Floats, far: Floats, ones: Floats, layers: Layers, b4: Floats, e: Floats) -> None:
    """Write e [nodes, K] from near = A1hat X, far = A2hat A2hat X [nodes, K] and ones = A2hat 1
    [nodes].
    """
    first, second, h = np.empty_like(layers.b1), np.empty_like(layers.b1), np.empty_like(layers.b1)
    for i in range(e.shape[0]):
        activate(i, near, far, ones, layers, first, second, h)
        for k in range(e.shape[1]):
            e[i, k] = b4[k] + dot_row(h, layers.w4, k)


@kernel
def weight_gradient(
    near: Floats, far: Floats, ones: Floats, layers: Layers, e_slope: Floats, slopes: Layers
) -> None:
    """Add the gradient of the loss by the layers to slopes, from e_slope [nodes, K], its gradient
    by e.
    """
    w1, b1, w23, b2, b3, w4 = slopes
    zero = 0.0
    first, second, h = np.empty_like(b1), np.empty_like(b1), np.empty_like(b1)
    for i in range(e_slope.shape[0]):
        activate(i, near, far, ones, layers, first, second, h)
        for k in range(e_slope.shape[1]):
            add_to_row(e_slope[i, k], h, w4, k)
        h[:] = 0.0
        for k in range(e_slope.shape[1]):
            add_row(e_slope[i, k], layers.w4, k, h)
        # h, the gradient by the sum of the layers, reaches each layer where it was active
        for u in range(h.size):
            first[u] = h[u] if first[u] > zero else zero
            second[u] = h[u] if second[u] > zero else zero
        one = ones[i]
        for u in range(h.size):
            b1[u] += first[u]
        for u in range(h.size):
            b3[u] += second[u]
        for u in range(h.size):
            b2[u] += one * second[u]
        for k in range(e_slope.shape[1]):
            add_to_row(near[i, k], first, w1, k)
            add_to_row(far[i, k], second, w23, k)
