"""``allworlds run`` and its neighbours: experiments begun, resumed, looked at, reported and verified."""

from allworlds.workflows.experiments.plan import Plan, make_plan
from allworlds.workflows.experiments.report import Report, tell, write_report
from allworlds.workflows.experiments.start import Summary, resume_experiment, run_experiment
from allworlds.workflows.experiments.status import Status, read_status
from allworlds.workflows.experiments.verify_results import Verification, verify_results

__all__ = [
    "Plan",
    "Report",
    "Status",
    "Summary",
    "Verification",
    "make_plan",
    "read_status",
    "resume_experiment",
    "run_experiment",
    "tell",
    "verify_results",
    "write_report",
]
