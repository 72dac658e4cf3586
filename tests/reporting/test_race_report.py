"""The page of a race: it parses, stands alone, and says what the race found."""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from allworlds.analysis.comparison import WorstRatio
from allworlds.ftrl import sharp_alpha
from allworlds.reporting.canvas import learner_styles, spread
from allworlds.reporting.page import number
from allworlds.reporting.race_figures import headline_figure, mass_figure, regret_figure, short_titles, title_of
from allworlds.reporting.race_report import about_world, draw_figures, finding, make_page, why_the_paper_is_slow
from allworlds.workflows.race import Race, run_race
from html_pages import Page, assert_stands_alone

pytestmark = pytest.mark.compiled

RACE = Race(
    "disjoint-cliques:2x3",
    ("stochastic:gap=0.5", "constrained-adversary:gap=0.25", "corrupted:attack=flip,budget=20,gap=0.5", "random"),
    ("tsallis-shannon", "tsallis-shannon-paper", "ucb-n", "hedge"),
    horizon=300,
    seeds=2,
)


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    out = tmp_path_factory.mktemp("report")
    return run_race(**vars(RACE), out=out), out


@pytest.fixture(scope="module")
def text(told):
    return (told[1] / "report.html").read_text(encoding="utf-8")


def test_every_tag_of_the_page_is_closed_where_it_belongs(text):
    page = Page(text)
    assert page.stack == []
    assert page.tags.count("svg") == 1 + len(RACE.worlds) + 1  # the headline, a figure a world, the masses


def test_a_learner_that_does_not_compete_is_named_and_called_neither_safe_nor_a_specialist(text):
    assert "In italics: hedge, which sees more than the graph shows and does not compete." in text
    kinds = dict(re.findall(r'<tr[^>]*><td>([^<]*)</td><td class="kind">([^<]*)</td>', text))
    assert set(kinds) == set(RACE.learners)
    assert kinds["hedge"] == ""


def test_the_page_asks_nothing_of_the_network(text):
    assert Page(text).links
    assert_stands_alone(text)


def test_each_figure_is_well_formed_has_a_size_and_words_for_those_who_cannot_see_it(text):
    figures = re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL)
    for figure in figures:
        root = ET.fromstring(figure)
        assert "viewBox" in root.attrib
        assert "width" not in root.attrib
        assert len(root.attrib["aria-label"]) > 20


def test_figures_are_also_files(told):
    _, out = told
    names = {file.name for file in (out / "figures").iterdir()}
    stems = {"headline", "masses", "world-1-stochastic", "world-2-constrained-adversary", "world-3-corrupted"}
    assert {f"{stem}.{kind}" for stem in stems | {"world-4-random"} for kind in ("svg", "pdf")} == names
    assert all((out / "figures" / name).stat().st_size > 3000 for name in names)


def test_the_tables_show_the_numbers_of_the_race(told, text):
    result, _ = told
    cells = [data.strip() for data in Page(text).texts]
    for row in result.standings:
        assert number(row.regret.mean) in cells
        assert number(row.worst) in cells


def test_the_page_says_how_to_repeat_it_and_why_the_papers_constants_are_slow(told, text):
    result, _ = told
    flat = " ".join("".join(Page(text).texts).replace("\\\n", " ").split())
    assert result.summary.command in flat
    for part in ("0 to 1", f"numba {result.summary.versions['numba']}", "Why the paper's constants are slow"):
        assert part in flat


def test_text_from_outside_is_escaped(told):
    result, _ = told
    summary = replace(result.summary, machine="<script>alert(1)</script> & co")
    page = make_page(summary, dict.fromkeys(draw_figures(summary), "<svg></svg>"))
    assert "<script>" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; co" in page


def test_a_single_seed_and_a_graph_of_one_clique_make_a_page_too(tmp_path):
    options = {"worlds": ["stochastic:gap=0.5"], "learners": ["tsallis-shannon"], "horizon": 1, "seeds": 1}
    page = run_race("full-information:4", **options, out=tmp_path).report.read_text(encoding="utf-8")
    assert Page(page).stack == []
    assert "1 learner, 1 world, 1 round, 1 seed; graph full-information:4: 4 arms in 1 clique, 6 edges" in page
    assert "mean of 1 seed." in page


