from .configuration import Configuration as Configuration
from .configuration import configuration_of as configuration_of
from .prediction import Prediction as Prediction
from .prediction import PromptPrediction as PromptPrediction
from .prediction import predict as predict
