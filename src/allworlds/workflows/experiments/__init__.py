"""``allworlds run`` and its neighbours: experiments begun, resumed, looked at and verified."""

from allworlds.workflows.experiments.plan import Plan, make_plan
from allworlds.workflows.experiments.start import Summary, resume_experiment, run_experiment
from allworlds.workflows.experiments.status import Status, read_status
from allworlds.workflows.experiments.verify_results import Verification, verify_results

__all__ = [
    "Plan",
    "Status",
    "Summary",
    "Verification",
    "make_plan",
    "read_status",
    "resume_experiment",
    "run_experiment",
    "verify_results",
]
