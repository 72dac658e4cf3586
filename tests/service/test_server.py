"""Serving processes as users start them: where they listen, what they say, how they stop, what they refuse."""

from __future__ import annotations

import concurrent.futures
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from functools import partial

import httpx
import pytest

from allworlds.foundation.errors import InvalidParameter
from allworlds.service import engine, keys, server
from allworlds.service.engine import Engine
from allworlds.service.journal import EventRow
from allworlds.service.keys import REFRESH, STALE, make_key, revoke_key
from allworlds.service.memory import MemoryJournal
from allworlds.service.schema import open_journal
from allworlds.service.security import Limits
from allworlds.service.server import Service, Settings
from served import serving

LEARNER = {"name": "prices", "arms": ["a", "b", "c"], "graph": {"cliques": [["a", "b"], ["c"]]}}
COMMAND = [sys.executable, "-m", "allworlds"]


def run(*arguments):
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False, timeout=60)


class Process:
    """``allworlds serve`` on a free port."""

    def __init__(self, *arguments):
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            [*COMMAND, "serve", "--port", "0", *arguments], stdout=pipe, stderr=pipe, text=True
        )
        said = b""
        while not said.endswith(b"\n") and (byte := os.read(self.process.stdout.fileno(), 1)):
            said += byte  # and no more, for the rest is read by communicate
        self.said = said.decode()

    def wait(self, path, seconds=120.0):
        """The seconds until a path is answered with 200."""
        begin = time.monotonic()
        while time.monotonic() < begin + seconds:
            try:
                if httpx.get(self.url + path).status_code == 200:
                    return time.monotonic() - begin
            except httpx.TransportError:
                pass
            time.sleep(0.02)
        raise TimeoutError(path)

    @property
    def url(self):
        return self.said.split()[-1]

    def end(self, sign=signal.SIGTERM):
        self.process.send_signal(sign)
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("sign", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_process_under_load_stops_cleanly_and_has_lost_nothing(tmp_path, sign):
    database = f"sqlite:///{tmp_path / 'decisions.db'}"
    (tmp_path / "learner.json").write_text(json.dumps(LEARNER))
    process = Process("--database", database, "--create", str(tmp_path / "learner.json"))
    assert process.said.startswith("serving on http://127.0.0.1:")
    process.wait("/readyz")
    acknowledged = []

    def work(worker):
        with httpx.Client(base_url=process.url, timeout=20.0) as client:
            for number in range(100_000):
                id = f"{worker}-{number}"
                try:
                    answer = client.post("/v1/learners/prices/decisions", json={"id": id})
                except httpx.TransportError:
                    return
                if answer.status_code != 200:
                    assert answer.status_code == 503
                    return
                acknowledged.append(answer.json())

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        workers = [pool.submit(work, worker) for worker in range(4)]
        while len(acknowledged) < 50:
            time.sleep(0.01)
        code, out, err = process.end(sign)
        for worker in workers:
            worker.result()
    assert code == 0
    assert out.startswith("try: curl http://127.0.0.1:")
    assert "stopped" in err
    assert "Traceback" not in err
    again = Process("--database", database)
    again.wait("/readyz")
    log = httpx.get(f"{again.url}/v1/learners/prices/export", timeout=60.0).text.splitlines()[1:]
    found = {row["id"]: (row["arm"], row["pscore"], row["round"], row["status"]) for row in map(json.loads, log)}
    for answer in acknowledged:
        assert found[answer["id"]] == (answer["arm"], answer["probability"], answer["round"], "open")
    assert again.end()[0] == 0


def test_probes_are_answered_while_the_engine_is_loaded(tmp_path):
    process = Process("--database", "memory:", "--json")
    process.said = json.loads(process.said)["url"]
    healthy = process.wait("/healthz", 5.0)
    seen = httpx.get(process.url + "/readyz")
    ready = process.wait("/readyz")
    assert healthy < ready
    assert seen.status_code == 503
    assert "compiling" in seen.json()["error"]
    code, out, err = process.end()
    assert (code, out) == (0, "")
    lines = [json.loads(line) for line in err.splitlines()]
    assert lines[-1]["message"] == "stopped"
    assert any(line["message"].startswith("ready after") for line in lines)


def test_a_process_that_still_compiles_stops_at_once(tmp_path):
    process = Process("--database", f"sqlite:///{tmp_path / 'decisions.db'}")
    process.wait("/healthz")
    begin = time.monotonic()
    code, _, _ = process.end()
    assert code == 0
    assert time.monotonic() - begin < 10.0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--host", "0.0.0.0"], "there is no key; expected at least one; try allworlds keys make"),
        (["--host", "203.0.113.7"], "203.0.113.7"),
        (["--database", "mysql://x"], "mysql"),
        (["--create", "absent.json"], "absent.json cannot be read"),
    ],
)
def test_what_cannot_be_served_is_a_sentence_and_exit_code_2(arguments, words):
    answer = run("serve", "--port", "0", "--database", "memory:", *arguments)
    assert answer.returncode == 2
    assert words in answer.stderr
    assert "Traceback" not in answer.stderr


