"""Reads bench/data's Gaussian mixtures."""
import os

import numpy as np

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data")


def read(name, times):
    with open(os.path.join(DATA, name + ".txt")) as f:
        word = iter(f.read().split())
    d, k, n = (int(next(word)) for _ in range(3))
    take = lambda *shape: np.array([float(next(word)) for _ in range(int(np.prod(shape)))]).reshape(shape)
    p = dict(d=d, k=k, alpha=take(k), mean=take(k, d), icf=take(k, d * (d + 1) // 2), x=np.tile(take(n, d), (times, 1)))
    p["gamma"], p["m"] = float(next(word)), int(next(word))
    return p


def positions(d):
    """Where entry (r, c) of L is in a row of [exp q, columns below the diagonal, 0]."""
    at, below = np.full((d, d), d * (d + 1) // 2), d
    for c in range(d):
        at[c, c] = c
        for r in range(c + 1, d):
            at[r, c], below = below, below + 1
    return at.reshape(-1)
