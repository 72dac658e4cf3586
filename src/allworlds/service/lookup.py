"""Which route a request means: a look at the parts of its path, without regular expressions."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import parse_qsl, unquote_to_bytes

from allworlds.service.messages import NAME
from allworlds.service.routes import ROUTES, Request, Route
from allworlds.service.security import Refused, check_text, shown


def find_route(method: str, path: bytes, query: bytes = b"") -> Request:
    """The route of a path: its parts are decoded one by one, so a label may contain a slash."""
    parts = path.decode("latin-1").split("/")
    routes = TABLE.get(literals(parts))
    if routes is None:
        raise Refused(404, f"there is nothing at {shown('/'.join(parts))}; see /openapi.json")
    route = routes.get(method) or (routes.get("GET") if method == "HEAD" else None)
    if route is None or (method == "HEAD" and route.scope is not None):
        allow = sorted(routes)
        raise Refused(
            405,
            f"the method is {shown(method)[1:-1]}; expected {' or '.join(allow)}",
            [(b"allow", ", ".join(allow).encode())],
        )
    name = rest = ""
    if len(parts) > 3:
        name = _decode(parts[3])
        if not NAME.fullmatch(name):
            raise Refused(404, f"there is no learner {shown(name)}; GET /v1/learners lists them")
    if len(parts) > 5:
        rest = check_text("id" if "{id}" in route.path else "label", _decode(parts[5]))
    return Request(route, method, path, name, rest, _query(query, route) if query else {})


def literals(parts: Sequence[str]) -> tuple[str | int, ...]:
    """The parts of a path that are not parameters, which stand at places 3 and 5 of every path, and how many there are.

    >>> literals("/v1/learners/prices/decisions/7/outcome".split("/"))
    (7, 'v1', 'learners', 'decisions', 'outcome')
    """
    return (len(parts), *parts[1:3], *parts[4:5], *parts[6:])


def _table() -> dict[tuple[str | int, ...], dict[str, Route]]:
    found: dict[tuple[str | int, ...], dict[str, Route]] = {}
    for route in ROUTES:
        found.setdefault(literals(route.path.split("/")), {})[route.method] = route
    return found


TABLE = _table()
"""Routes by their literal parts and their method."""


def _decode(part: str) -> str:
    try:
        return part if part.isascii() and "%" not in part else unquote_to_bytes(part.encode("latin-1")).decode()
    except UnicodeDecodeError:
        raise Refused(400, f"the path has {shown(part)}; expected UTF-8") from None


def _query(text: bytes, route: Route) -> dict[str, str]:
    pairs = parse_qsl(text.decode("latin-1"), keep_blank_values=True)
    for name, _ in pairs:
        if name not in route.query:
            raise Refused(422, f"the query has {shown(name)}; expected {' or '.join(route.query) or 'none'}")
    return dict(pairs)
