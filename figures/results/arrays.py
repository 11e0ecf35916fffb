"""Arrays as fields of results that are kept as JSON."""

from typing import Annotated, Any

import numpy as np
from pydantic import PlainValidator


def _array(value: Any) -> np.ndarray:
    return np.asarray(value, dtype=float)


Array = Annotated[np.ndarray, PlainValidator(_array)]
"""Floats, read from nested lists; None is read as nan, and "inf" as infinite."""
