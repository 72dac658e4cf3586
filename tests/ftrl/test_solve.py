from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy.optimize import minimize

import allworlds as aw
from allworlds.foundation.errors import InvalidConstants, InvalidLosses, InvalidParameter
from allworlds.ftrl import solve
from allworlds.theory.reference import solve_reference
from allworlds.theory.regulariser import log_barrier, tsallis_shannon
from instances_of_ftrl import Step, named, random_steps, step
from verifiers import kkt_violation

ZOO = [*named(), *random_steps(150, seed=1)]


def certificate(instance: Step, answer: aw.FTRLSolution) -> None:
    """Everything the issue of an answer must satisfy, from its distribution alone."""
    p, gamma = answer.distribution, instance.gamma
    assert np.isfinite(p).all()
    assert abs(math.fsum(p) - 1.0) <= 1e-12
    assert p.min() >= gamma
    assert answer.residual <= 1e-10
    assert kkt_violation(instance, answer) <= 1e-10


@pytest.mark.compiled
@pytest.mark.parametrize("instance", ZOO, ids=lambda it: it.name)
def test_every_answer_of_the_zoo_satisfies_the_optimality_conditions(instance: Step) -> None:
    certificate(instance, instance.solve())


@pytest.mark.compiled
@pytest.mark.parametrize("instance", ZOO[::3], ids=lambda it: it.name)
def test_bisection_alone_finds_the_same_answer(instance: Step) -> None:
    newton, bisection = instance.solve(), instance.solve(max_steps=0)
    certificate(instance, bisection)
    assert bisection.iterations == 1
    large = newton.distribution > 1e-300
    np.testing.assert_allclose(bisection.distribution[large], newton.distribution[large], rtol=1e-9)


@pytest.mark.compiled
@pytest.mark.parametrize("max_steps", [0, 1, 2, 3])
def test_a_forced_limit_of_newton_steps_still_ends_in_a_certified_answer(max_steps: int) -> None:
    for instance in random_steps(40, seed=2):
        answer = instance.solve(max_steps=max_steps)
        assert answer.iterations <= max_steps + 1
        certificate(instance, answer)


def test_newton_takes_a_few_steps_even_from_a_cold_start() -> None:
    steps = [instance.solve().iterations for instance in random_steps(100, seed=3)]
    assert max(steps) <= 25
    assert np.mean(steps) <= 8


@pytest.mark.parametrize("instance", list(random_steps(20, seed=4, most_arms=8)), ids=lambda it: it.name)
def test_no_feasible_point_has_a_lower_objective_in_fifty_digits(instance: Step) -> None:
    """The definition of a minimum, tried in many directions, without any formula of the solver."""
    rng = np.random.default_rng(5)
    answer = instance.solve().distribution
    with mpmath.workdps(50):
        best = _objective(instance, answer)
        for _ in range(10):
            other = rng.dirichlet(np.full(answer.size, 0.5))
            for distance in (1e-1, 1e-3, 1e-6):
                mixed = (1.0 - distance) * answer + distance * other
                mixed = np.maximum(mixed, instance.gamma)
                mixed = mixed / mixed.sum()
                if mixed.min() < instance.gamma * (1 - 1e-12):
                    continue
                assert _objective(instance, mixed) >= best - abs(best) * mpmath.mpf(10) ** -13


def _objective(instance: Step, p):
    value = mpmath.mpf(0)
    total = mpmath.fsum(mpmath.mpf(float(x)) for x in p)
    exact = [mpmath.mpf(float(x)) / total for x in p]
    start = 0
    low = mpmath.mpf(float(instance.losses.min()))
    for k, size in enumerate(instance.sizes):
        arms = range(start, start + size)
        q = mpmath.fsum(exact[i] for i in arms)
        inner = mpmath.fsum(exact[i] * mpmath.log(exact[i] / q) for i in arms if exact[i] > 0)
        psi = -mpmath.mpf(instance.alpha[k]) * mpmath.sqrt(q) + inner / mpmath.sqrt(q)
        value += psi / mpmath.mpf(instance.learning_rate) - mpmath.mpf(instance.beta) * mpmath.log(q)
        value += mpmath.fsum((mpmath.mpf(float(instance.losses[i])) - low) * exact[i] for i in arms)
        start += size
    return value


@pytest.mark.parametrize("beta", [0.0, 2.0, 9.0])
def test_a_general_solver_finds_the_same_point_on_a_mild_instance(beta: float) -> None:
    rng = np.random.default_rng(6)
    instance = step("mild", [1, 2, 3], rng.random(6) * 5, 0.3, beta=beta)
    answer = instance.solve().distribution
    cover = instance.cover

    def objective(p):
        p = np.maximum(p, 1e-12)
        smooth = tsallis_shannon(p, cover, instance.alpha) / instance.learning_rate
        return float(instance.losses @ p) + smooth + log_barrier(p, cover, beta)

    found = minimize(
        objective,
        np.full(6, 1 / 6),
        method="SLSQP",
        bounds=[(1e-9, 1.0)] * 6,
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1.0},
        options={"ftol": 1e-14, "maxiter": 500},
    )
    np.testing.assert_allclose(found.x, answer, atol=2e-5)


