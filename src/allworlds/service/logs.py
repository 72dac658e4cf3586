"""The service's log, on stderr: for people, or as JSON lines for machines."""

from __future__ import annotations

import json
import logging
import sys


class JsonLines(logging.Formatter):
    """Log lines for machines."""

    def format(self, record: logging.LogRecord) -> str:
        """One JSON object."""
        line = {"time": record.created, "level": record.levelname.lower(), "message": record.getMessage()}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line)


def set_up_logs(as_json: bool) -> None:
    """Send the service's log to stderr; keys, secrets and bodies are never in it."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if as_json else logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logger = logging.getLogger("allworlds.service")
    logger.handlers, logger.propagate = [handler], False
    logger.setLevel(logging.INFO)
