"""What does a feedback graph look like when seeing is not mutual?

An arrow from i to j says that choosing i shows the loss of j; a line without a head goes both ways; a ring is an arm
that sees itself. Whether all arms are strongly observable decides if regret can grow like the root of T.
"""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt

import allworlds as aw

SPECS = (
    "first-price-bids:6",
    "revealing-action:6",
    "loopy-star:6",
    "directed-cycle:6",
    "tournament:6,seed=1",
    "cycle:6",
)


def main() -> None:
    figure, panels = plt.subplots(2, 3, figsize=(9.0, 6.2), layout="constrained")
    levels = {}
    for spec, ax in zip(SPECS, panels.flat, strict=True):
        graph = aw.make_graph(spec)
        levels[spec] = str(graph.observability)
        aw.plot_graph(graph, ax).set_title(f"{spec}, {levels[spec]}ly observable", fontsize=10)
    figure.savefig("graphs.png", dpi=120)
    print(", ".join(f"{spec}: {level}" for spec, level in levels.items()))
    assert levels["revealing-action:6"] == "weak"
    assert levels["first-price-bids:6"] == "strong"


if __name__ == "__main__":
    main()
