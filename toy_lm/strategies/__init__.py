"""Pass@1 up, pass@k down: strategies shared by prompt types, trained by exact gradients (theory D3)."""

from .config import Config as Config
from .experiment import run as run
from .results import read as read
from .tables import tables as tables
