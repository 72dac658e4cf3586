"""Words and figures of an experiment's report, from numbers that are known."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from allworlds.analysis.panels import Line, Panel, Point, arrange
from allworlds.analysis.slopes import Slope
from allworlds.experiments.experiment import ReportOptions
from allworlds.reporting.experiment_answers import ExperimentSummary, answers, how_much, verdict
from allworlds.reporting.experiment_figures import panel_figure

NAMES = ("tsallis-shannon", "tsallis-shannon-sharp", "ucb-n", "thompson-n")


def sweep_of(*panels, x="horizon", done=10, total=10, failures=()):
    facts = {"name": "n", "question": "Q?", "about": "", "claim": None, "x": x, "y": "pseudo_regret", "command": "c"}
    return ExperimentSummary(panels=panels, done=done, total=total, failures=failures, facts={}, **facts)


def powers(exponents, *, base=None, x="budget", theory=0.5):
    """A line for each exponent: 100 x^exponent above ``base``, a little apart from seed to seed."""
    rows = []
    for (name, exponent), at, seed in itertools.product(exponents.items(), (0.0, 100.0, 1000.0, 10_000.0), range(4)):
        if at == 0.0 and base is None:
            continue
        value = (base or 0.0) + (100.0 * at**exponent if at else 0.0) + seed - 1.5
        rows.append({"graph": "g", "world": "w", "learner": name, "horizon": 1, x: at, "pseudo_regret": value})
    return arrange(rows, ReportOptions(x=x, theory_slope=theory))[0]


def test_the_answer_says_which_slope_is_used_and_gives_the_other():
    panel = powers({"ours": 0.5}, base=200.0)
    (answer,) = answers(sweep_of(panel, x="budget"))
    assert answer.startswith("The excess of ours over C = 0 grows with C with slope 0.50 (95 % interval 0.50 to 0.50)")
    assert "which agrees with the slope 0.5 of theory; without subtracting the 200 at 0, the slope is 0.4" in answer
    (answer,) = answers(sweep_of(powers({"ours": 0.5}), x="budget"))
    assert answer.startswith("The regret of ours grows with C with slope 0.50")


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.4, 0.6, "which agrees with the slope 0.5"),
        (0.1, 0.4, "below the slope 0.5"),
        (0.6, 0.9, "above the slope 0.5 of theory: not confirmed at this size"),
        (None, None, "too uncertain to hold against the slope 0.5"),
        (0.3, 0.4988, "which agrees with the slope 0.5"),  # as it is shown, 0.50
    ],
)
def test_a_slope_is_held_against_theory_with_its_interval(low, high, words):
    assert verdict(Slope(0.5, low, high, 4, 0), 0.5).startswith(words)


def test_a_logarithm_is_told_by_the_slope_at_the_end():
    panel = powers({"ours": 0.1}, x="horizon", theory=0.0)
    assert "from 1,000 to 10,000; theory says a logarithm, whose slope falls towards 0" in answers(sweep_of(panel))[0]


def test_a_bent_line_is_called_bent():
    straight, bent = powers({"ours": 0.5}), powers({"ours": 0.5}, base=200.0)
    assert "miss the line" not in answers(sweep_of(straight, x="budget"))[0]
    line = bent.lines[0]
    raw = Line("ours", line.points[1:], slope=line.raw, missed=3, theory=0.5)
    (answer,) = answers(sweep_of(Panel("", "power", (raw,)), x="budget"))
    assert "theory says 0.5; the intervals of 3 of 3 points miss the line, so this is not a clean power law" in answer
    assert "agrees" not in answer


def test_learners_are_ranked_over_all_settings_by_their_worst_ratio():
    def panel(name, **means):
        lines = [Line(learner, (Point(100.0, np.array([mean - 1, mean + 1])),)) for learner, mean in means.items()]
        return Panel(name, "curves", tuple(lines))

    calm, rough = panel("calm", a=20.0, b=10.0, c=80.0), panel("rough", a=10.0, b=50.0, c=10.0)
    (answer,) = answers(sweep_of(calm, rough, x="round"))
    assert answer == (
        "Over 2 settings, a has at most 2.00 times the least mean regret, b 5.00 times; "
        "c has the highest ratio, 8.0 (calm)."
    )
    (alone,) = answers(sweep_of(calm, x="round"))
    assert alone.startswith("In “calm”, b has the least mean regret, 10.0 (")
    assert "c the most, 80.0 (" in alone
    below = panel("below", a=-5.0, b=10.0)  # nothing to divide by
    assert len(answers(sweep_of(calm, below, x="round"))) == 2


def test_how_much_is_there_is_said():
    assert how_much(sweep_of(done=3, total=3)) == "all 3 cells are finished"
    failed = ({"title": "t", "attempts": 2, "error": "e"},)
    assert how_much(sweep_of(done=1, total=4, failures=failed)) == "1 of 4 cells are finished, 1 failed, 2 to go"
    assert answers(sweep_of()) == ["No cell is finished yet, so there is no answer."]


@pytest.mark.parametrize("base", [None, 300.0])
def test_nothing_in_a_figure_of_growth_is_cut_off_and_axes_are_logarithmic(base):
    panel = powers(dict(zip(NAMES, (0.5, 0.51, 0.52, 1.0), strict=True)), base=base)
    figure = panel_figure(sweep_of(panel, x="budget"), panel)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    left, right = figure.axes
    assert (left.get_xscale(), left.get_yscale()) == ("log", "log")
    assert ("excess over C = 0" in left.get_ylabel()) == (base is not None)
    for text in (*left.texts, *right.texts):
        box = text.get_window_extent(canvas.get_renderer())
        assert figure.bbox.x0 <= box.x0
        assert box.x1 <= figure.bbox.x1
    names = [text.get_window_extent(canvas.get_renderer()) for text in left.texts if text.get_text() in NAMES]
    assert len(names) == 4
    assert max(name.x1 for name in names) <= right.get_window_extent(canvas.get_renderer()).x0
    ordered = sorted(names, key=lambda box: box.y0)
    assert all(below.y1 <= above.y0 + 1.0 for below, above in itertools.pairwise(ordered))


def test_the_theorys_slope_is_drawn_in_both_axes():
    panel = powers({"ours": 0.9}, theory=0.5)
    left, right = panel_figure(sweep_of(panel, x="budget"), panel).axes
    dotted = [line for line in left.lines if len(line.get_xdata()) == 3 and line.get_color() == "#555555"]
    x, y = (np.log(data) for data in dotted[0].get_data())
    assert np.polyfit(x, y, 1)[0] == pytest.approx(0.5)
    assert any(list(line.get_xdata()) == [0.5, 0.5] for line in right.lines)


def test_a_line_whose_values_have_no_logarithm_does_not_stop_the_figure():
    panel = powers({"ours": 0.5}, base=200.0)
    sunk = Line("sunk", tuple(Point(point.x, -point.values) for point in panel.lines[0].points))
    both = Panel(panel.name, panel.kind, (sunk, *panel.lines))
    sweep = sweep_of(both, x="budget")
    assert len(panel_figure(sweep, both).axes) == 2
    assert "so there is no slope" in answers(sweep)[0]
