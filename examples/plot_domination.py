"""How many arms must be played so that all are seen?

In the model of Buccapatnam, Liu, Eryilmaz and Shroff (JMLR 2018) N actions show N unknowns, here each pair with
probability 1/2. A learner explores at the rates of a linear program: the least total rate at which every unknown is
seen at a rate of at least one. Whole actions instead of rates make a hitting set, of which the greedy one is easily
found.

Their Figure 7 has both numbers for N from 10 to 10,000, with 1,000 samples each. We know its setting and not its
numbers. What must come out: each action shows about half of the unknowns, and each unknown is shown by about half of
the actions, so the program's value tends to 2; and each further action of a hitting set leaves about half of what was
unseen, so that hitting sets grow with the logarithm of N.
"""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

import allworlds as aw
from allworlds.covers.numbers import greedy_set
from allworlds.learners.domination import fractional_domination

SIZES = {10: 10, 20: 10, 50: 10, 100: 5, 200: 2, 500: 1}
"""How many samples of each size; the published figure has 1,000 of each, up to N = 10,000."""


def main() -> None:
    rng = np.random.default_rng(0)
    rates, sets = [], []
    for size, n_samples in SIZES.items():
        samples = []
        while len(samples) < n_samples:
            shows = rng.random((size, size)) < 0.5
            if shows.any(axis=0).all():  # an unknown that no action shows has no rate
                samples.append(shows)
        graphs = [aw.FeedbackGraph.from_adjacency(shows, directed=True) for shows in samples]
        rates.append(np.mean([fractional_domination(graph).sum() for graph in graphs]))
        sets.append(np.mean([greedy_set(shows).size for shows in samples]))
    figure, axes = plt.subplots(figsize=(6.0, 3.6), layout="constrained")
    axes.semilogx(list(SIZES), sets, "o-", color="#E69F00", label="greedy hitting set")
    axes.semilogx(list(SIZES), rates, "o-", color="#0072B2", label="linear program")
    axes.axhline(2.0, color="0.6", lw=0.8, ls="--")
    axes.set(xlabel="actions and unknowns, N", ylabel="plays (mean)", title="To see everything once", ylim=(0.0, None))
    axes.legend(frameon=False)
    figure.savefig("domination.png", dpi=120)
    print(", ".join(f"N = {n}: {rate:.2f} and {whole:.1f}" for n, rate, whole in zip(SIZES, rates, sets, strict=True)))
    assert abs(rates[-1] - 2.0) < 0.05
    assert rates[0] < sets[0] < sets[-1]


if __name__ == "__main__":
    main()
