from .experiment import run as run
from .results import CollapseConfig as CollapseConfig
from .results import tables as tables
