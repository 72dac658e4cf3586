"""Keys: the whole table of scopes by routes, revocation, rates, and when a key is needed."""

from __future__ import annotations

import hashlib
import itertools

import pytest

from allworlds.foundation.errors import InvalidParameter
from allworlds.service.keys import SCOPES, STALE, KeyRing, make_key, revoke_key, rotate_key
from allworlds.service.memory import MemoryJournal
from allworlds.service.routes import ROUTES
from allworlds.service.security import Limits, Refused
from stand_in_engine import make_app, send

TABLE = {
    "health": None,
    "ready": None,
    "document": None,
    "list_learners": "read",
    "create_learner": "admin",
    "show_learner": "read",
    "archive_learner": "admin",
    "add_arm": "admin",
    "retire_arm": "admin",
    "choose": "choose",
    "choose_many": "choose",
    "show_decision": "read",
    "observe": "observe",
    "void": "observe",
    "export": "read",
    "evaluate": "read",
}
"""Written by hand: what a key needs for each route."""
BODIES = {
    "create_learner": {"name": "prices", "graph": {"family": "cycle:5"}},
    "add_arm": {"label": "c"},
    "choose": {},
    "choose_many": {"decisions": [{}]},
    "observe": {"a": 0.5},
}
BY_NAME = {route.name: route for route in ROUTES}


def ask(app, route, key=None, learner="prices"):
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    path = route.path.format(name=learner, id="7", label="a") if "{" in route.path else route.path
    body = BODIES.get(route.name)
    if route.name == "create_learner":
        body = {**body, "name": learner}
    return send(app, route.method, path, headers=headers, json=body)


def test_the_table_names_every_route():
    assert set(BY_NAME) == set(TABLE)


@pytest.mark.parametrize("name", TABLE)
def test_a_route_is_open_to_keys_with_its_scope_and_to_no_others(name, monkeypatch):
    keys = {scopes: make_key(scopes) for n in (1, 2, 4) for scopes in itertools.combinations(SCOPES, n)}
    app = make_app(*(row for row, _ in keys.values()))
    app.export = app.evaluate = _answer  # type: ignore[method-assign,assignment]
    for scopes, (_, text) in keys.items():
        answer = ask(app, BY_NAME[name], text)
        allowed = TABLE[name] is None or TABLE[name] in scopes
        assert answer.status_code == ((201 if name == "create_learner" else 200) if allowed else 403), (name, scopes)
    assert ask(app, BY_NAME[name]).status_code == (200 if TABLE[name] is None else 401)


async def _answer(*arguments):
    return {}


@pytest.mark.parametrize("name", [name for name, scope in TABLE.items() if scope is not None])
def test_a_key_for_one_learner_opens_no_other(name):
    row, text = make_key(SCOPES, "prices")
    app = make_app(row)
    app.export = app.evaluate = _answer  # type: ignore[method-assign,assignment]
    assert ask(app, BY_NAME[name], text).status_code in (200, 201)
    answer = ask(app, BY_NAME[name], text, learner="routes")
    if name == "list_learners":
        assert [view["name"] for view in answer.json()["learners"]] == ["prices"]
    else:
        assert answer.status_code == 403
        assert "alone" in answer.json()["error"]


def test_a_key_has_256_random_bits_of_which_the_hash_is_kept():
    pairs = [make_key(["read"]) for _ in range(100)]
    assert len({text for _, text in pairs}) == len({row.id for row, _ in pairs}) == 100
    for row, text in pairs:
        identity, _, secret = text.partition(".")
        assert identity == row.id
        assert len(secret) >= 43  # 256 bits in base 64
        assert row.hash == hashlib.sha256(secret.encode()).digest()
        assert secret not in repr(row)


@pytest.mark.parametrize("scopes", [[], ["root"], ["read", "write"]])
def test_a_scope_that_is_not_known_is_refused(scopes):
    with pytest.raises(InvalidParameter, match="expected some of choose, observe, read, admin"):
        make_key(scopes)


