"""Which cover is best for learning: few cliques, a small penalty in the regret bound, or every arm alone?

The paper asks for few cliques. With sharp constants a clique of d arms adds `(alpha_d + log d)^2 + 5.21^2` to the
square of the adversarial bound, so a cover with a small sum of these could be better. For a few graphs this prints the
sizes of the covers, their bounds, and the mean pseudo-regret (with its standard error) of the practical learner.

    python benchmarks/cover_objective.py [--horizon 30000] [--seeds 20] [--out benchmarks/results/cover_objective.md]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import allworlds as aw
from allworlds.graphs.by_name import make_graph
from allworlds.worlds.by_name import make_world

GRAPHS = (
    "erdos-renyi:60,p=0.3,seed=1",
    "erdos-renyi:60,p=0.7,seed=1",
    "random-unit-disk:80,radius=0.2,seed=1",
    "stochastic-blocks:20,20,20,p_in=0.9,p_out=0.2,seed=1",
    "lu-gadgets",
)
WORLDS = ("stochastic:gap=0.125", "constrained-adversary:gap=0.125", "random")


def covers_of(graph: aw.FeedbackGraph) -> dict[str, aw.CliqueCover]:
    return {
        "cliques": aw.clique_cover(graph),
        "penalty": aw.clique_cover(graph, objective=aw.theory.clique_penalty),
        "alone": aw.CliqueCover.singletons(graph),
    }


def rows(horizon: int, seeds: int) -> Iterator[list[str]]:
    for spec in GRAPHS:
        for name, cover in covers_of(make_graph(spec)).items():
            learner = aw.TsallisShannon(cover)
            sizes = ", ".join(str(size) for size in sorted(cover.sizes.tolist(), reverse=True)[:6])
            cells = [spec, name, str(cover.n_cliques), sizes + (", ..." if cover.n_cliques > 6 else "")]
            cells.append(f"{aw.theory.sharp_adversarial_bound(cover.sizes, horizon).value:,.0f}")
            for world in WORLDS:
                runs = aw.play_many(learner, make_world(world, cover.n_arms), horizon, seeds=range(seeds))
                regrets = np.array([run.pseudo_regret[-1] for run in runs])
                cells.append(f"{regrets.mean():,.0f} ± {regrets.std(ddof=1) / np.sqrt(len(regrets)):,.0f}")
            yield cells


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--horizon", type=int, default=30_000)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--out", type=Path, help="write the table there, too")
    options = parser.parse_args(arguments)
    titles = ["graph", "objective", "cliques", "largest sizes", "sharp bound", *WORLDS]
    lines = ["| " + " | ".join(titles) + " |", "|---" * len(titles) + "|"]
    print("\n".join(lines))
    for row in rows(options.horizon, options.seeds):
        lines.append("| " + " | ".join(row) + " |")
        print(lines[-1], flush=True)
    if options.out is not None:
        command = f"`python benchmarks/cover_objective.py --horizon {options.horizon} --seeds {options.seeds}`"
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text("# Which cover to learn with\n\n" + command + "\n\n" + "\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