def test_a_port_that_is_taken_is_a_sentence():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InvalidParameter, match="try another --port"):
            Service(Settings(database="memory:", port=port))


def test_a_learner_of_a_file_that_differs_from_the_one_there_stops_the_start(tmp_path):
    (tmp_path / "learner.json").write_text(json.dumps({**LEARNER, "low": -1.0}))
    journal = MemoryJournal()
    with serving(journal) as service:
        httpx.post(f"{service.url}/v1/learners", json=LEARNER).raise_for_status()
    service = Service(Settings(database="memory:", port=0, create=(tmp_path / "learner.json",)), journal)
    with pytest.raises(Exception, match="other settings"):
        service.run()


def test_the_number_of_arms_up_to_which_all_probabilities_are_kept_is_a_setting():
    for up_to, kept in ((2, False), (3, True)):
        with serving(probabilities_up_to=up_to) as service, httpx.Client(base_url=service.url, timeout=60.0) as client:
            client.post("/v1/learners", json=LEARNER).raise_for_status()
            path = "/v1/learners/prices"
            observe = client.post(f"{path}/decisions", json={"id": "one"}).json()["observe"]
            client.put(f"{path}/decisions/one/outcome", json=dict.fromkeys(observe, 0.5)).raise_for_status()
            row = json.loads(client.get(f"{path}/export").text.splitlines()[1])
            assert (row["probabilities"] is not None) == kept
            answer = client.get(f"{path}/export?format=dsjson")
            assert answer.status_code == (200 if kept else 409)
            assert kept or "serve --probabilities-up-to" in answer.json()["error"]
            assert client.get(f"{path}/evaluate").json()["n_rounds"] == 1  # which needs the clique's alone
    seen = run("serve", "--probabilities-up-to", "-1")
    assert (seen.returncode, "probabilities-up-to" in seen.stderr) == (2, True)


def test_keys_are_made_and_revoked_beside_a_serving_process_and_revocation_is_quick(tmp_path):
    database = f"sqlite:///{tmp_path / 'decisions.db'}"
    key = run("keys", "make", "--new", "--database", database, "--scopes", "read").stdout.strip()
    process = Process("--database", database)
    process.wait("/readyz")
    headers = {"Authorization": f"Bearer {key}"}
    path = f"{process.url}/v1/learners"
    assert httpx.get(path).status_code == 401
    assert httpx.get(path, headers=headers).status_code == 200
    second = json.loads(run("keys", "rotate", key.partition(".")[0], "--keep", "--json", "--database", database).stdout)
    revoked = run("keys", "revoke", key.partition(".")[0], "--database", database)
    assert revoked.returncode == 0, revoked.stderr
    time.sleep(STALE)
    assert httpx.get(path, headers=headers).status_code == 401
    assert httpx.get(path, headers={"Authorization": f"Bearer {second['key']}"}).status_code == 200
    rows = [json.loads(line) for line in run("keys", "list", "--json", "--database", database).stdout.splitlines()]
    assert [row["status"] for row in rows] == ["revoked", "good"]
    code, out, err = process.end()
    assert code == 0
    for text in (key, second["key"]):
        assert text.partition(".")[2] not in out + err


