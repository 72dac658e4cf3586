"""The journal as a log: in the schema of :func:`allworlds.load_log`, in its formats, and evaluated.

Each decision is one row, in the order in which they were made. Arms come and go; a log numbers all arms that there ever
were, and says for each decision which of them were available, so rows of different times can be evaluated together.
Beyond the columns of a log a row has ``id``, the decision's own, and ``segment``; ``decision_id`` counts the rows.

A decision that expired has no outcome: its row is "open", whatever default the learner was given.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from allworlds import __version__
from allworlds.agents.evaluation import evaluate, parse_policy
from allworlds.agents.export import export_log
from allworlds.agents.log_files import COLUMNS, HEADER, MORE
from allworlds.agents.log_reading import load_log
from allworlds.agents.log_rows import OBSERVED, OPEN, STATUSES, VOID, VisibilityTable
from allworlds.foundation.errors import InvalidParameter, import_extra
from allworlds.service.journal import VOIDED, DecisionRow, EventRow, ServiceError

if TYPE_CHECKING:
    from allworlds.service.engine import Engine
    from allworlds.service.rule import Rule

PAGE = 1000
"""Rows that are made at once."""
PIECE = 1 << 16
"""Bytes that are sent at once."""
ENDINGS = {"parquet": "parquet", "obp": "npz", "vw": "txt", "dsjson": "jsonl", "coba": "json", "jsonl": "jsonl"}
Pair = tuple[DecisionRow, EventRow | None]
Pieces = Generator[bytes, None, None]


def export(engine: Engine, name: str, format: str) -> Pieces:
    """The journal of a learner as the bytes of a file, piece by piece."""
    rules = engine.rules(name).result()
    if format == "jsonl":
        return lines(engine.stream(name), rules)
    return _file(engine.stream(name), rules, format)


def evaluate_journal(engine: Engine, name: str, query: Mapping[str, str]) -> dict[str, Any]:
    """What each arm, or another policy, would have cost."""
    rules = engine.rules(name).result()
    try:
        level = float(query.get("level", "0.95"))
    except ValueError:
        raise InvalidParameter(f"level is {query['level']!r}; expected a number between 0 and 1") from None
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.jsonl"
        _write(log, lines(engine.stream(name), rules))
        table = load_log(log)
    _check_outcomes(table)
    labels = table.attrs["log"]["labels"]
    policy = parse_policy(query.get("policy", "each"), labels)
    return evaluate(table, policy, level=level, missing=query.get("missing", "drop")).to_dict()


def lines(pairs: Iterable[Pair], rules: Sequence[Rule]) -> Pieces:
    """A header, then a line of JSON for each decision."""
    epochs = _epochs(rules)
    yield json.dumps({"log": _header(rules, epochs)}).encode() + b"\n"
    for rows in _pages(pairs, rules, epochs):
        yield b"".join(json.dumps(row, allow_nan=False).encode() + b"\n" for row in rows)


@dataclass(frozen=True)
class Epoch:
    """The arms between two changes, by their numbers in the whole log."""

    visibility: VisibilityTable
    index: dict[str, int]
    """Label to number in this epoch."""
    place: NDArray[np.int64]
    """Number in this epoch to number in the log."""
    labels: tuple[str, ...]
    """Of the whole log."""


def _epochs(rules: Sequence[Rule]) -> list[Epoch]:
    labels = tuple(dict.fromkeys(label for rule in rules for label in rule.labels))
    number = {label: k for k, label in enumerate(labels)}
    return [
        Epoch(VisibilityTable(rule.learner), rule.index, np.array([number[label] for label in rule.labels]), labels)
        for rule in rules
    ]


def _header(rules: Sequence[Rule], epochs: Sequence[Epoch]) -> dict[str, Any]:
    last = rules[-1]
    return {
        "learner": last.learner.title,
        "n_actions": len(epochs[-1].labels),
        "labels": list(epochs[-1].labels),
        "reward": last.allowed.reward,
        "low": last.allowed.low,
        "high": last.allowed.high,
        "shows": epochs[0].visibility.as_data() if len(epochs) == 1 else None,
        "package_version": __version__,
    }


def _pages(pairs: Iterable[Pair], rules: Sequence[Rule], epochs: Sequence[Epoch]) -> Iterator[list[dict[str, Any]]]:
    source, number = iter(pairs), 0
    while page := list(islice(source, PAGE)):
        yield [_row(number + k, *pair, rules, epochs) for k, pair in enumerate(page, 1)]
        number += len(page)


def _row(
    number: int, decision: DecisionRow, event: EventRow | None, rules: Sequence[Rule], epochs: Sequence[Epoch]
) -> dict[str, Any]:
    rule, epoch = rules[decision.epoch], epochs[decision.epoch]
    arm = epoch.index[decision.arm]
    observed = epoch.visibility.observed(np.array([arm]))
    vector = None if decision.probabilities is None else np.frombuffer(decision.probabilities, "<f8")
    learnt = event is not None and event.kind == "outcome" and event.losses is not None
    losses = rule.allowed.as_losses(np.frombuffer(event.losses, "<f8")) if learnt and event and event.losses else None
    place = epoch.visibility.own_place[arm]
    loss = None if losses is None or place < 0 else float(losses[place])
    told: list[float | None] | None = None if losses is None else losses.tolist()
    if told is not None and event is not None and event.body is not None:  # what was left out was not seen
        for label in json.loads(event.body).get("left_out", ()):
            told[observed.tolist().index(epoch.index[label])] = None
    n_actions = len(epoch.labels)
    available = None if decision.available is None else [epoch.index[label] for label in json.loads(decision.available)]
    if available is None and len(epoch.place) < n_actions:
        available = list(range(len(epoch.place)))
    clique = decision.clique_probability is not None
    return {
        "decision_id": number,
        "kind": "both" if event is not None else "decision",
        "learner": rule.learner.title,
        "round": decision.round,
        "timestamp": decision.created_at,
        "action": int(epoch.place[arm]),
        "arm": decision.arm,
        "n_actions": n_actions,
        "loss": loss,
        "reward": None if loss is None else 1.0 - loss,
        "pscore": None if math.isnan(decision.probability) else decision.probability,
        "clique": int(epoch.visibility.where[arm]) if clique else None,
        "clique_pscore": decision.clique_probability,
        "observed": epoch.place[observed].tolist(),
        "losses": told,
        "seeing": _seeing(decision, epoch, arm, observed, vector),
        "probabilities": None if vector is None else _spread(vector, epoch, n_actions),
        "available": None if available is None else epoch.place[available].tolist(),
        "status": STATUSES[OBSERVED if learnt else VOID if decision.status == VOIDED else OPEN],
        "outcome_timestamp": event.at if learnt and event is not None else None,
        "package_version": __version__,
        "id": decision.id,
        "segment": decision.segment,
    }


def _seeing(
    decision: DecisionRow, epoch: Epoch, arm: int, observed: NDArray[np.int64], vector: NDArray[np.float64] | None
) -> list[float] | None:
    """The probability with which each observed arm was to be seen."""
    if vector is not None:
        seen: list[float] = epoch.visibility.probabilities(np.array([arm]), vector[None]).tolist()
        return seen
    return None if decision.clique_probability is None else [decision.clique_probability] * len(observed)


def _spread(vector: NDArray[np.float64], epoch: Epoch, n_actions: int) -> list[float]:
    """The probabilities of all arms of the log, in single precision, as logs have them."""
    spread = np.zeros(n_actions, np.float32)
    spread[epoch.place] = vector
    plain: list[float] = spread.tolist()
    return plain


def _file(pairs: Iterable[Pair], rules: Sequence[Rule], format: str) -> Pieces:
    """Formats that cannot be made row by row: written to a file of their own first."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / f"export.{ENDINGS[format]}"
        if format == "parquet":
            _write_parquet(out, pairs, rules)
        else:
            log = Path(folder) / "log.jsonl"
            _write(log, lines(pairs, rules))
            table = load_log(log)
            _check_outcomes(table)
            if format == "dsjson" and table["probabilities"].isna().any():
                raise ServiceError(
                    409,
                    "the journal does not have the probabilities of all arms, which dsjson needs; try format=vw, or, "
                    "for decisions to come, allworlds serve --probabilities-up-to",
                )
            export_log(table, format, out)
        with out.open("rb") as file:
            while piece := file.read(PIECE):
                yield piece


