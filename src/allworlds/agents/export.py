"""Logs in the words of other tools: what Open Bandit Pipeline, Vowpal Wabbit and coba read.

None of them knows side observations, so what they get is the chosen arm, its loss and its probability. Decisions
without an outcome, or whose probability is not known, are left out.
"""

from __future__ import annotations

import datetime
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from allworlds.agents.log_files import COLUMNS, as_dictionaries
from allworlds.agents.log_reading import table_of
from allworlds.foundation.errors import InvalidParameter
from allworlds.foundation.files import disk_errors, write_atomic

FORMATS = ("obp", "vw", "dsjson", "coba", "jsonl")


def export_log(log: Any, format: str, out: str | os.PathLike[str] | None = None) -> Any:
    """The decisions of a log as another tool reads them; written to the file ``out`` too if it is given.

    | format | what is returned, and written | read it with |
    |---|---|---|
    | ``"obp"`` | a dictionary of arrays; ``.npz`` | ``bandit_feedback=`` of Open Bandit Pipeline |
    | ``"vw"`` | lines of text, an arm each | ``vw --cb_explore_adf``, ``vw --cb_adf`` |
    | ``"dsjson"`` | lines of JSON with all probabilities | ``vw --dsjson --cb_explore_adf`` |
    | ``"coba"`` | a pandas table; ``.pkl`` or ``.json`` | ``coba.Environments.from_dataframe`` |
    | ``"jsonl"`` | lines of JSON, a decision each, with the columns of :func:`load_log` | anything |

    Rewards are ``1 - loss``, costs are losses, both in [0, 1].
    """
    if format not in FORMATS:
        raise InvalidParameter(f"format is {format!r}; expected one of {', '.join(FORMATS)}")
    table = table_of(log)
    absent = [name for name in ("action", "pscore", "loss", "n_actions") if name not in table.columns]
    if absent:
        raise InvalidParameter(f"the log has no column {absent[0]!r}; expected a table as load_log gives it")
    path = None if out is None else _out(out, format)
    if format == "jsonl":
        made: Any = [json.dumps(row, allow_nan=False) for row in as_dictionaries(_plain_columns(table))]
    else:
        usable = table[table["loss"].notna() & table["pscore"].notna()]
        if len(usable) == 0:
            raise InvalidParameter("the log has no decision with an outcome and a known probability; expected one")
        made = {"obp": _obp, "vw": _vw, "dsjson": _dsjson, "coba": _coba}[format](usable)
    if path is not None:
        with disk_errors(f"write to {path}"):
            _write(path, format, made)
    return made


def _out(out: str | os.PathLike[str], format: str) -> Path:
    path = Path(out)
    endings = {"obp": (".npz",), "coba": (".pkl", ".json")}.get(format)
    if endings is not None and path.suffix not in endings:
        raise InvalidParameter(f"out is {str(out)!r}; expected a name ending in {' or '.join(endings)}")
    return path


def _write(path: Path, format: str, made: Any) -> None:
    if format == "obp":
        np.savez(path, **{name: value for name, value in made.items() if value is not None})
    elif format == "coba":
        made.to_pickle(path) if path.suffix == ".pkl" else made.to_json(path, orient="records")
    else:
        write_atomic(path, ("\n".join(made) + "\n").encode())


def _obp(table: Any) -> dict[str, Any]:
    """The dictionary of ``obp``: every array has a row for each round; contexts are a constant, as there are none."""
    n_rounds = len(table)
    return {
        "n_rounds": n_rounds,
        "n_actions": int(table["n_actions"].max()),
        "context": np.ones((n_rounds, 1)),
        "action_context": np.eye(int(table["n_actions"].max())),
        "action": table["action"].to_numpy(dtype=np.int64),
        "position": None,
        "reward": 1.0 - table["loss"].to_numpy(dtype=np.float64),
        "pscore": table["pscore"].to_numpy(dtype=np.float64),
    }


def _arms(row: Any) -> list[int]:
    """The arms that the decision was made among."""
    available = getattr(row, "available", None)
    return list(range(int(row.n_actions))) if available is None else [int(arm) for arm in available]


def _vw(table: Any) -> list[str]:
    """Text with a line for each arm, and a blank line after each decision."""
    lines = []
    for row in table.itertuples():
        lines.append("shared |")
        for arm in _arms(row):
            label = f"0:{float(row.loss)!r}:{float(row.pscore)!r} " if arm == row.action else ""
            lines.append(f"{label}|A arm={arm}")
        lines.append("")
    return lines


def _dsjson(table: Any) -> list[str]:
    """Decision-service JSON: actions count from 1, the chosen one comes first, with the probabilities of all."""
    lines = []
    for row in table.itertuples():
        arms, known = _arms(row), getattr(row, "probabilities", None)
        if known is None:
            raise InvalidParameter(
                f"decision {row.decision_id} was logged without the probabilities of all arms, which dsjson needs; "
                'log with DecisionLog(path, most_arms=...), or export as "vw"'
            )
        chosen = arms.index(int(row.action))
        order = [chosen, *(place for place in range(len(arms)) if place != chosen)]
        chances = [float(row.pscore) if arms[place] == row.action else float(known[arms[place]]) for place in order]
        when = datetime.datetime.fromtimestamp(float(row.timestamp), datetime.UTC)
        event = str(row.decision_id)
        lines.append(
            json.dumps(
                {
                    "_label_cost": float(row.loss),
                    "_label_probability": float(row.pscore),
                    "_label_Action": chosen + 1,
                    "_labelIndex": chosen,
                    "o": [{"v": float(row.loss), "EventId": event}],
                    "Timestamp": when.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
                    "Version": "1",
                    "EventId": event,
                    "a": [place + 1 for place in order],
                    "c": {"_multi": [{"A": {f"arm={arm}": 1}} for arm in arms]},
                    "p": chances,
                    "VWState": {"m": "allworlds"},
                }
            )
        )
    return lines


def _coba(table: Any) -> Any:
    """A table with the columns of coba's logged interactions; arms by their labels."""
    import pandas

    labels = (table.attrs.get("log") or {}).get("labels")
    names = [str(label) for label in labels] if labels else None
    actions = [[names[arm] if names else arm for arm in _arms(row)] for row in table.itertuples()]
    chosen = table["action"].tolist()
    return pandas.DataFrame(
        {
            "context": [None] * len(table),
            "action": [names[arm] for arm in chosen] if names else chosen,
            "reward": (1.0 - table["loss"]).tolist(),
            "probability": table["pscore"].tolist(),
            "actions": actions,
        }
    )


def _plain_columns(table: Any) -> dict[str, list[Any]]:
    """Plain values; what is not known is None."""
    import pandas

    columns = {}
    for name in table.columns:
        if COLUMNS.get(name) in ("ints", "floats"):
            columns[name] = [None if value is None else np.asarray(value).tolist() for value in table[name]]
        else:
            columns[name] = [None if pandas.isna(value) else value for value in table[name].tolist()]
    return columns
