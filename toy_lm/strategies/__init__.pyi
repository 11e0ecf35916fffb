from .experiment import run as run
from .results import StrategiesConfig as StrategiesConfig
from .results import tables as tables
