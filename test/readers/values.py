"""What the scripts here print of values."""

import datetime


def text(value):
    """Integers beyond those of JavaScript, and times with the digits that they have there."""
    if isinstance(value, datetime.datetime):
        return value.isoformat(timespec="milliseconds")
    return value if value is None or isinstance(value, (bool, float)) else str(value)
