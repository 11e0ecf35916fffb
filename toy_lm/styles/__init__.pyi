from .experiment import StylesConfig as StylesConfig
from .experiment import run as run
from .results import tables as tables
