"""What a trainer's beta will do: its KL term by version and flags, the law it has, and the pass rates."""

from .forms import FORMS as FORMS
from .forms import KLForm as KLForm
from .forms import kl_form as kl_form
from .prediction import Prediction as Prediction
from .prediction import predict as predict
