"""A tiny transformer trained for real: five styles, binary rewards, and which losses keep the styles."""

from .experiment import Config as Config
from .experiment import run as run
from .report import tables as tables
from .results import read as read
