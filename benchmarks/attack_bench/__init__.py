"""The parts of ``benchmarks/attacks.py``: tables of phases, fixed attacks, the search and the report."""
