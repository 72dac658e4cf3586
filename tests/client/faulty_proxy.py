"""A proxy on loopback that loses requests and answers as it is told, in front of a real service."""

from __future__ import annotations

import contextlib
import http.client
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

FAULTS = {
    "drop": "close the connection before the service has seen the request",
    "lose": "let the service do its work, and close the connection instead of answering",
    "cut": "close the connection in the middle of the answer",
    "mute": "let the service do its work, and say nothing",
    "503": "answer 503 without asking the service",
    "html": "answer 502 with a page, as proxies do",
}


class FaultyProxy(ThreadingHTTPServer):
    """Forward to ``target``; the next requests meet ``faults``, one each."""

    daemon_threads = True

    def __init__(self, target: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.target = urlsplit(target).netloc
        self.faults: list[str] = []
        self.seen: list[tuple[str, str, bytes]] = []
        """Method, path and body of every request."""
        self.ended = threading.Event()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FaultyProxy

    def log_message(self, *arguments: object) -> None:
        pass

    def _forward(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.seen.append((self.command, self.path, body))
        fault = self.server.faults.pop(0) if self.server.faults else None
        assert fault is None or fault in FAULTS
        if fault == "503":
            self._answer(503, b'{"error": "the disk is full", "status": 503}')
        elif fault == "html":
            self._answer(502, b"<html>Bad gateway</html>")
        elif fault == "drop":
            self.close_connection = True
        else:
            status, content = self._ask(body)
            if fault == "mute":
                self.server.ended.wait(30.0)
            elif fault == "cut":
                self._answer(status, content, content[: len(content) // 2])
            elif fault is None:
                self._answer(status, content)
            self.close_connection = fault is not None

    do_GET = do_POST = do_PUT = do_DELETE = _forward  # noqa: N815

    def _ask(self, body: bytes) -> tuple[int, bytes]:
        wanted = {name: text for name, text in self.headers.items() if name.lower() not in ("host", "connection")}
        connection = http.client.HTTPConnection(self.server.target, timeout=30.0)
        try:
            connection.request(self.command, self.path, body, wanted)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def _answer(self, status: int, content: bytes, sent: bytes | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        with contextlib.suppress(OSError):  # the client may have gone
            self.wfile.write(content if sent is None else sent)


@contextlib.contextmanager
def faulty_proxy(target: str) -> Iterator[FaultyProxy]:
    """A proxy at work."""
    with FaultyProxy(target) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield proxy
        finally:
            proxy.ended.set()
            proxy.shutdown()
            thread.join()
