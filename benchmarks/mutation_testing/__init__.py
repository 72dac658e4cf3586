"""The parts of ``benchmarks/mutation.py``: the changes, and what runs the tests against each of them."""
