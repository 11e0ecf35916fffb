from .experiment import Config as Config
from .experiment import run as run
from .results import read as read
from .results import tables as tables
