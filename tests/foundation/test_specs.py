"""The grammar of specs: what is written is what is read, and mistakes get a sentence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allworlds.foundation.errors import InvalidParameter
from allworlds.foundation.specs import Recipe, Registry, Spec, check_known, parse_spec

NO_WORDS = ("true", "false", "inf", "nan")
WORD = st.from_regex(r"[a-w][a-w0-9]{0,6}", fullmatch=True).filter(lambda word: word not in NO_WORDS)
NUMBER = st.integers(-(10**9), 10**9) | st.floats(-1e6, 1e6, allow_nan=False)
SCALAR = NUMBER | st.booleans() | WORD
LISTED = st.lists(NUMBER, min_size=2, max_size=4).map(tuple)
KEY = st.from_regex(r"[a-z][a-z_]{0,6}", fullmatch=True)
SPECS = st.builds(
    Spec,
    st.sampled_from(["bandit", "disjoint-cliques", "a-b2-c"]),
    st.lists(SCALAR | LISTED, max_size=4).map(tuple),
    st.dictionaries(KEY, SCALAR | LISTED, max_size=4),
)


@given(SPECS)
def test_what_is_written_is_read_back(spec):
    assert parse_spec(str(spec)) == spec


@pytest.mark.parametrize(
    ("text", "positional", "options"),
    [
        ("lu-gadgets", (), {}),
        ("bandit:10", (10,), {}),
        ("disjoint-cliques:10x10", ((10, 10),), {}),
        ("disjoint-cliques:1,2,4", (1, 2, 4), {}),
        ("erdos-renyi:30,p=0.4,seed=1", (30,), {"p": 0.4, "seed": 1}),
        ("stochastic:means=0.1/0.5/0.5", (), {"means": (0.1, 0.5, 0.5)}),
        ("stochastic-blocks:5,p-in=1e-1", (5,), {"p_in": 0.1}),
        ("exp3-ix:implicit=false", (), {"implicit": False}),
        ("file:/data/a=b,c:d.txt", ("/data/a=b,c:d.txt",), {}),
    ],
)
def test_each_form_is_read_as_documented(text, positional, options):
    spec = parse_spec(text)
    assert (spec.positional, dict(spec.options)) == (positional, options)
    assert spec.name == text.partition(":")[0]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "does not begin with a name"),
        (":10", "does not begin with a name"),
        ("Bandit:10", "does not begin with a name"),
        ("bandit:", "ends after its colon"),
        ("bandit:1,,2", "has an empty argument"),
        ("bandit:n=", "has an empty argument"),
        ("bandit:=3", "has an empty argument"),
        ("bandit:n=1,2", "'2' after a key=value"),
        ("bandit:n=1,n=2", "gives n twice; give it once"),
    ],
)
def test_a_spec_that_cannot_be_read_says_why(text, sentence):
    with pytest.raises(InvalidParameter, match=sentence):
        parse_spec(text)


def test_what_is_not_text_raises():
    with pytest.raises(InvalidParameter, match="spec is 10; expected text"):
        parse_spec(10)


BOXES = Registry(
    "box",
    Recipe(
        "box",
        lambda **given: given,
        "a box",
        "box:2x3",
        {"rows": "integer", "width": "number", "open": "flag", "names": "word", "cuts": "numbers", "ids": "integers"},
        ("rows",),
    ),
)


def test_a_spec_that_was_read_before_is_taken_as_it_is():
    spec = parse_spec("box:2,width=0.5")
    assert parse_spec(spec) is spec
    assert BOXES.build(spec) == BOXES.build("box:2,width=0.5") == {"rows": 2, "width": 0.5}
    assert BOXES.find(spec) is BOXES.find("box:7") is BOXES["box"]


def test_what_the_caller_gives_is_handed_on_with_the_options():
    assert BOXES.build("box:2", n_arms=7) == {"rows": 2, "n_arms": 7}


def test_an_error_inside_a_constructor_stays_what_it_is():
    def broken(n):
        return len(n)  # a bug: a number has no length

    registry = Registry("thing", Recipe("thing", broken, "a thing", "thing:3", {"n": "integer"}))
    with pytest.raises(TypeError, match="has no len") as caught:
        registry.build("thing:3")
    assert not isinstance(caught.value, InvalidParameter)
    with pytest.raises(InvalidParameter, match="there is no option of thing: 'm'"):
        registry.build("thing:m=3")


def test_an_open_recipe_hands_other_options_on_and_checks_its_own():
    registry = Registry("thing", Recipe("thing", lambda **all: all, "a thing", "thing:3", {"n": "integer"}, open=True))
    assert registry.build("thing:3,colour=red") == {"n": 3, "colour": "red"}
    with pytest.raises(InvalidParameter, match="gives n as 'red'; expected a whole number"):
        registry.build("thing:n=red")


def test_values_by_place_fill_the_keys_in_order_and_kinds_convert():
    made = BOXES.build("box:2x3,open=true,names=7,cuts=1,ids=4/5")
    assert made == {"rows": 2, "width": 3.0, "open": True, "names": "7", "cuts": [1.0], "ids": [4, 5]}
    assert isinstance(made["width"], float)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("bux:1", "there is no box 'bux'; the nearest is box"),
        ("box", "'box' lacks rows; expected boxs? such as 'box:2x3'"),
        ("box:1.5", "gives rows as '1.5'; expected a whole number"),
        ("box:true", "gives rows as 'true'; expected a whole number"),
        ("box:1,width=wide", "gives width as 'wide'; expected a number"),
        ("box:1,width=nan", "gives width as 'nan'; expected a number"),
        ("box:1,width=1/8", "gives width as '1/8'; expected a number"),
        ("box:1,open=1", "gives open as '1'; expected true or false"),
        ("box:1,ids=1/b", "gives ids as '1/b'; expected whole numbers"),
        ("box:1,rows=2", "gives rows by place and by key"),
        ("box:1,widht=2", "there is no option of box: 'widht'; the nearest are width"),
        ("box:1x2x3x4x5x6x7", "has 7 values, but box takes 6"),
    ],
)
def test_arguments_that_do_not_fit_say_what_was_expected(text, sentence):
    with pytest.raises(InvalidParameter, match=sentence):
        BOXES.build(text)


def test_a_name_far_from_all_lists_everything():
    with pytest.raises(InvalidParameter, match="there is no fruit 'zzz'; there are apple, pear"):
        check_known("zzz", ["apple", "pear"], "fruit")


def test_a_name_cannot_be_registered_twice():
    recipe = Recipe("row", list, "a list", "row")
    with pytest.raises(InvalidParameter, match=r"two lists have one name among \['row', 'row'\]; rename one"):
        Registry("list", recipe, recipe)
