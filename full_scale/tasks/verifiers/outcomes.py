"""What a judgement can come to, each outcome named once."""

from enum import StrEnum


class Outcome(StrEnum):
    """The outcomes of the verifiers here; only `correct` scores one."""

    CORRECT = "correct"
    WRONG = "wrong"
    NO_ANSWER = "no_answer"
    """The completion holds nothing to compare."""
    ERROR = "error"
    """The query cannot be run."""
    FORBIDDEN = "forbidden"
    """The query does more than read."""
    TIMEOUT = "timeout"
    MEMORY = "memory"
    TOO_MANY_ROWS = "too_many_rows"
    CRASH = "crash"
    """The worker process died."""
    GOLD_ERROR = "gold_error"
    """The reference itself cannot be judged: an error of the data."""
