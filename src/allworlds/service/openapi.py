"""The OpenAPI document, made from the table of routes and the structs that travel; so it cannot disagree with them."""

from __future__ import annotations

import functools
import re
from typing import Any

import msgspec

from allworlds import __version__
from allworlds.service import messages
from allworlds.service.routes import FORMATS, ROUTES, Route

SENTENCES = {
    200: "Done, now or before.",
    201: "Created.",
    400: "The request is malformed: not HTTP, not JSON, not UTF-8.",
    401: "A key is needed, and none that is good was given.",
    403: "The key may not do this, or a page of another site sent the request.",
    404: "There is no such learner or decision.",
    405: "There is something at this path, but not with this method.",
    408: "The body did not arrive in time.",
    409: "Something else was said under this name or id before.",
    410: "Too late: the decision has expired, or the learner is archived.",
    413: "The body is too large.",
    415: "The body is not declared as application/json.",
    421: "The Host is not one of those that are allowed.",
    422: "The request was understood and is not acceptable; the sentence says why.",
    429: "Too many requests or open decisions; try again after Retry-After seconds.",
    503: "Not ready, or unknown whether something was written: ask again with the same id.",
}
"""What each status means, the same on every route."""
ALWAYS = (400, 403, 421)
WITH_KEY = (401, 422, 429, 503)
WITH_BODY = (408, 413, 415, 422)
REFERENCE = "#/components/schemas/{name}"


@functools.cache
def document_bytes() -> bytes:
    """The document as JSON; it is the same for every application."""
    return msgspec.json.encode(make_document())


def make_document() -> dict[str, Any]:
    """The document as plain data."""
    types = [route.answer for route in ROUTES if route.answer is not None]
    types += [route.body for route in ROUTES if route.body is not None] + [messages.Error]
    schemas, components = msgspec.json.schema_components(types, ref_template=REFERENCE)
    known = {repr(kind): schema for kind, schema in zip(types, schemas, strict=True)}
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, known)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "allworlds",
            "version": __version__,
            "summary": "Decisions with side observations: choose, observe, and never lose a decision.",
            "license": {"name": "BSD-3-Clause", "identifier": "BSD-3-Clause"},
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer", "description": "id.secret, made by allworlds keys make"}
            },
        },
    }


def statuses(route: Route) -> list[int]:
    """All statuses that a route may answer with."""
    found = {200, *ALWAYS, *route.statuses}
    if route.scope is not None:
        found |= {*WITH_KEY}
    if route.body is not None or route.method == "POST":
        found |= {*WITH_BODY}
    if not route.query and route.scope is None:
        found |= {422}  # a query that is not known
    return sorted(found)


def _operation(route: Route, known: dict[str, dict[str, Any]]) -> dict[str, Any]:
    error = known[repr(messages.Error)]
    answers: dict[str, Any] = {}
    for status in statuses(route):
        content = _json(known[repr(route.answer)] if status < 300 and route.answer is not None else error)
        if status == 200 and route.answer is None:
            kinds = {kind.partition(";")[0] for kind in FORMATS.values()}
            file = {"type": "string", "format": "binary"}
            content = {kind: {"schema": {} if kind == "application/json" else file} for kind in sorted(kinds)}
        answers[str(status)] = {"description": SENTENCES[status], "content": content}
        if status in (429, 503):
            answers[str(status)]["headers"] = {"Retry-After": {"schema": {"type": "integer"}}}
    made: dict[str, Any] = {
        "operationId": route.name,
        "summary": route.summary,
        "responses": answers,
        "parameters": [
            {"name": name, "in": "path", "required": True, "schema": _parameter(name)}
            for name in re.findall(r"{(\w+)}", route.path)
        ]
        + [{"name": name, "in": "query", "schema": schema} for name, schema in route.query.items()],
    }
    if route.scope is not None:
        made["security"] = [{"key": []}, {}]
        made["description"] = f"Needs the scope {route.scope} where keys are used."
    if route.body is not None:
        made["requestBody"] = {"required": True, "content": _json(known[repr(route.body)])}
    return made


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _parameter(name: str) -> dict[str, Any]:
    if name == "name":
        return {"type": "string", "pattern": f"^{messages.NAME.pattern}$"}
    return {"type": "string", "minLength": 1, "maxLength": messages.MOST_CHARACTERS}
