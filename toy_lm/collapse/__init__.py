"""Collapse of restricted model families: global optima of KL control, and mass-covering fits (theory A10)."""

from .config import Config as Config
from .experiment import run as run
from .results import read as read
from .tables import tables as tables
