"""The rehearsal loss of all rows at once, row by row: no padding, no parts, no trainer."""

import torch
from transformers import AutoModelForCausalLM

from dph_theory.losses import generator_loss
from support.tiny_llama import plain_log_probs


def full_loss(model, folder, rows, reduction, **form):
    """The loss of all rows at once, against the initial model, with plain log-probabilities."""
    initial = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    width = max(len(row.completion_ids) for row in rows)
    log_u, mask = torch.zeros(len(rows), width), torch.zeros(len(rows), width, dtype=torch.bool)
    pieces = []
    for i, row in enumerate(rows):
        with torch.no_grad():
            ref = plain_log_probs(initial, row.prompt_ids, row.completion_ids)
        x = plain_log_probs(model, row.prompt_ids, row.completion_ids) - ref
        pieces.append(torch.nn.functional.pad(x, (0, width - len(x))))
        mask[i, : len(x)] = True
    log_u = torch.stack(pieces)
    divergence = form.pop("divergence")
    return generator_loss(divergence, log_u, mask, reduction=reduction, **form)


def full_gradient(folder, rows, reduction="token_mean", divergence="forward_kl"):
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    full_loss(model, folder, rows, reduction, divergence=divergence).backward()
    return {name: value.grad for name, value in model.named_parameters()}
