"""How tight the steps of the sharp regret proof are: the table at the end of ``docs/sharp_constants.md``.

Random rounds of the algorithm are solved with all their half steps, and both sides of each step are evaluated. A row
says which share of its bound a step used at most, where the bound was above 1e-9. The last line says how many checks
failed; it should be none.

    python benchmarks/sharp_steps.py --states 5000 --seed 2021
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

import numpy as np

from allworlds.theory import Check, Round, mass_stability, sharp
from allworlds.workflows.verify.instances import random_round

HORIZON = 10**6  # of the comparator in the penalty


def entropy(state: Round) -> Check:
    return sharp.best_clique_entropy(state.distribution, state.cover, state.best_arm)


def penalty(state: Round) -> Check:
    return sharp.entropy_penalty(state.distribution, state.cover, state.best_arm, HORIZON)


def plain_penalty(state: Round) -> Check:
    return sharp.plain_penalty(state.distribution, state.cover, state.best_arm, HORIZON)


def always(state: Round) -> bool:
    return True


def late(state: Round) -> bool:
    return state.learning_rate <= 0.5


def late_and_heavy(state: Round) -> bool:
    return late(state) and state.best_mass > 0.5


STEPS: list[tuple[str, str, Callable[[Round], Check], Callable[[Round], bool]]] = [
    ("1", r"a mass moves by at most $\rho - 1$ of itself", mass_stability, always),
    ("3", r"$H(y^\star)\sqrt{q^\star} \le (1+\log d^\star)\sqrt x$", entropy, always),
    ("3", "the entropy's penalty of a round", penalty, always),
    ("4", "stability at most 1", sharp.stability_at_most_one, always),
    ("4", r"stability at most $\tfrac{\eta}{2}\Vert g\Vert_*^2$", sharp.stability_at_most_half_norm, always),
    ("4 (a)", "another clique is drawn", sharp.drawn_elsewhere, always),
    ("4 (b)", "the best arm's share", sharp.drawn_best_arm, always),
    ("4 (c)", "the cliques not drawn", sharp.not_drawn, always),
    ("4 (d)", "the best clique's other arms", sharp.drawn_other_arms, late),
    ("4", "half-step lemma", sharp.half_step_lemma, late_and_heavy),
    ("4", "summed", sharp.stability, late),
    ("6", "stability without the shift", sharp.plain_stability, always),
    ("6", "the penalty by norms", plain_penalty, always),
]


def main() -> None:
    """Print the table, in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--states", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=2021)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    largest, rounds, failed = [0.0] * len(STEPS), [0] * len(STEPS), 0
    for number in range(options.states):
        state = random_round(rng)
        for row, (_, _, step, where) in enumerate(STEPS):
            if where(state):
                check = step(state)
                failed += not check.holds
                rounds[row] += 1
                largest[row] = max(largest[row], check.ratio if check.right > 1e-9 else 0.0)
        if sys.stderr.isatty():
            print(f"\r{number + 1} of {options.states}", end="", file=sys.stderr)
    print("| Step | What | States | Largest left / right |")
    print("|---|---|---|---|")
    for (name, what, _, _), count, share in zip(STEPS, rounds, largest, strict=True):
        digits = 3 if share < 0.999 else 5  # 1.000 would say that a bound is attained
        print(f"| {name} | {what} | {count:,} | {share:.{digits}f} |")
    print(f"\n{failed} checks failed on {options.states:,} states, seed {options.seed}.")


if __name__ == "__main__":
    main()
