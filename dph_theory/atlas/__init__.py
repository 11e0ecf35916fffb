"""The atlas: what each published repair of the loss of diversity selects, computed from its formula alone.

A method is one declaration (`methods`) of a formula (`formulas`); what becomes of it on three small problems
(`problems`) is computed from its expected update and from chains of sampled ones (`training`), and told in
words with a margin (`rows`). No cell is typed.
"""

from .methods import METHODS as METHODS
from .methods import Method as Method
from .methods import of_rewards as of_rewards
from .rows import Row as Row
from .rows import atlas as atlas
from .rows import row_of as row_of
