"""Settings shared by all tests."""

import os

from hypothesis import settings
from support.shape_checks import decorate_leaner

# Set before anything asks the hub: what is not at hand is missing at once, without a look at the network.
os.environ["HF_HUB_OFFLINE"] = "1"
# Here as in every process that a test starts: the last digits of a sum depend on the number of threads.
os.environ["OMP_NUM_THREADS"] = "1"
# No deadlines: machines are shared. Forty examples a property: with the hundred that hypothesis draws by
# default they would take half of the suite's time; HYPOTHESIS_EXAMPLES asks for another number.
# In continuous integration the same examples are drawn every time.
EXAMPLES = int(os.environ.get("HYPOTHESIS_EXAMPLES", "40"))
settings.register_profile("here", deadline=None, max_examples=EXAMPLES)
settings.register_profile("ci", deadline=None, derandomize=True, max_examples=EXAMPLES)
settings.load_profile("ci" if os.environ.get("CI") else "here")

decorate_leaner()