def test_single_arms_without_barrier_solve_the_tsallis_inf_equation() -> None:
    """Sum of 4 (eta (L - x))^-2 = 1 with eta = 2 / sqrt(t), at the multiplier that the step returns."""
    rng = np.random.default_rng(7)
    losses = rng.random(9) * 30
    for t in (1, 10, 10_000):
        cover = aw.clique_cover(aw.graphs.bandit(9))
        constants = aw.Constants(alpha=(2.0,) * 9, beta=0.0, gamma=0.0, eta0=1.0)
        answer = aw.solve_ftrl(cover, losses, 1 / math.sqrt(t), constants)
        expected = 4.0 * (2.0 / math.sqrt(t) * (losses - answer.multiplier)) ** -2.0
        np.testing.assert_allclose(answer.distribution, expected, rtol=1e-12)


def test_one_clique_is_exponential_weights_whatever_alpha_and_beta() -> None:
    losses = np.random.default_rng(8).random(6) * 20
    cover = aw.clique_cover(aw.graphs.full_information(6))
    weights = np.exp(-0.7 * (losses - losses.min()))
    for alpha, beta in ((0.0, 0.0), (3.0, 9.0), (500.0, 1.0)):
        constants = aw.Constants(alpha=(alpha,), beta=beta, gamma=0.0, eta0=1.0)
        answer = aw.solve_ftrl(cover, losses, 0.7, constants)
        np.testing.assert_allclose(answer.distribution, weights / weights.sum(), rtol=1e-13)


def test_adding_a_constant_to_all_losses_changes_nothing_but_the_multiplier() -> None:
    instance = step("shift", [1, 2, 4], np.arange(7.0), 0.4)
    here = instance.solve()
    there = instance._replace(losses=instance.losses + 1024.0).solve()
    np.testing.assert_allclose(there.distribution, here.distribution, rtol=1e-12)
    assert there.multiplier == pytest.approx(here.multiplier + 1024.0, rel=1e-12)


def test_relabelling_the_arms_relabels_the_answer() -> None:
    rng = np.random.default_rng(9)
    graph = aw.FeedbackGraph(6, [(0, 1), (1, 2), (0, 2), (3, 4)])
    cover = aw.CliqueCover(graph, [[0, 1, 2], [3, 4], [5]])
    losses, places = rng.random(6) * 10, rng.permutation(6)
    moved_graph = aw.FeedbackGraph(6, [(places[i], places[j]) for i, j in graph.edges().tolist()])
    moved_cover = aw.CliqueCover(moved_graph, [[int(places[i]) for i in clique] for clique in cover.cliques])
    moved = np.empty(6)
    moved[places] = losses
    here = aw.solve_ftrl(cover, losses, 0.5, aw.Constants.sharp(cover)).distribution
    there = aw.solve_ftrl(moved_cover, moved, 0.5, aw.Constants.sharp(moved_cover)).distribution
    np.testing.assert_allclose(there[places], here, rtol=1e-13)


def test_a_loss_on_a_rare_arm_may_raise_its_clique() -> None:
    """dV'/dL_i = y_i (1 + (log y_i + H)/2) is negative for rare arms: the algorithm, not a defect."""
    losses = np.array([0.0, 6.0, 0.0, 0.0])
    cover = aw.clique_cover(aw.graphs.disjoint_cliques(2, 2))
    before = aw.solve_ftrl(cover, losses, 1.0, aw.Constants.sharp(cover)).clique_mass[0]
    losses[1] += 0.1
    after = aw.solve_ftrl(cover, losses, 1.0, aw.Constants.sharp(cover)).clique_mass[0]
    assert after > before


@pytest.mark.parametrize(
    ("losses", "words"),
    [
        ([0.0, 1.0], r"shape \(2,\).*expected \(3,\)"),
        ([0.0, float("nan"), 1.0], "arm 1 is nan"),
        ([0.0, 1.0, float("inf")], "arm 2 is inf"),
        (["a", "b", "c"], "cannot be read"),
        ([-1e308, 0.0, 1e308], "1e299"),
        ([0.0, 0.0, 1.01e299], "1e299"),
        ([0.0, 1.0, 10**400], "cannot be read"),
    ],
)
def test_bad_losses_are_refused_in_a_sentence(losses, words: str) -> None:
    cover = aw.clique_cover(aw.graphs.bandit(3))
    with pytest.raises(InvalidLosses, match=words):
        aw.solve_ftrl(cover, losses, 1.0, aw.Constants.sharp(cover))


