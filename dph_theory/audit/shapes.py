"""Shape of advantages that a loss takes, and dependence of an answer's gradient on those of the others."""

import torch

from .called_loss import Audited, LossError, LossInputs

ROWS, COLUMNS = 6, 5
"""Size of the batch that is tried; unequal, so that a shape is unambiguous."""


def _random_inputs() -> LossInputs:
    generator = torch.Generator().manual_seed(0)
    log_pi, log_ref, log_old, drawn = (
        -torch.rand(ROWS, COLUMNS, generator=generator, dtype=torch.float64) - 0.1 for _ in range(4)
    )
    advantages = (drawn[:, :1] + 0.6).expand(-1, COLUMNS).clone()
    logs = {"log_pi": log_pi.requires_grad_(), "log_ref": log_ref, "log_old": log_old}
    return {**logs, "advantages": advantages, "mask": torch.ones_like(drawn)}


def with_one_an_answer(audited: Audited) -> Audited:
    """The loss called with advantages of shape (batch,) if it needs that shape, else the loss itself.

    It needs that shape if it fails on (batch, tokens), or mixes answers only there, as with `advantages[:,
    None]`.
    """
    if "advantages" not in audited.names:
        return audited
    answers = audited.with_inputs(advantages=lambda inputs: inputs["advantages"][:, 0])
    by_token, by_answer = mixes_answers(audited), mixes_answers(answers)
    if by_answer is None:
        return audited
    return answers if by_token is None or (by_token and not by_answer) else audited


def mixes_answers(audited: Audited) -> bool | None:
    """True if an answer's gradient depends on the advantages of other answers; None if the loss fails."""
    inputs = _random_inputs()
    moved = torch.cat([inputs["advantages"][:1], 1.7 * inputs["advantages"][1:]])
    try:
        first, second = (
            audited.slope({**inputs, "advantages": a})[1][0] for a in (inputs["advantages"], moved)
        )
    except LossError:
        return None
    return not torch.allclose(first, second, rtol=1e-6, atol=1e-12)