def with_regret(summary, change):
    """The summary as if every regret were changed so, without ratios."""
    runs = tuple(replace(one, pseudo_regret=change(one.pseudo_regret)) for one in summary.runs)
    rows = tuple(replace(row, ratio=None) for row in summary.standings)
    ratios = tuple(replace(row, ratio=None, world=None) for row in summary.ratios)
    return replace(summary, runs=runs, standings=rows, ratios=ratios)


def test_without_ratios_there_is_no_headline_and_no_logarithm_of_what_is_not_positive(told):
    summary = with_regret(told[0].summary, lambda regret: -np.abs(regret) - 1.0)
    figures = draw_figures(summary)
    assert "headline" not in figures
    page = make_page(summary, dict.fromkeys(figures, "<svg></svg>"))
    assert Page(page).stack == []
    assert "short bar" not in page
    assert "Ratios by world" not in page
    assert "logarithmic axes" not in page
    for world in RACE.worlds:
        (ax,) = regret_figure(summary, world).axes
        assert ax.get_yscale() == "linear"
        assert {text.get_text() for text in ax.texts} == set(RACE.learners)


def test_all_figures_are_equally_wide_so_that_their_letters_are_equally_large(told):
    summary = told[0].summary
    alone = replace(summary, runs=tuple(summary.runs_in(RACE.worlds[0])))
    widths = {figure.get_figwidth() for figure in (*draw_figures(summary).values(), mass_figure(alone))}
    assert len(widths) == 1


def test_the_legend_of_the_masses_has_the_colours_of_the_areas_inside_the_figure(told):
    figure = mass_figure(told[0].summary)
    renderer = drawn(figure)
    for ax in [ax for ax in figure.axes if ax.get_legend() is not None]:
        legend = ax.get_legend()
        shown = [tuple(patch.get_facecolor()) for patch in legend.get_patches()]
        assert shown == [tuple(area.get_facecolor()[0]) for area in ax.collections[: len(shown)]]
        box = legend.get_window_extent(renderer)
        assert figure.bbox.y0 <= box.y0
        assert box.y1 <= ax.get_window_extent(renderer).y0


