"""How fast a round is, beside what it must cost, what else one would do, and what others do: ``scripts/bench``."""
