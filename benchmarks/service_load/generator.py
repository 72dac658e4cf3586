"""The load: raw keep-alive sockets in a process of its own, so that it shares no interpreter with the service.

Each connection chooses, then observes, then chooses again, and waits for every answer before it sends the next
request; so with 16 connections at most 16 requests are in flight. Latencies are of single requests. The sockets are
read by one loop over ``selectors``: an HTTP library would cost more than the service that it measures.

    python benchmarks/service_load/generator.py PORT --learner NAME [--connections 16] [--seconds 5] [--verb both]
"""

from __future__ import annotations

import argparse
import json
import random
import selectors
import socket
import sys
import time
from typing import Any

HEAD_END = b"\r\n\r\n"


class Connection:
    """One keep-alive connection and the decision that it is in the middle of."""

    def __init__(self, port: int, learner: str, number: int, authorization: str | None) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.path = f"/v1/learners/{learner}/decisions"
        self.random = random.Random(number)
        self.number, self.count = number, 0
        self.run = f"{time.time_ns():x}"
        extra = "" if authorization is None else f"authorization: Bearer {authorization}\r\n"
        self.headers = f"host: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n{extra}"
        self.decision: dict[str, Any] | None = None
        self.received = b""
        self.sent_at = 0.0

    def send_next(self) -> None:
        """Choose if nothing is open, else report the outcome of what was chosen."""
        if self.decision is None:
            self.count += 1
            self._send("POST", self.path, {"id": f"{self.run}-{self.number}-{self.count}"})
        else:
            losses = {arm: round(self.random.random(), 6) for arm in self.decision["observe"]}
            self._send("PUT", f"{self.path}/{self.decision['id']}/outcome", losses)

    def _send(self, method: str, path: str, body: dict[str, Any]) -> None:
        text = json.dumps(body)
        request = f"{method} {path} HTTP/1.1\r\n{self.headers}content-length: {len(text)}\r\n\r\n{text}"
        self.sent_at = time.perf_counter()
        self.socket.sendall(request.encode())

    def receive(self) -> tuple[int, bytes] | None:
        """Status and body of an answer that has arrived whole, else None."""
        chunk = self.socket.recv(1 << 16)
        if not chunk:
            raise ConnectionError("the service closed the connection")
        self.received += chunk
        head, found, rest = self.received.partition(HEAD_END)
        if not found:
            return None
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        if len(rest) < length:
            return None
        self.received = rest[length:]
        return int(head[9:12]), rest[:length]


def run(port: int, learner: str, connections: int = 16, seconds: float = 5.0, key: str | None = None) -> dict[str, Any]:
    """Keep ``connections`` busy for ``seconds``; how many decisions and outcomes were answered, and how fast."""
    chooses: list[float] = []
    observes: list[float] = []
    others: dict[int, int] = {}
    with selectors.DefaultSelector() as selector:
        everyone = [Connection(port, learner, number, key) for number in range(connections)]
        for connection in everyone:
            selector.register(connection.socket, selectors.EVENT_READ, connection)
            connection.send_next()
        begin = time.perf_counter()
        end = begin + seconds
        waiting = connections
        while waiting:
            for event, _ in selector.select():
                connection = event.data
                answer = connection.receive()
                if answer is None:
                    continue
                now = time.perf_counter()
                status, body = answer
                if status != 200:
                    others[status] = others.get(status, 0) + 1
                    connection.decision = None
                elif connection.decision is None:
                    chooses.append(now - connection.sent_at)
                    connection.decision = json.loads(body)
                else:
                    observes.append(now - connection.sent_at)
                    connection.decision = None
                if now < end:
                    connection.send_next()
                else:
                    waiting -= 1
        spent = time.perf_counter() - begin
        for connection in everyone:
            connection.socket.close()
    return {
        "seconds": spent,
        "decisions": len(chooses),
        "outcomes": len(observes),
        "decisions_per_second": len(chooses) / spent,
        "requests_per_second": (len(chooses) + len(observes)) / spent,
        "choose_p50_ms": percentile(chooses, 0.5),
        "choose_p99_ms": percentile(chooses, 0.99),
        "observe_p50_ms": percentile(observes, 0.5),
        "observe_p99_ms": percentile(observes, 0.99),
        "other_statuses": others,
    }


def percentile(latencies: list[float], share: float) -> float:
    """The latency in milliseconds that ``share`` of the requests stayed below."""
    return 1000.0 * sorted(latencies)[int(share * (len(latencies) - 1))] if latencies else float("nan")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("port", type=int)
    parser.add_argument("--learner", default="load")
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--key", help="id.secret of a key, where the service asks for one")
    options = parser.parse_args(arguments)
    print(json.dumps(run(options.port, options.learner, options.connections, options.seconds, options.key)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
