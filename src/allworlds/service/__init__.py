"""The decision service: learners behind HTTP, with a journal that is the truth."""