def wrong_keys(text):
    identity, _, secret = text.partition(".")
    yield from (identity, secret, f"{identity}.", f".{secret}", f"{identity}.{secret[:-1]}", f"{identity}.{secret}x")
    yield from (f"{identity}x.{secret}", f"{secret}.{identity}", "", ".", f"{identity}.{secret.swapcase()}")


def test_a_key_that_is_nearly_right_is_unknown():
    row, text = make_key(["read"])
    app = make_app(row)
    assert ask(app, BY_NAME["list_learners"], text).status_code == 200
    for wrong in wrong_keys(text):
        answer = ask(app, BY_NAME["list_learners"], wrong)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Bearer")
    for header in (text, f"Basic {text}", f"Token {text}"):
        answer = send(app, "GET", "/v1/learners", headers={"Authorization": header})
        assert answer.status_code == 401


def test_no_key_is_needed_on_loopback_until_there_is_one_and_then_for_ever():
    assert send(make_app(), "GET", "/v1/learners").status_code == 200
    row, _ = make_key(["read"])
    assert send(make_app(row), "GET", "/v1/learners").status_code == 401
    assert send(make_app(row._replace(revoked_at=1.0)), "GET", "/v1/learners").status_code == 401
    assert send(make_app(host="0.0.0.0"), "GET", "/v1/learners").status_code == 401


def test_a_revoked_key_stops_working_with_the_next_reading():
    journal, ring = MemoryJournal(), KeyRing(Limits(), required=False)
    row, text = make_key(["read"])
    with journal.transaction():
        journal.add_key(row)
    ring.replace(journal.keys())
    header = f"Bearer {text}".encode()
    assert ring.admit(header, "read", None) == row
    revoke_key(journal, row.id)
    ring.replace(journal.keys())
    with pytest.raises(Refused, match="revoked"):
        ring.admit(header, "read", None)
    with pytest.raises(InvalidParameter, match="keys list"):
        revoke_key(journal, row.id)


@pytest.mark.parametrize("keep", [True, False])
def test_a_rotated_key_may_do_the_same_and_the_old_one_nothing(keep):
    journal = MemoryJournal()
    old, _ = make_key(["choose", "read"], "prices", "the shop")
    with journal.transaction():
        journal.add_key(old)
    new, text = rotate_key(journal, old.id, keep=keep)
    assert new[2:5] == old[2:5]
    assert text.startswith(f"{new.id}.")
    good = [row.id for row in journal.keys() if row.revoked_at is None]  # noqa: SIM118
    assert good == ([old.id, new.id] if keep else [new.id])


def test_keys_that_cannot_be_read_again_are_not_trusted_for_long():
    now = [100.0]
    row, text = make_key(["read"])
    app = make_app(row, clock=lambda: now[0])
    now[0] += STALE - 0.1
    assert ask(app, BY_NAME["list_learners"], text).status_code == 200
    now[0] += 0.2
    assert ask(app, BY_NAME["list_learners"], text).status_code == 503


def test_each_key_has_a_rate_of_its_own_and_a_batch_counts_its_items():
    now = [0.0]
    (fast, fast_text), (slow, slow_text) = make_key(["choose"]), make_key(["choose"])
    app = make_app(fast, slow, limits=Limits(rate=10.0, burst=20.0), clock=lambda: now[0])
    statuses = [ask(app, BY_NAME["choose"], fast_text).status_code for _ in range(25)]
    assert statuses == [200] * 20 + [429] * 5
    refused = ask(app, BY_NAME["choose"], fast_text)
    assert int(refused.headers["retry-after"]) >= 1
    assert ask(app, BY_NAME["choose"], slow_text).status_code == 200
    batch = {"decisions": [{}] * 19}
    headers = {"Authorization": f"Bearer {slow_text}"}
    path = "/v1/learners/prices/decisions:batch"
    assert send(app, "POST", path, json=batch, headers=headers).status_code == 200
    assert send(app, "POST", path, json=batch, headers=headers).status_code == 429
    now[0] += 2.0
    assert send(app, "POST", path, json=batch, headers=headers).status_code == 200
