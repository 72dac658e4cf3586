"""What is refused: hosts, origins, content types, sizes, times and rates; and that nothing secret is logged."""

from __future__ import annotations

import asyncio
import logging

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allworlds.service.keys import make_key
from allworlds.service.security import Bucket, Limits, Refused, allowed_hosts, check_text, host_name, is_loopback, shown
from stand_in_engine import Wire, exchange, make_app, send

DECISIONS = "/v1/learners/prices/decisions"


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:8080", "localhost:1", "LOCALHOST", "[::1]:8080", "localhost."]
)
def test_a_loopback_name_is_an_allowed_host(host):
    assert send(make_app(), "GET", "/healthz", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8080",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "",
        "evil@127.0.0.1",
        "::1",
    ],
)
def test_a_name_that_points_here_by_dns_rebinding_is_refused(host):
    app = make_app()
    for method, path in (("GET", "/healthz"), ("GET", "/v1/learners"), ("POST", DECISIONS)):
        answer = send(app, method, path, headers={"Host": host}, json={} if method == "POST" else None)
        assert answer.status_code == 421
        assert "--allow-host" in answer.json()["error"]
    assert app.engine.asked == []


def test_two_hosts_or_none_are_malformed():
    async def ask(hosts):
        async def request():
            lines = [b"GET /healthz HTTP/1.1", *(b"Host: " + host for host in hosts), b"Connection: close"]
            yield b"\r\n".join(lines) + b"\r\n\r\n"

        return int((await exchange(make_app(), request())).split()[1])

    assert asyncio.run(ask([b"127.0.0.1"])) == 200
    assert asyncio.run(ask([])) == 400
    assert asyncio.run(ask([b"127.0.0.1", b"evil.example"])) == 400


def test_a_service_is_addressed_by_the_names_that_were_allowed_and_no_wildcard():
    hosts = allowed_hosts("0.0.0.0", ["Decide.example"])
    assert hosts == {"localhost", "127.0.0.1", "[::1]", "decide.example"}
    assert allowed_hosts("fd00::1") >= {"[fd00::1]"}


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1"},  # another port is another origin
        {"Origin": "http://127.0.0.1:8080.evil.example"},
        {"Origin": "file://127.0.0.1:8080"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_a_page_of_another_site_is_refused(headers):
    app = make_app()
    for method, path in (("GET", "/v1/learners"), ("POST", DECISIONS), ("POST", f"{DECISIONS}/7/void")):
        answer = send(app, method, path, headers=headers, json={} if method == "POST" else None)
        assert answer.status_code == 403
        assert "access-control-allow-origin" not in answer.headers
    assert app.engine.asked == []


@pytest.mark.parametrize("headers", [{"Origin": "http://127.0.0.1:8080"}, {"Sec-Fetch-Site": "none"}, {}])
def test_the_services_own_pages_and_programs_are_served(headers):
    assert send(make_app(), "POST", DECISIONS, headers=headers, json={}).status_code == 200


def test_a_preflight_grants_nothing():
    asks = {"Origin": "http://evil.example", "Access-Control-Request-Method": "PUT"}
    answer = send(make_app(), "OPTIONS", DECISIONS, headers=asks)
    assert answer.status_code in (403, 405)
    assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        ("application/json", 200),
        ("application/json; charset=utf-8", 200),
        ("Application/JSON;charset=UTF-8", 200),
        ("application/json; charset=utf-16", 415),
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        ("multipart/form-data; boundary=application/json", 415),
        ("", 415),
    ],
)
def test_only_json_is_read(content_type, status):
    app = make_app()
    answer = send(app, "POST", DECISIONS, content=b"{}", headers={"Content-Type": content_type})
    assert answer.status_code == status
    assert bool(app.engine.asked) == (status == 200)


def test_a_compressed_body_is_refused_before_it_can_swell():
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    assert send(make_app(), "POST", DECISIONS, content=b"\x1f\x8b", headers=headers).status_code == 415