def drawn(figure):
    """Lay the figure out; give what can measure its texts."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return canvas.get_renderer()


def with_ratios(summary, *rows):
    return replace(summary, ratios=tuple(WorstRatio(name, ratio, RACE.worlds[0], True) for name, ratio in rows))


def test_the_finding_is_honest_whoever_wins(told):
    summary = told[0].summary
    ahead = finding(with_ratios(summary, ("tsallis-shannon", 1.2), ("ucb-n", 4.0)))
    assert "at most 1.20 times" in ahead
    assert "Every other learner reaches at least 4.00 times the best regret in some world; the next one is" in ahead
    behind = finding(with_ratios(summary, ("ucb-n", 1.1), ("tsallis-shannon", 3.3)))
    assert "at most 3.30 times" in behind
    assert "ucb-n does better: at most 1.10 times (most in stochastic)" in behind
    assert "least regret" in finding(with_ratios(summary, ("tsallis-shannon", 1.0), ("ucb-n", 4.0)))


def test_the_finding_does_not_contradict_itself_where_ratios_are_equal_as_printed(told):
    summary = told[0].summary
    near = finding(with_ratios(summary, ("ucb-n", 1.0), ("tsallis-shannon", 1.003)))
    assert near.startswith("tsallis-shannon has the least regret in ")
    assert ", within half a per cent. " in near
    for ratios in ((1.0, 1.003), (1.0, 1.0), (1.2, 1.2)):
        said = finding(with_ratios(summary, ("ucb-n", ratios[0]), ("tsallis-shannon", ratios[1])))
        assert said.endswith("ucb-n is as good as tsallis-shannon by this measure.")
        assert "better" not in said


def test_the_finding_is_about_learners_that_compete(told):
    summary = replace(told[0].summary, ours="hedge")
    rows = WorstRatio("ucb-n", 1.0, RACE.worlds[0], True), WorstRatio("hedge", 0.4, RACE.worlds[0], False)
    said = finding(replace(summary, ratios=rows))
    assert said.startswith("ucb-n has the least regret in ")
    assert "other learner" not in said


def test_the_cost_of_the_papers_constants_is_the_measured_one(told):
    summary = told[0].summary
    said = why_the_paper_is_slow(summary, summary.cover)
    assert "times smaller than in the practical setting" in said
    assert "uniform" not in said
    assert {row.learner for row in summary.standings} >= {"tsallis-shannon-paper", "ucb-n"}
    doubled = tuple(
        replace(row, learner="uniform", regret=row.regret._replace(mean=2.0 * row.regret.mean))
        for row in summary.standings
        if row.learner == "tsallis-shannon-paper"
    )
    beside = why_the_paper_is_slow(replace(summary, standings=summary.standings + doubled), summary.cover)
    assert "In this race it has 0.50 to 0.50 times the regret of uniform play." in beside


def test_the_finding_counts_only_worlds_that_have_ratios(told):
    summary = told[0].summary
    hollow = tuple(replace(row, ratio=None) if row.world == "random" else row for row in summary.standings)
    assert "the 3 worlds of this race that have ratios" in finding(replace(summary, standings=hollow))


def test_bound_lines_are_drawn_only_where_they_say_something(told):
    summary = told[0].summary
    for world in RACE.worlds:
        for line in summary.theory[world]:
            rounds = summary.runs_in(world)[0].rounds
            drawn = np.isfinite(line.values)
            assert np.all(line.values[drawn] < rounds[drawn])
    assert any(line.text.endswith("asymptotic limit") for line in summary.theory[RACE.worlds[0]])


def test_a_corrupted_world_has_the_proved_bound_and_no_lower_line(told):
    line, *others = told[0].summary.theory[RACE.worlds[2]]
    assert [other.text for other in others] in ([], ["bound on our expected regret so far"])
    # Theorem B (ii) of docs/sharp_constants.md by hand, for two cliques of three arms
    promised = np.sqrt(300) * (np.sqrt(2) * (sharp_alpha(3) + np.log(3)) + 5.21 * np.sqrt(2)) + 9 * np.log(300) + 1
    assert line.values[-1] == pytest.approx(promised)


@pytest.mark.parametrize("world", RACE.worlds)
def test_nothing_in_a_figure_of_regret_is_cut_off_and_no_name_lies_on_another(told, world):
    figure = regret_figure(told[0].summary, world)
    renderer = drawn(figure)
    page = figure.bbox
    names = [text.get_window_extent(renderer) for text in figure.axes[1].texts]
    assert len(names) >= len(RACE.learners)
    for name in names:
        assert page.x0 <= name.x0
        assert name.x1 <= page.x1
        assert page.y0 <= name.y0
        assert name.y1 <= page.y1
    ordered = sorted(names, key=lambda box: box.y0)
    assert all(below.y1 <= above.y0 + 1.0 for below, above in itertools.pairwise(ordered))


def test_the_longest_bar_keeps_its_words_inside_the_figure(told):
    summary = with_ratios(told[0].summary, ("tsallis-shannon", 1.0), ("ucb-n", 900.0))
    figure = headline_figure(summary)
    renderer = drawn(figure)
    assert all(text.get_window_extent(renderer).x1 <= figure.bbox.x1 for text in figure.axes[0].texts)


def test_learners_differ_in_colour_or_dashes():
    names = [f"learner {k}" for k in range(20)]
    styles = learner_styles(names, names[0], dict.fromkeys(names, True))
    assert len({(style.colour, str(style.dashes)) for style in styles.values()}) == 20


@pytest.mark.parametrize("seed", range(5))
def test_spread_names_keep_their_order_and_their_distance_and_stay_below_the_top(seed):
    heights = np.random.default_rng(seed).uniform(0.5, 1.0, 8)
    placed = np.array(spread(heights, gap=0.06))
    ordered = placed[np.argsort(heights)]
    assert np.diff(ordered).min() >= 0.06 - 1e-9
    assert ordered[-1] <= 1.0 + 1e-9
    low = np.sort(spread(heights - 0.5, gap=0.06))
    assert np.diff(low).min() >= 0.06 - 1e-9
    assert low[0] >= 0.0
    assert low[-1] <= 1.0


def test_worlds_written_by_place_are_described_as_they_are(told):
    written = Race("bandit:3", ("corrupted:flip,1000", "stochastic:0.1", "stochastic:0.2"), ("ucb-n",)).worlds
    assert list(short_titles(written).values()) == ["corrupted", "stochastic, gap 0.1", "stochastic, gap 0.2"]
    rows = tuple(replace(row, world=written[0]) for row in told[0].summary.standings)
    assert "becomes 1 - l" in about_world(replace(told[0].summary, standings=rows), written[0])


def test_titles_tell_worlds_apart():
    assert title_of("switching") == "Switching"
    titles = short_titles(["corrupted:attack=flip,budget=9", "corrupted:attack=spread,budget=9"])
    assert list(titles.values()) == ["corrupted, attack flip", "corrupted, attack spread"]
