"""The pictures of the comparison show the numbers of the table of results that ships with the package."""

from __future__ import annotations

import re

import pytest

from allworlds.reporting.heat_map import LEGEND, ratio_text
from comparison import PAGE, stored
from matrices import FOLDER, MATRICES, ON_PHONES

FILES = [(name, ending) for name in MATRICES for ending in ("", ON_PHONES)]
PARTS = {
    "comparison": ("all-worlds", ("undirected",)),
    "hostile": ("hostile-worlds", ("undirected",)),
    "hostile_directed": ("hostile-worlds", ("directed", "changing")),
}
KINDS = {"constrained": "constrained adversary", "lock": "lock-in", "switching": "late switch"}


def written(name, ending):
    """All texts of a stored picture in the order in which they were drawn: an SVG has each line as a comment."""
    _, *parts = (FOLDER / f"{name}{ending}.svg").read_text(encoding="utf-8").split('<g id="text_')
    return ["\n".join(re.findall(r"<!-- (.*?) -->", part)) for part in parts]


def column(name, world):
    """What a world is called in a picture."""
    kind = re.split("[:-]", world)[0]
    if kind == "stochastic":
        return f"stochastic, gap {world.partition('gap=')[2]}"
    if kind == "corrupted":
        budget = re.search(r"budget=(\d+)", world)
        return f"corrupted by {budget[1]}" if name != "comparison" and budget else "corrupted"
    return KINDS[kind]


def cells(name):
    """The largest ratio of each learner, graph and column, straight from the stored rows."""
    experiment, kinds = PARTS[name]
    found = {}
    for row in stored(experiment):
        if row.kind in kinds and row.ratio is not None:
            place = (row.learner, row.graph, column(name, row.world))
            found[place] = max(row.ratio, found.get(place, 0.0))
    return found


@pytest.mark.parametrize(("name", "ending"), FILES)
def test_a_stored_picture_has_the_stored_numbers_where_they_belong(name, ending):
    found = cells(name)
    worst = {}
    for (learner, _, _), ratio in found.items():
        worst[learner] = max(ratio, worst.get(learner, 0.0))
    order = sorted(worst, key=worst.__getitem__)
    beside = [text for learner in order for text in (learner, ratio_text(worst[learner]))]
    graphs = {graph.replace(":", "\n", 1) for _, graph, _ in found}
    texts, shown, graph = iter(written(name, ending)), {}, ""
    for text in texts:
        if text == "worst":
            assert [next(texts) for _ in beside] == beside
        elif text in graphs:
            graph = text.replace("\n", ":", 1)
        elif text == "ratio to the best":
            assert list(texts) == list(LEGEND.values())
        else:
            shown |= {(learner, graph, text): next(texts) for learner in order}
    expected = {(learner, graph, title): "–" for _, graph, title in found for learner in order}
    assert shown == expected | {place: ratio_text(ratio) for place, ratio in found.items()}


@pytest.mark.parametrize("name", MATRICES)
def test_the_page_has_both_versions_of_each_picture(name):
    text = PAGE.read_text(encoding="utf-8")
    assert f'srcset="pictures/{name}{ON_PHONES}.svg"' in text
    assert f'src="pictures/{name}.svg"' in text
