"""A tiny transformer trained for real: five styles, binary rewards, and which losses keep the styles."""

from .experiment import Config as Config
from .experiment import run as run
from .results import read as read
from .tables import tables as tables