@pytest.mark.parametrize("declared", [True, False])
def test_a_body_that_is_too_large_is_refused_declared_or_not(declared):
    limits, sent = Limits(body_bytes=1000), []

    async def pieces():
        for _ in range(1000):
            sent.append(1)
            yield b" " * 100

    app = make_app(limits=limits)
    content = b" " * 1001 if declared else pieces()
    answer = send(app, "POST", DECISIONS, content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code == 413
    assert answer.headers["connection"] == "close"
    assert len(sent) <= 11
    assert app.engine.asked == []


def test_a_learner_may_be_larger_than_a_decision():
    limits = Limits(body_bytes=100, learner_bytes=10_000)
    arms = [f"arm-{k}" for k in range(100)]
    body = {"name": "large", "arms": arms, "graph": {"edges": []}}
    assert send(make_app(limits=limits), "POST", "/v1/learners", json=body).status_code == 201


def test_a_slow_body_times_out():
    async def slowly():
        yield b"{"
        await asyncio.sleep(60)

    app = make_app(limits=Limits(body_seconds=0.05))
    answer = send(app, "POST", DECISIONS, content=slowly(), headers={"Content-Type": "application/json"})
    assert answer.status_code == 408
    assert app.engine.asked == []


def test_beyond_the_requests_in_flight_the_next_is_told_to_wait():
    app = make_app(limits=Limits(in_flight=3, answer_seconds=0.2))

    async def many():
        async with httpx.AsyncClient(transport=Wire(app), base_url="http://127.0.0.1") as client:
            waiting = [client.post(DECISIONS, json={"id": "never"}) for _ in range(5)]
            return [answer.status_code for answer in await asyncio.gather(*waiting)]

    assert sorted(asyncio.run(many())) == [429, 429, 503, 503, 503]
    assert send(app, "POST", DECISIONS, json={}).status_code == 200  # the places are free again
    batch = {"decisions": [{}] * 4}
    assert send(app, "POST", f"{DECISIONS}:batch", json=batch).status_code == 429


@pytest.mark.parametrize("text", ["a\x00b", "a\nb", "\x7f", "", "x" * 201, ".", ".."])
def test_labels_ids_and_segments_are_short_and_printable(text):
    app = make_app()
    with pytest.raises(Refused):
        check_text("label", text)
    bodies = [("POST", DECISIONS, {"id": text}), ("POST", "/v1/learners/prices/arms", {"label": text})]
    bodies.append(("POST", "/v1/learners", {"name": "x", "arms": [text], "graph": {"edges": []}}))
    bodies.append(("POST", "/v1/learners", {"name": "x", "graph": {"cliques": [["a", text]]}}))
    for method, path, body in bodies:
        assert send(app, method, path, json=body).status_code == 422
    assert app.engine.asked == []


def test_text_of_strangers_is_escaped_in_sentences():
    answer = send(make_app(), "GET", "/%1b%5b2J<script>alert(1)</script>")
    assert answer.status_code == 404
    assert "\x1b" not in answer.json()["error"]
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"


@given(st.text())
def test_shown_text_is_short_and_cannot_control_a_terminal(text):
    assert all(character.isprintable() and (character.isascii() or character == "…") for character in shown(text))
    assert len(shown(text)) <= 12 * 61


def test_no_secret_is_ever_logged(caplog):
    row, key = make_key(["read"])
    secret = key.partition(".")[2]
    app = make_app(row)
    with caplog.at_level(logging.DEBUG):
        for authorization in (f"Bearer {key}", f"Bearer {key}x", f"Basic {secret}", f"Bearer {secret}"):
            for method, path in (("GET", "/v1/learners"), ("POST", "/v1/learners"), ("GET", "/v1/learners/broken")):
                send(app, method, path, headers={"Authorization": authorization})
    assert "401" in caplog.text
    assert "a defect" in caplog.text
    assert secret not in caplog.text


def test_refusals_cannot_flood_the_log(caplog):
    app = make_app()
    for _ in range(200):
        send(app, "GET", "/healthz", headers={"Host": "evil.example"})
    lines = [record for record in caplog.records if record.name == "allworlds.service"]
    assert 20 <= len(lines) <= 60


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False)],
)
def test_loopback_is_what_only_this_machine_reaches(host, loopback):
    assert is_loopback(host) is loopback
    assert not is_loopback("example.org")


@given(st.from_regex(r"[a-z0-9.-]{1,20}", fullmatch=True), st.integers(0, 65535))
def test_a_host_is_the_same_with_any_port(name, port):
    assert host_name(f"{name}:{port}") == host_name(name)


def test_a_bucket_lets_through_its_burst_and_then_its_rate():
    now = [0.0]
    bucket = Bucket(rate=10.0, burst=5.0, clock=lambda: now[0])
    assert [bucket.take() == 0.0 for _ in range(7)] == [True] * 5 + [False] * 2
    assert bucket.take() == pytest.approx(0.1)
    passed = 0
    for _ in range(1000):
        now[0] += 0.01
        passed += bucket.take() == 0.0
    assert passed == pytest.approx(100, abs=1)  # 10 s at 10 a second