def _check_outcomes(table: Any) -> None:
    if not (table["status"] == STATUSES[OBSERVED]).any():
        raise ServiceError(409, "there is no decision with an outcome yet; report one first")


def _write(path: Path, pieces: Iterable[bytes]) -> None:
    with path.open("wb") as file:
        file.writelines(pieces)


def _write_parquet(path: Path, pairs: Iterable[Pair], rules: Sequence[Rule]) -> None:
    pa = import_extra("pyarrow", "data", "an export as Parquet needs")
    parquet = import_extra("pyarrow.parquet", "data", "an export as Parquet needs")
    plain = {"int": pa.int64(), "float": pa.float64(), "word": pa.string()}
    kinds = plain | {"ints": pa.list_(pa.int64()), "floats": pa.list_(pa.float64())}
    kinds_of = {**COLUMNS, **dict.fromkeys(MORE, "word")}
    types = {name: kinds[kind] for name, kind in kinds_of.items()} | {"probabilities": pa.list_(pa.float32())}
    epochs = _epochs(rules)
    header = {HEADER: json.dumps(_header(rules, epochs)).encode()}
    schema = pa.schema(list(types.items()), metadata=header)
    with parquet.ParquetWriter(path, schema) as writer:
        for rows in _pages(pairs, rules, epochs):
            writer.write_table(pa.Table.from_pylist(rows, schema))