def test_losses_nearly_as_far_apart_as_may_be_are_taken() -> None:
    cover = aw.clique_cover(aw.graphs.bandit(3))
    step = aw.solve_ftrl(cover, [0.0, 0.0, 0.99e299], 1.0, aw.Constants.sharp(cover))
    assert step.distribution == pytest.approx([0.5, 0.5, 0.0], abs=1e-12)


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), float("inf"), "fast", True])
def test_bad_learning_rates_are_refused(rate) -> None:
    cover = aw.clique_cover(aw.graphs.bandit(3))
    with pytest.raises(InvalidParameter, match="learning_rate"):
        aw.solve_ftrl(cover, [0.0, 1.0, 2.0], rate, aw.Constants.sharp(cover))


def test_constants_of_another_cover_are_refused() -> None:
    small, large = (aw.clique_cover(aw.graphs.bandit(n)) for n in (3, 4))
    with pytest.raises(InvalidConstants, match="3 numbers but the cover has 4 cliques"):
        aw.solve_ftrl(large, np.zeros(4), 1.0, aw.Constants.sharp(small))


def test_a_graph_in_place_of_its_cover_is_refused_with_the_way_out() -> None:
    graph = aw.graphs.bandit(3)
    constants = aw.Constants.sharp(aw.clique_cover(graph))
    with pytest.raises(
        InvalidParameter,
        match=r"cover is of type FeedbackGraph; expected a CliqueCover",
    ):
        aw.solve_ftrl(graph, np.zeros(3), 1.0, constants)
    with pytest.raises(InvalidParameter, match="constants is NoneType"):
        aw.solve_ftrl(aw.clique_cover(graph), np.zeros(3), 1.0, None)
    for make in (aw.Constants.practical, aw.Constants.sharp, lambda cover: aw.Constants.paper(cover, 10)):
        with pytest.raises(InvalidParameter, match="expected a CliqueCover"):
            make(graph)


def test_numbers_beyond_doubles_are_refused_and_never_answered_wrongly() -> None:
    """An answer without its certificate is no answer."""
    cover = aw.clique_cover(aw.graphs.disjoint_cliques([3, 2]))
    rng = np.random.default_rng(10)
    refused = 0
    for _ in range(200):
        losses = 10.0 ** rng.uniform(0, 250, 5)
        constants = aw.Constants(
            alpha=(10.0 ** rng.uniform(1, 10),) * 2,
            beta=10.0 ** rng.uniform(0, 10),
            gamma=10.0 ** rng.uniform(-20, -1),
            eta0=1.0,
        )
        try:
            assert aw.solve_ftrl(cover, losses, 10.0 ** rng.uniform(-30, 30), constants).residual <= 1e-10
        except InvalidParameter:
            refused += 1
    assert refused < 100


@pytest.mark.parametrize("max_steps", [-1, 1.5, True])
def test_bad_step_limits_are_refused(max_steps) -> None:
    cover = aw.clique_cover(aw.graphs.bandit(3))
    with pytest.raises(InvalidParameter, match="max_steps"):
        aw.solve_ftrl(cover, np.zeros(3), 1.0, aw.Constants.sharp(cover), max_steps=max_steps)


def test_with_a_rate_factor_for_each_clique_the_answer_is_that_of_fifty_digits():
    cover = aw.clique_cover(aw.graphs.disjoint_cliques([1, 3, 4]))
    constants = aw.Constants((2.0, 3.2, 4.0), 1.5, 0.0, 1.0, rate_factor=(1.0, 0.4, 3.0))
    losses = np.random.default_rng(3).uniform(0.0, 40.0, 8)
    found = aw.solve_ftrl(cover, losses, 0.2, constants)
    exact = solve_reference(cover, losses.tolist(), 0.2, constants)
    assert found.distribution == pytest.approx(np.array([float(p) for p in exact]), rel=1e-12)
    same = aw.Constants((2.0, 3.2, 4.0), 1.5, 0.0, 1.0, rate_factor=(1.0, 1.0, 1.0))
    plain = aw.Constants((2.0, 3.2, 4.0), 1.5, 0.0, 1.0)
    one, other = (aw.solve_ftrl(cover, losses, 0.2, c).distribution for c in (same, plain))
    assert (one == other).all()


def test_an_answer_that_violates_its_conditions_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    cover = aw.clique_cover(aw.graphs.disjoint_cliques(2, 2))
    monkeypatch.setattr(solve, "GOOD", -1.0)  # no input is known that leaves a residual above the real one
    with pytest.raises(InvalidParameter, match="leave the range of doubles"):
        aw.solve_ftrl(cover, [0.0, 1.0, 2.0, 3.0], 1.0, aw.Constants.sharp(cover))
