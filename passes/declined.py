"""The exception by which a rule of a lowering or of an expansion refuses an op."""

from __future__ import annotations


class Declined(Exception):  # noqa: N818 - not an error: the op runs on the host
    """Raised by a rule that does not take an op; the message says why."""
