"""A tiny causal transformer, and its responses' exact probabilities by one pass over the tree of prefixes."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from .tasks import DIGITS, OPERANDS, STYLES, StylesTask

_EQUALS = OPERANDS
_STYLE, _DIGIT = _EQUALS + 1, _EQUALS + 1 + STYLES
"""First style and first digit in the vocabulary: operands, the sign =, styles, digits."""
VOCABULARY = _DIGIT + DIGITS
LENGTH = 5  # Input positions a, b, =, style, tens; the ones are only predicted.


class Transformer(nn.Module):
    """Embeddings, pre-normed causal blocks, and logits over styles and digits at every position."""

    def __init__(self, width: int, heads: int, layers: int) -> None:
        super().__init__()
        self.token = nn.Embedding(VOCABULARY, width)
        self.position = nn.Embedding(LENGTH, width)
        self.blocks = nn.ModuleList(AttentionBlock(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, STYLES + DIGITS)

    def forward(
        self,
        tokens: Int[Tensor, "batch places"],
        position: Int[Tensor, " places"],
        visible: Bool[Tensor, "places places"],
    ) -> Float[Tensor, "batch places symbols"]:
        """Logits of tokens at `position` in the response; `visible` marks which places attend to which."""
        x = self.token(tokens) + self.position(position)
        for block in self.blocks:
            x = block(x, visible)
        return self.head(self.norm(x))


class AttentionBlock(nn.Module):
    """Attention, then a perceptron, each with a residual connection."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before_attention, self.before_perceptron = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query_key_value, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.perceptron = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(
        self, x: Float[Tensor, "batch places width"], visible: Bool[Tensor, "places places"]
    ) -> Float[Tensor, "batch places width"]:
        """Residual stream after attention and perceptron; `visible` is the attention mask."""
        packed = self.query_key_value(self.before_attention(x)).unflatten(-1, (3, self.heads, -1))
        query, key, value = packed.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=visible)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        return x + self.perceptron(self.before_perceptron(x))


class ResponseDistribution(NamedTuple):
    """Exact probability of each response, as log-conditionals of the three tokens; float64."""

    style: Float[Tensor, "prompts styles"]
    tens: Float[Tensor, "prompts styles digits"]
    ones: Float[Tensor, "prompts styles digits digits"]

    def joint(self) -> Float[Tensor, "prompts outcomes"]:
        """Log-probabilities of all responses, in the order of `tasks.tokens_of`."""
        joint = self.style[:, :, None, None] + self.tens[..., None] + self.ones
        return joint.flatten(1)

    def tokens(
        self, prompts: Int[Tensor, " batch"], responses: Int[Tensor, "batch 3"]
    ) -> Float[Tensor, "batch 3"]:
        """Token log-probabilities of responses to the prompts of these indices."""
        style, tens, ones = responses.unbind(dim=1)
        first = (self.style[prompts, style], self.tens[prompts, style, tens])
        return torch.stack([*first, self.ones[prompts, style, tens, ones]], dim=1)

    def among(self, prompts: Int[Tensor, " prompts"], count: int) -> "ResponseDistribution":
        """Distribution over `count` prompts with these at the given indices; the others are nan."""
        nowhere = (part.new_full((count, *part.shape[1:]), torch.nan) for part in self)
        pairs = zip(nowhere, self, strict=True)
        return ResponseDistribution(*(rows.index_copy(0, prompts, part) for rows, part in pairs))


def token_log_probs(
    model: Transformer, prompts: Int[Tensor, "batch 2"], responses: Int[Tensor, "batch 3"]
) -> Float[Tensor, "batch 3"]:
    """Log pi of style, tens and ones, each given the tokens before it: one causal pass, differentiable."""
    tokens = torch.cat([_opened(prompts), responses[:, :1] + _STYLE, responses[:, 1:2] + _DIGIT], dim=1)
    causal = torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()
    logits = model(tokens, torch.arange(LENGTH), causal)[:, 2:]
    style = logits[:, :1, :STYLES].log_softmax(dim=-1).gather(2, responses[:, :1, None])
    digits = logits[:, 1:, STYLES:].log_softmax(dim=-1).gather(2, responses[:, 1:, None])
    return torch.cat([style, digits], dim=1).squeeze(2)


@torch.no_grad()
def exact_distribution(model: Transformer, prompts: Int[Tensor, "prompts 2"]) -> ResponseDistribution:
    """Probabilities of all responses by one pass over their prefixes, each computed once.

    The prefixes of a prompt form a tree: a, b, =, then the styles, then the tens of each style. Laid out as
    one row in which a place attends to its ancestors and itself, they take one batched pass, because
    attention knows order only from the given positions. Normalised in float64: the sum is one up to rounding.
    """
    tokens, position, visible = _tree()
    rows = torch.cat([_opened(prompts), tokens.expand(len(prompts), -1)], dim=1)
    logits = model(rows, position, visible)[:, 2:].double()
    style, tens, ones = logits.split([1, STYLES, STYLES * DIGITS], dim=1)
    return ResponseDistribution(
        style[:, 0, :STYLES].log_softmax(dim=-1),
        tens[..., STYLES:].log_softmax(dim=-1),
        ones[..., STYLES:].log_softmax(dim=-1).unflatten(1, (STYLES, DIGITS)),
    )


def pass_rates(policy: ResponseDistribution, task: StylesTask) -> Float[Tensor, " prompts"]:
    """Exact pass rate of each prompt."""
    return (policy.joint().exp() * task.valid).sum(dim=1)


def _opened(prompts: Int[Tensor, "batch 2"]) -> Int[Tensor, "batch 3"]:
    return functional.pad(prompts, (0, 1), value=_EQUALS)


def _tree() -> tuple[Int[Tensor, " prefixes"], Int[Tensor, " places"], Bool[Tensor, "places places"]]:
    """Tokens that follow a prompt in its tree of prefixes, each place's position, and the attention mask."""
    styles, tens = torch.arange(STYLES), torch.arange(STYLES * DIGITS)
    tokens = torch.cat([_STYLE + styles, _DIGIT + tens % DIGITS])
    position = torch.cat([torch.arange(3), torch.full((STYLES,), 3), torch.full((STYLES * DIGITS,), 4)])
    parent = torch.cat([torch.arange(3) - 1, torch.full((STYLES,), 2), 3 + tens // DIGITS])
    visible = torch.eye(len(parent), dtype=torch.bool)
    for place in range(1, len(parent)):
        visible[place] |= visible[parent[place]]
    return tokens, position, visible
