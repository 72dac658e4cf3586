"""Which language model answers a request? The decision service chooses, and learns from what was seen.

Three small models are so cheap that all of them answer whenever one of them is chosen, so their scores are seen
together: a clique of the feedback graph. Two large ones are seen alone. The loss of a model is what it costs plus what
its answer lacks. This example starts a real service in a process of its own, asks it, reports, and stops it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import allworlds as aw

LOSSES = {"nano": 0.7, "mini": 0.5, "lite": 0.3, "large": 0.6, "reasoning": 0.8}
"""The mean loss of each model; in real life nobody knows it."""


def main(rounds: int = 200) -> None:
    with tempfile.TemporaryDirectory() as folder:
        learner = Path(folder, "models.json")
        cliques = [["nano", "mini", "lite"], ["large"], ["reasoning"]]
        learner.write_text(json.dumps({"name": "models", "arms": list(LOSSES), "graph": {"cliques": cliques}}))
        command = [sys.executable, "-m", "allworlds", "serve", "--port", "0", "--create", str(learner)]
        command += ["--database", f"sqlite:///{folder}/decisions.db"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as service:
            try:
                address = service.stdout.readline().split()[-1]  # serving on http://127.0.0.1:PORT
                ask(address, rounds)
            finally:
                service.terminate()


def ask(address: str, rounds: int) -> None:
    """Choose and observe, and say what was chosen how often."""
    counts = dict.fromkeys(LOSSES, 0)
    with aw.Client(address, retry_for=300.0) as client:
        client.wait_until_ready()  # the first start on a machine compiles
        for number in range(rounds):
            decision = client.choose("models", id=f"request-{number}")
            counts[decision.arm] += 1
            client.observe(decision, {model: LOSSES[model] for model in decision.observes})
        print(f"after {rounds} requests: {counts}")
        for value in client.evaluate("models")["values"]:
            print(f"{value['policy']:>9} would have cost {value['seeing']['dr']:.2f} a request")
    assert max(counts, key=counts.get) == "lite"


if __name__ == "__main__":
    main()
