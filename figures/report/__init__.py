"""The report: one self-contained page made from the results of a reproduction."""

from .contents import Contents as Contents
from .page import page as page
