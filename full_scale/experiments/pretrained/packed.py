"""Many token sequences in one forward pass: what they share at the beginning is computed once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Packed:
    """Sequences as one trie: a node a token, which attends to itself and to the nodes before it.

    Gradients are those of the sequences apart: the pass, forward and backward, costs as much as there are
    nodes.
    """

    ids: Int[Tensor, "1 nodes"]
    positions: Int[Tensor, "1 nodes"]
    visible: Bool[Tensor, "1 1 nodes nodes"]
    ends: Int[Tensor, " sequences"]
    """The node of each sequence's last token."""


def pack(sequences: Sequence[Sequence[int]]) -> Packed:
    """The trie of token sequences, none of them empty."""
    nodes: dict[tuple[int, int], int] = {}
    parents, positions, ends = [], [], []
    for tokens in sequences:
        at = -1
        for position, token in enumerate(tokens):
            if (at, token) not in nodes:
                nodes[at, token] = len(nodes)
                parents.append(at)
                positions.append(position)
            at = nodes[at, token]
        ends.append(at)
    visible = torch.eye(len(nodes), dtype=torch.bool)
    for node, parent in enumerate(parents):
        if parent >= 0:
            visible[node] |= visible[parent]
    ids = torch.tensor([[token for _, token in nodes]])
    return Packed(ids, torch.tensor([positions]), visible[None, None], torch.tensor(ends))


def next_log_probs(model: Any, packed: Packed) -> Float[Tensor, "sequences vocabulary"]:
    """Log-probabilities of the token after each sequence, float32; logits are made at these places alone."""
    hidden = model.model.embed_tokens.weight
    barred = torch.zeros(packed.visible.shape, dtype=hidden.dtype, device=hidden.device)
    barred = barred.masked_fill(~packed.visible.to(hidden.device), torch.finfo(hidden.dtype).min)
    states = model.model(
        input_ids=packed.ids.to(hidden.device),
        position_ids=packed.positions.to(hidden.device),
        attention_mask=barred,
        use_cache=False,
    ).last_hidden_state[0, packed.ends.to(hidden.device)]
    return model.lm_head(states).float().log_softmax(dim=-1)
