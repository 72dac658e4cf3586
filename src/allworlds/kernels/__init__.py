"""What compiled code shares: the cached ``jit`` decorator and counter-based random numbers."""
