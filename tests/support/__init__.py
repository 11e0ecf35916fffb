"""What several tests share: small models, problems, records and judges of output."""

# jaxtyping's check is named by its path from here, and looked up as attributes.
from . import shape_checks as shape_checks
