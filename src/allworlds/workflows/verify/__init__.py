"""``allworlds verify``: every statement of the paper and of our own proofs, checked where it could fail."""

from allworlds.workflows.verify.verdict import Verdict, verify

__all__ = ["Verdict", "verify"]
