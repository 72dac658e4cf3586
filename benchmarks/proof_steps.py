"""How tight the steps of our regret proofs are: the tables at the ends of ``docs/sharp_constants.md`` and
``docs/default_proof.md``.

Random rounds of the algorithm are solved with all their half steps, and both sides of each step are evaluated. A row
says which share of its bound a step used at most, where the bound was above 1e-9 (1e-6 for the bias, above rounding).
The last line says how many checks failed; it should be none.

    python benchmarks/proof_steps.py sharp --states 5000 --seed 2021
    python benchmarks/proof_steps.py default --states 1500 --seed 7
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from allworlds.theory import Check, Round, mass_stability, practical, sharp
from allworlds.theory.rounds import PracticalRound
from allworlds.workflows.verify.instances import random_practical_round, random_round

HORIZON = 10**6  # of the comparator in the penalty of the sharp constants; for the default, the round itself


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


def held_back(state: PracticalRound) -> bool:
    return bool((state.excess > 0.0).any())


def past(state: PracticalRound) -> bool:
    return state.numbers.is_late(state.round)


def past_and_heavy(state: PracticalRound) -> bool:
    return past(state) and state.best_mass >= 0.5


def light(state: PracticalRound) -> bool:
    return state.best_mass < 0.5


def bias(state: PracticalRound) -> Check:
    best = np.zeros(state.cover.n_arms)
    best[state.best_arm] = 1.0
    check = practical.bias(state, best)
    return check if check.right > 1e-6 else Check(check.statement, check.label, 0.0, 1.0)


def at_its_round(step: Callable[[PracticalRound, int], Check]) -> Callable[[PracticalRound], Check]:
    return lambda state: step(state, max(2, state.round))


Step = tuple[str, str, Callable[[Any], Check], Callable[[Any], bool]]
SHARP: list[Step] = [
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
DEFAULT: list[Step] = [
    ("0", "bias of a round", bias, held_back),
    ("0", "deficit of a clique", practical.deficit, always),
    ("0", "mass of a clique that is held back", practical.held_back_mass, held_back),
    ("0", "cost of holding back", practical.bias_cost, held_back),
    ("1", "a price falls", practical.price_falls, always),
    ("1", "a price rises", practical.price_rises, always),
    ("2", "slope of a price", practical.curvature, always),
    ("2", "equation of a drawn mass", practical.drawn_mass, always),
    ("2", "growth of a drawn mass", practical.mass_growth, always),
    ("3", "barrier", at_its_round(practical.barrier_penalty), always),
    ("3", "entropy, by masses", at_its_round(practical.entropy_penalty), always),
    ("3", "entropy, by norms", at_its_round(practical.plain_penalty), always),
    ("4", "stability by the local norm", practical.stability_by_local_norm, always),
    ("4", "adversarial stability", practical.plain_stability, always),
    ("4 (a)", "another clique", practical.drawn_elsewhere, always),
    ("4 (a*)", "a small best clique", practical.drawn_best_if_small, light),
    ("4", "other masses grow by at most 4", practical.other_masses, past_and_heavy),
    ("4 (b)", "the best arm", practical.drawn_best_arm, past_and_heavy),
    ("4 (c)", "the cliques not drawn", practical.not_drawn, past_and_heavy),
    ("4 (d)", "the other arms", practical.drawn_other_arms, past_and_heavy),
    ("4", "half-step lemma", practical.half_step_lemma, past_and_heavy),
    ("4", "summed", practical.stability, past),
]
PROOFS = {"sharp": (SHARP, random_round), "default": (DEFAULT, random_practical_round)}


def main() -> None:
    """Print the table, in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("proof", choices=PROOFS)
    parser.add_argument("--states", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=2021)
    options = parser.parse_args()
    steps, random_state = PROOFS[options.proof]
    rng = np.random.default_rng(options.seed)
    largest, rounds, failed = [0.0] * len(steps), [0] * len(steps), 0
    for number in range(options.states):
        state = random_state(rng)
        for row, (_, _, step, where) in enumerate(steps):
            if where(state):
                check = step(state)
                failed += not check.holds
                rounds[row] += 1
                largest[row] = max(largest[row], check.ratio if check.right > 1e-9 else 0.0)
        if sys.stderr.isatty():
            print(f"\r{number + 1} of {options.states}", end="", file=sys.stderr)
    print("| Step | What | States | Largest left / right |")
    print("|---|---|---|---|")
    for (name, what, _, _), count, share in zip(steps, rounds, largest, strict=True):
        digits = 3 if share < 0.999 else 5  # 1.000 would say that a bound is attained
        print(f"| {name} | {what} | {count:,} | {share:.{digits}f} |")
    print(f"\n{failed} checks failed on {options.states:,} states, seed {options.seed}.")


if __name__ == "__main__":
    main()
