from .experiment import Config as Config
from .experiment import run as run
from .results import tables as tables
