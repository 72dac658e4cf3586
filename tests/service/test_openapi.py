"""The OpenAPI document: it says what the table of routes says, and schemathesis finds no answer that it does not."""

from __future__ import annotations

import re
import warnings

import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from allworlds.service.keys import SCOPES
from allworlds.service.openapi import SENTENCES, make_document, statuses
from allworlds.service.routes import ROUTES
from served import served

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import schemathesis
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi import checks

__all__ = ["served"]

CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]
OPERATIONS = [f"{route.method} {route.path}" for route in ROUTES]
LEARNER = {"name": "prices", "arms": ["a", "b", "c"], "graph": {"cliques": [["a", "b"], ["c"]]}}


def test_every_route_is_in_the_document_with_its_statuses_and_nothing_else_is():
    document = make_document()
    found = [f"{method.upper()} {path}" for path, methods in document["paths"].items() for method in methods]
    assert sorted(found) == sorted(OPERATIONS)
    for route in ROUTES:
        operation = document["paths"][route.path][route.method.lower()]
        assert sorted(operation["responses"]) == [str(status) for status in statuses(route)]
        assert {parameter["name"] for parameter in operation["parameters"]} == {
            *re.findall(r"{(\w+)}", route.path),
            *route.query,
        }
        assert ("requestBody" in operation) == (route.body is not None)
        assert ("security" in operation) == (route.scope is not None)
        assert route.scope is None or route.scope in operation["description"]


def test_the_statuses_of_the_promise_are_where_they_belong():
    by_name = {route.name: set(statuses(route)) for route in ROUTES}
    assert {200, 404, 409, 410, 422, 503} <= by_name["observe"] & by_name["void"]
    assert {200, 404, 410, 422, 429, 503} <= by_name["choose"]
    assert {200, 201, 409, 422, 503} <= by_name["create_learner"]
    assert {status for found in by_name.values() for status in found} <= set(SENTENCES)
    assert {route.scope for route in ROUTES} == {None, *SCOPES}


def test_every_reference_of_the_document_leads_somewhere():
    document = make_document()
    names = set(re.findall(r"#/components/schemas/(\w+)", repr(document)))
    assert names
    assert names <= set(document["components"]["schemas"])
    assert document["openapi"].startswith("3.1")


@pytest.fixture(scope="module")
def api(served):
    """The document as the service serves it, with a learner that has decisions of every status."""
    with httpx.Client(base_url=served.url) as client:
        client.post("/v1/learners", json=LEARNER).raise_for_status()
        client.post("/v1/learners", json={**LEARNER, "name": "old"}).raise_for_status()
        for id in ("1", "2", "3"):
            answer = client.post("/v1/learners/prices/decisions", json={"id": id}).raise_for_status().json()
            if id == "2":
                losses = dict.fromkeys(answer["observe"], 0.5)
                client.put("/v1/learners/prices/decisions/2/outcome", json=losses).raise_for_status()
        client.post("/v1/learners/prices/decisions/3/void").raise_for_status()
        client.delete("/v1/learners/old").raise_for_status()
    return schemathesis.openapi.from_url(f"{served.url}/openapi.json")


def fuzz(api, operation, examples):
    """Send made-up requests, valid and not, to learners that are there and to others, and check every answer."""
    method, path = operation.split()
    strategy = api[path][method].as_strategy()
    known = {"name": st.sampled_from(["prices", "prices", "old"]), "id": st.sampled_from("1234"), "label": st.just("a")}

    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy, st.fixed_dictionaries(known), st.booleans())
    def every_answer_conforms(case, parameters, meets):
        if meets and case.path_parameters:
            case.path_parameters = {name: parameters[name] for name in case.path_parameters}
        case.call_and_validate(checks=CHECKS)

    every_answer_conforms()


@pytest.mark.parametrize("operation", OPERATIONS)
def test_schemathesis_finds_no_answer_that_the_document_does_not_promise(api, operation):
    fuzz(api, operation, 10)


@pytest.mark.slow
@pytest.mark.parametrize("operation", OPERATIONS)
def test_schemathesis_finds_none_in_many_requests_either(api, operation):
    fuzz(api, operation, 300)


def unknown_fields(document, schema, value, place=""):
    """The fields of an answer that the document does not name."""
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        return min((unknown_fields(document, kind, value, place) for kind in schema["anyOf"]), key=len)
    found = []
    if isinstance(value, list):
        for item in value:
            found += unknown_fields(document, schema.get("items", {}), item, f"{place}[]")
    elif isinstance(value, dict) and "properties" in schema:
        for name, item in value.items():
            if name in schema["properties"]:
                found += unknown_fields(document, schema["properties"][name], item, f"{place}.{name}")
            else:
                found.append(f"{place}.{name}")
    return found


def test_the_document_names_every_field_of_every_answer(served):
    document, path = make_document(), "/v1/learners/fields"
    one = f"{path}/decisions/one"
    calls = [
        ("get", "/healthz", None),
        ("get", "/readyz", None),
        ("get", "/v1/learners", None),
        ("post", "/v1/learners", {**LEARNER, "name": "fields", "deadline": 60, "on_timeout": {"default": 0.5}}),
        ("get", path, None),
        ("post", f"{path}/arms", {"label": "d", "neighbours": ["c"]}),
        ("delete", f"{path}/arms/d", None),
        ("post", f"{path}/decisions", {"id": "one", "segment": "north", "available": ["c"]}),
        ("post", f"{path}/decisions:batch", {"decisions": [{"id": "two"}, {"available": ["nobody"]}]}),
        ("get", one, None),
        ("put", f"{one}/outcome", {"c": 0.5}),
        ("post", f"{path}/decisions/two/void", None),
        ("get", f"{path}/evaluate", None),
        ("get", f"{path}/evaluate?policy=nobody", None),
        ("delete", path, None),
    ]
    served_paths = {tuple(where.split("/")): where for where in document["paths"]}
    for method, url, body in calls:
        answer = httpx.request(method, served.url + url, **({"json": body} if body else {}))
        assert answer.status_code < 300 or "nobody" in url
        parts = url.partition("?")[0].split("/")
        where = next(
            name
            for split, name in sorted(served_paths.items(), key=lambda pair: "{" in pair[1])
            if len(split) == len(parts) and all(a == b or a[:1] == "{" for a, b in zip(split, parts, strict=True))
        )
        answers = document["paths"][where][method]["responses"]
        schema = answers[str(answer.status_code)]["content"]["application/json"]["schema"]
        assert unknown_fields(document, schema, answer.json(), where) == []


def test_a_method_that_is_not_in_the_document_is_refused(api, served):
    for path in make_document()["paths"]:
        for method in ("PATCH", "TRACE", "OPTIONS"):
            answer = httpx.request(method, served.url + path.format(name="prices", id="1", label="a"))
            assert answer.status_code == 405
            assert answer.headers["allow"]