@pytest.mark.parametrize("verb", [["make"], ["revoke", "x"]])
def test_keys_of_a_database_that_is_not_there_are_a_sentence_and_make_none(tmp_path, verb):
    answer = run("keys", *verb, "--database", f"sqlite:///{tmp_path / 'mistyped.db'}")
    assert answer.returncode == 2
    assert "which is not there; expected a file of allworlds" in answer.stderr
    assert "keys make --new" in answer.stderr
    assert list(tmp_path.iterdir()) == []
    assert run("keys", *verb, "--database", "memory:").returncode == 2


def test_keys_that_cannot_be_read_stop_every_key_until_they_can(monkeypatch):
    journal = MemoryJournal()
    row, key = make_key(["read"])
    with journal.transaction():
        journal.add_key(row)
    headers = {"Authorization": f"Bearer {key}"}
    with serving(journal) as service:
        path = f"{service.url}/v1/learners"
        assert httpx.get(path, headers=headers).status_code == 200
        revoke_key(journal, row.id)
        time.sleep(2 * REFRESH)
        assert httpx.get(path, headers=headers).status_code == 401


def test_a_process_hears_of_a_revoked_key_and_a_changed_learner_at_once(postgres, monkeypatch):
    monkeypatch.setattr(server, "REFRESH", 60.0)  # so that only a hint can be in time
    monkeypatch.setattr(keys, "STALE", 60.0)
    monkeypatch.setattr(engine, "Engine", partial(Engine, expire_every=1e6))  # which asks every second otherwise
    url = postgres.new_database()
    journal, other = open_journal(url), open_journal(url)
    row, key = make_key(["read", "admin"])
    with journal.transaction():
        journal.add_key(row)
    headers = {"Authorization": f"Bearer {key}"}
    with serving(journal) as service:
        made = httpx.post(f"{service.url}/v1/learners", json=LEARNER, headers=headers).json()
        time.sleep(1.0)  # it listens by now
        with other.transaction():
            other.archive(made["name"], 5.0)
            other.add_events([EventRow(made["name"], other.advance(made["name"], 1), "archive", 5.0)])
        begin = time.monotonic()
        while service._engine._lives[made["name"]].archived_at is None:
            assert time.monotonic() - begin < 10.0
            time.sleep(0.01)
        begin = time.monotonic()
        revoke_key(other, row.id)
        while (status := httpx.get(f"{service.url}/v1/learners", headers=headers).status_code) == 200:
            assert time.monotonic() - begin < 10.0
        assert status == 401
        read, ask_for_keys = [], service._engine.keys
        monkeypatch.setattr(service._engine, "keys", lambda: read.append(1) or ask_for_keys())
        time.sleep(0.5)
        assert len(read) <= 1  # one hint is one look
    other.close()


@pytest.fixture(scope="module")
def impatient():
    limits = Limits(head_seconds=0.5, body_seconds=0.5, head_bytes=5000)
    with serving(limits=limits) as service:
        httpx.post(f"{service.url}/v1/learners", json=LEARNER).raise_for_status()
        yield service


def talk(service, *pieces, pause=0.0):
    """Everything that the service says to raw bytes, until it closes the connection."""
    port = int(service.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=10.0) as connection:
        for piece in pieces:
            try:
                connection.sendall(piece)
            except (BrokenPipeError, ConnectionResetError):
                break
            time.sleep(pause)
        said = b""
        try:
            while received := connection.recv(1 << 16):
                said += received
        except ConnectionResetError:
            pass
    return said


