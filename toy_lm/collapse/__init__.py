"""Collapse under misspecification: what each objective selects in a restricted family (theory A10)."""

from .experiment import Config as Config
from .experiment import run as run
from .report import tables as tables
