"""Which web framework: the same stub in Starlette, as a bare ASGI function (both on uvicorn), and on our own protocol.

The stub parses a decision or an outcome into a struct, resolves a future through a thread as the engine does, and
encodes an answer of a realistic size; so the difference is what routing, requests and responses cost.

    python benchmarks/service_load/frameworks.py [--seconds 3] [--repeats 3]
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

HERE = Path(__file__).resolve().parent
OBSERVE = [f"arm-{number}" for number in range(10)]


class Choose(msgspec.Struct):
    """A decision that is asked for."""

    id: str | None = None
    available: list[str] | None = None
    segment: str | None = None


class Decision(msgspec.Struct):
    """What is answered."""

    id: str | None
    arm: str
    probability: float
    clique_probability: float
    observe: list[str]
    also_visible: list[str]
    round: int
    deadline: float | None


encode = msgspec.json.Encoder().encode
decode_choose = msgspec.json.Decoder(Choose).decode
decode_losses = msgspec.json.Decoder(dict[str, float]).decode


def choose(body: bytes) -> bytes:
    """Parse and answer a request for a decision."""
    asked = decode_choose(body)
    return encode(Decision(asked.id, "arm-3", 0.0123, 0.1234, OBSERVE, [], 12345, None))


def observe(body: bytes) -> bytes:
    """Parse and answer an outcome."""
    return encode({"id": "x", "status": "observed", "sum": sum(decode_losses(body).values())})


def starlette_app() -> Any:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    def endpoint(answer: Callable[[bytes], bytes]) -> Any:
        async def handle(request: Request) -> Response:
            request.path_params["name"]
            return Response(answer(await request.body()), media_type="application/json")

        return handle

    async def nothing(request: Request) -> Response:
        return Response(b"{}")

    base = "/v1/learners/{name}"
    routes = [Route(path, nothing) for path in ("/healthz", "/readyz", "/openapi.json", "/v1/learners", base)]
    routes += [
        Route(f"{base}/decisions", endpoint(choose), methods=["POST"]),
        Route(f"{base}/decisions/{{id}}/outcome", endpoint(observe), methods=["PUT"]),
    ]
    return Starlette(routes=routes)


def bare_app() -> Any:
    name = "([^/]+)"
    table = [(("GET"), re.compile(path), observe) for path in ("/healthz", "/readyz", "/openapi.json", "/v1/learners")]
    table += [
        ("POST", re.compile(f"/v1/learners/{name}/decisions"), choose),
        ("PUT", re.compile(f"/v1/learners/{name}/decisions/{name}/outcome"), observe),
    ]
    HEADERS = [(b"content-type", b"application/json")]

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        path, method = scope["path"], scope["method"]
        answer = next(found for verb, pattern, found in table if verb == method and pattern.fullmatch(path))
        headers = dict(scope["headers"])
        assert headers[b"host"]
        message = await receive()
        body = message["body"]
        while message.get("more_body"):
            message = await receive()
            body += message["body"]
        said = answer(body)
        length = (b"content-length", str(len(said)).encode())
        await send({"type": "http.response.start", "status": 200, "headers": [*HEADERS, length]})
        await send({"type": "http.response.body", "body": said})

    return app


class OwnApp:
    """The stub on the service's own protocol."""

    def __init__(self) -> None:
        from allworlds.service.security import Limits

        self.limits = Limits()

    def admit(self, method: str, path: bytes, query: bytes, headers: dict[bytes, bytes]) -> Any:
        """Find the route."""
        from allworlds.service.lookup import find_route

        assert headers[b"host"]
        request = find_route(method, path, query)
        request.limit = 1 << 20
        return request

    def answer(self, request: Any, body: bytes, connection: Any) -> None:
        """The same answers."""
        connection.reply(200, choose(body) if request.method == "POST" else observe(body))

    def refuse(self, refusal: Any, connection: Any) -> None:
        """Never needed."""
        connection.reply(refusal.status, b"{}")


APPS = {"starlette": starlette_app, "bare": bare_app, "own": OwnApp}


def serve(kind: str, port: int) -> None:
    if kind == "own":
        import asyncio

        import uvloop

        from allworlds.service.protocol import Connection

        async def forever() -> None:
            app, connections = OwnApp(), set()
            server = await asyncio.get_running_loop().create_server(
                lambda: Connection(app, connections), "127.0.0.1", port
            )
            await server.serve_forever()

        uvloop.run(forever())
        return
    import uvicorn

    uvicorn.run(APPS[kind](), port=port, loop="uvloop", http="httptools", lifespan="off", log_level="error",
                access_log=False, server_header=False, date_header=False)  # fmt: skip


def measure(kind: str, port: int, seconds: float) -> dict[str, Any]:
    server = subprocess.Popen([sys.executable, __file__, "--serve", kind, "--port", str(port)])
    try:
        wait_for(port)
        command = [sys.executable, str(HERE / "generator.py"), str(port), "--seconds", str(seconds)]
        before = processor_seconds(server.pid)
        result = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        requests = result["decisions"] + result["outcomes"]
        return result | {"cpu_us": 1e6 * (processor_seconds(server.pid) - before) / requests}
    finally:
        server.terminate()
        server.wait()


def wait_for(port: int) -> None:
    """Wait until somebody listens."""
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            time.sleep(0.1)


def processor_seconds(pid: int) -> float:
    """Processor time of a process, which other work on the machine changes least."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--port", type=int, default=18480)
    parser.add_argument("--serve", choices=APPS)
    options = parser.parse_args(arguments)
    if options.serve:
        serve(options.serve, options.port)
        return 0
    missing = {"starlette": ("starlette", "uvicorn"), "bare": ("uvicorn",), "own": ()}
    kinds = [kind for kind in APPS if all(map(importlib.util.find_spec, missing[kind]))]
    rates: dict[str, list[float]] = {kind: [] for kind in kinds}
    for repeat in range(options.repeats):
        for number, kind in enumerate(kinds):
            result = measure(kind, options.port + 10 * repeat + number, options.seconds)
            rates[kind].append(result["cpu_us"])
            rate, p99 = result["requests_per_second"], result["choose_p99_ms"]
            print(
                f"{kind:10} {rate:8.0f} requests/s  p99 {p99:.1f} ms  {result['cpu_us']:.0f} us of processor time each"
            )
    medians = {kind: statistics.median(rate) for kind, rate in rates.items()}
    print(
        "processor time of a request, own protocol = 1: "
        + ", ".join(f"{kind} {median / medians['own']:.1f}" for kind, median in medians.items())
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