def status_of(said):
    head, _, body = said.partition(b"\r\n\r\n")
    assert json.loads(body)["status"] == int(head.split()[1])
    return int(head.split()[1])


POST = b"POST /v1/learners/prices/decisions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"


def test_slow_requests_are_cut_off_wherever_they_dawdle(impatient):
    assert status_of(talk(impatient)) == 408  # says nothing
    assert status_of(talk(impatient, b"GET /healthz HT")) == 408  # in its first line
    assert status_of(talk(impatient, POST)) == 408  # in its headers
    assert status_of(talk(impatient, POST + b"Content-Length: 10\r\n\r\n{")) == 408  # in its body
    drip = [POST, *(b"X-%d: a\r\n" % number for number in range(100))]
    assert status_of(talk(impatient, *drip, pause=0.02)) == 408  # never silent, never done


def test_headers_have_a_limit(impatient):
    lines = [b"X-%d: %s\r\n" % (number, b"a" * 500) for number in range(200)]
    assert status_of(talk(impatient, POST, *lines, pause=0.001)) == 431
    assert status_of(talk(impatient, POST + b"".join(lines) + b"\r\n")) == 431  # in one piece
    body = b'{"id":"1"' + b" " * 20_000 + b"}"  # a large body is not a large head
    said = talk(impatient, POST + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    assert said.startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "said", [b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", b"hello\r\n\r\n", b"GET / HTTP/1.1\r\nno colon\r\n\r\n"]
)
def test_what_is_not_http_is_400(impatient, said):
    assert status_of(talk(impatient, said)) == 400


def test_a_declared_size_that_is_too_large_is_refused_before_it_is_sent(impatient):
    said = talk(impatient, POST + b"Content-Length: 100000000\r\n\r\n")
    assert status_of(said) == 413


def test_requests_in_one_packet_are_answered_in_order(impatient):
    request = POST + b'Content-Length: 10\r\n\r\n{"id":"%d"}'
    last = POST + b'Connection: close\r\nContent-Length: 10\r\n\r\n{"id":"%d"}'
    said = talk(impatient, b"".join([request % 1, request % 2, last % 3]))
    assert [said.count(b'{"id":"%d"' % number) for number in (1, 2, 3)] == [1, 1, 1]
    assert said.index(b'{"id":"1"') < said.index(b'{"id":"2"') < said.index(b'{"id":"3"')


def test_a_client_that_waits_for_a_word_gets_one_before_it_sends_its_body(impatient):
    said = talk(
        impatient, POST + b"Expect: 100-continue\r\nConnection: close\r\nContent-Length: 2\r\n\r\n", b"{}", pause=0.1
    )
    assert said.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")
    refused = POST.replace(b"127.0.0.1", b"evil.example")
    assert status_of(talk(impatient, refused + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n")) == 421


def test_old_and_odd_requests_are_answered_and_the_connection_is_closed(impatient):
    assert talk(impatient, b"GET /healthz HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n").startswith(b"HTTP/1.1 200 OK")
    upgrade = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    assert talk(impatient, upgrade + b"no HTTP").startswith(b"HTTP/1.1 200 OK")
    head = talk(impatient, b"HEAD /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
    assert head.endswith(b"\r\n\r\n")
    assert b"date: " in head
    absolute = b"GET http://127.0.0.1/healthz?x=1 HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    assert status_of(talk(impatient, absolute)) == 422  # there is no query


def test_what_comes_after_a_wrong_request_in_one_packet_is_not_answered(impatient):
    good = POST + b"Content-Length: 10\r\n\r\n" + b'{"id":"1"}'
    said = talk(impatient, good + b"nonsense\r\n\r\n" + good)
    assert re.findall(rb"HTTP/1.1 (\d+) ", said) == [b"200", b"400"]
