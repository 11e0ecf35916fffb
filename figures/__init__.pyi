from .catalogue import NAMES as NAMES
from .catalogue import Figure as Figure
from .catalogue import figure as figure
