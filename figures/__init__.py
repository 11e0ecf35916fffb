"""One module a figure: what it computes, as JSON with seed, config and versions, and how it is drawn."""

from .catalogue import NAMES as NAMES
from .catalogue import Figure as Figure
from .catalogue import figure as figure
