"""The run-time check of annotations: beartype, with the numeric tower (an int is a float)."""

import beartype

checked = beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))
