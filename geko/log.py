"""The logger ``GEKO`` and its line form ``GEKO:LEVEL [module:function] message``."""

from __future__ import annotations

import logging
import sys

LOGGER_NAME = "GEKO"
LINE_FORMAT = "GEKO:%(levelname)s [%(module)s:%(funcName)s] %(message)s"

logger = logging.getLogger(LOGGER_NAME)


class _StderrHandler(logging.StreamHandler):  # type: ignore[type-arg]
    """Looks up ``sys.stderr`` at each record, so that redirection after set-up is honoured."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self):  # type: ignore[no-untyped-def]
        return sys.stderr


def setup_logging(verbose: int = 1) -> None:
    """Attach one handler to the ``GEKO`` logger and set its level.

    Args:
        verbose: 0 or less shows warnings, 1 informational lines, 2 or more debug lines.
    """
    if not any(isinstance(handler, _StderrHandler) for handler in logger.handlers):
        handler = _StderrHandler()
        handler.setFormatter(logging.Formatter(LINE_FORMAT))
        logger.addHandler(handler)
        logger.propagate = False
    set_level(verbose)


def set_level(verbose: int) -> None:
    """Set the level of the ``GEKO`` logger: 0 warnings, 1 info, 2 debug."""
    logger.setLevel(logging.WARNING if verbose <= 0 else logging.INFO if verbose == 1 else logging.DEBUG)
