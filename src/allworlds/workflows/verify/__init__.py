"""``allworlds verify``: every statement of the paper, checked where it could fail."""

from allworlds.workflows.verify.verdict import Verdict, verify

__all__ = ["Verdict", "verify"]
