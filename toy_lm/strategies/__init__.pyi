from .experiment import run as run
from .results import Config as Config
from .results import tables as tables
