"""TiReMGE as METHODS.md writes it, with the network as it is drawn: plain, the oracle of the fast one.

`weights` are W1, b1, W2, b2, W3, b3, W4, b4.
"""

import numpy as np
from scipy.sparse import coo_matrix, identity

from tests.methods.reference import softmax


class Graph:
    def __init__(self, task, annotator, label):
        self.task, self.annotator, self.label = task, annotator, label
        self.n_tasks, self.n_annotators, self.n_classes = (
            task.max() + 1,
            annotator.max() + 1,
            label.max() + 1,
        )
        n_nodes = self.n_tasks + self.n_annotators
        edge = (np.ones(len(task)), (task, self.n_tasks + annotator))
        half = coo_matrix(edge, shape=(n_nodes, n_nodes)).tocsr()
        adjacency = half + half.T
        self.a1 = normalised(adjacency + 2 * identity(n_nodes, format="csr"))
        self.a2 = normalised(adjacency + identity(n_nodes, format="csr"))
        self.votes = np.bincount(annotator)
        self.one_hot = np.eye(self.n_classes)[label]
        self.used = np.zeros((self.n_annotators, self.n_classes))
        self.used[annotator, label] = 1


def normalised(adjacency):
    root = 1 / np.sqrt(np.asarray(adjacency.sum(axis=1)).ravel())
    return adjacency.multiply(root[:, None]).multiply(root[None, :]).tocsr()


def features(graph, r):
    tasks = np.zeros((graph.n_tasks, graph.n_classes))
    np.add.at(tasks, graph.task, r[graph.annotator, None] * graph.one_hot)
    return softmax(np.concatenate([tasks, r[:, None] * graph.used]))


def step(graph, weights, x, r_old):
    """-> loss, r, gradients, embeddings."""
    w1, b1, w2, b2, w3, b3, w4, b4 = weights
    ax, aax = graph.a1 @ x, graph.a2 @ x
    pre1 = ax @ w1 + b1
    t = aax @ w2 + b2
    at = graph.a2 @ t
    pre2 = at @ w3 + b3
    h = np.maximum(pre1, 0) + np.maximum(pre2, 0)
    e = h @ w4 + b4
    loss, r, de = judge(graph, e, r_old)
    dh = de @ w4.T
    d1, d2 = dh * (pre1 > 0), dh * (pre2 > 0)
    dt = graph.a2.T @ (d2 @ w3.T)
    gradients = [
        ax.T @ d1,
        d1.sum(0),
        aax.T @ dt,
        dt.sum(0),
        at.T @ d2,
        d2.sum(0),
        h.T @ de,
        de.sum(0),
    ]
    return loss, r, gradients, e


def judge(graph, e, r_old):
    """-> loss, r, and the gradient of the loss by e."""
    n_tasks, n_annotators = graph.n_tasks, graph.n_annotators
    away = e[graph.task] - graph.one_hot
    dist = np.sqrt((away**2).sum(axis=1))
    total = np.bincount(graph.annotator, dist, n_annotators)
    q = (total * r_old) ** 2
    q = q / q.sum()
    raw = np.exp(-np.sqrt(q))
    norm = np.sqrt((e[n_tasks:] ** 2).sum(axis=1, keepdims=True))
    unit = e[n_tasks:] / norm
    cor = softmax(unit @ unit.T)
    r = cor @ raw
    mean = total / graph.votes
    loss = (r * mean).mean()

    dr = mean / n_annotators
    draw = cor.T @ dr
    dsim = cor * (dr[:, None] * raw[None, :])
    dsim = dsim - cor * dsim.sum(axis=1, keepdims=True)
    dunit = (dsim + dsim.T) @ unit
    de = np.zeros_like(e)
    de[n_tasks:] = (dunit - unit * (dunit * unit).sum(axis=1, keepdims=True)) / norm
    droot = -raw * draw
    size = np.sqrt(((total * r_old) ** 2).sum())
    root = np.sqrt(q)
    dtotal = r / (graph.votes * n_annotators) + r_old * (droot - root * (droot * root).sum()) / size
    np.add.at(de, graph.task, dtotal[graph.annotator, None] * away / dist[:, None])
    return loss, r, de


def fit(graph, weights, steps, rate=0.01):
    """-> class scores of the tasks and reliabilities, at the last step, before its update."""
    r = np.full(graph.n_annotators, 1 / graph.n_annotators)
    momentum, scale = [0 * w for w in weights], [0 * w for w in weights]
    for t in range(1, steps + 1):
        _, r, gradients, e = step(graph, weights, features(graph, r), r)
        momentum = [0.9 * m + 0.1 * g for m, g in zip(momentum, gradients, strict=True)]
        scale = [0.999 * s + 0.001 * g * g for s, g in zip(scale, gradients, strict=True)]
        now = rate * np.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        both = zip(weights, momentum, scale, strict=True)
        weights = [w - now * m / (np.sqrt(s) + 1e-7) for w, m, s in both]
    return e[: graph.n_tasks], r
