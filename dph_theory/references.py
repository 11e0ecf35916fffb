"""The papers, each under one key; every statement, docstring and recipe cites papers by key."""

import re
from dataclasses import dataclass
from typing import Final

from .support.errors import choice


@dataclass(frozen=True)
class Reference:
    """One paper: its key, authors, title and address."""

    key: str
    authors: str
    title: str
    where: str

    @property
    def names(self) -> tuple[str, ...]:
        """Names that select the paper: its key, the first author's surname, its arXiv number."""
        surname = re.sub(r"^(?:\w\. )+", "", self.authors.partition(" et al.")[0].partition(",")[0])
        return (self.key, surname, *re.findall(r"\d{4}\.\d{5}", self.where))


@dataclass(frozen=True)
class Source:
    """Origin of a statement: a reference key, the section if known, and our figure of it if there is one."""

    key: str
    place: str = ""
    figure: str = ""

    def __post_init__(self) -> None:
        choice("key", self.key, REFERENCES)

    @property
    def names(self) -> tuple[str, ...]:
        """Names that select the source: its paper's names, its places, and 3.1 for a place 3.1a."""
        places = [part.strip() for part in self.place.split(";") if part]
        theorems = [place[:-1] for place in places if re.fullmatch(r".*\d[a-z]", place)]
        return (*REFERENCES[self.key].names, *places, *theorems)

    def __str__(self) -> str:
        return f"{self.key}, {self.place}" if self.place else self.key


REFERENCES: Final[dict[str, Reference]] = {
    reference.key: reference
    for reference in (
        Reference("dymetman2026binary", "M. Dymetman",
                  "Binary Rewards and Reinforcement Learning: Fundamental Challenges", "arXiv:2605.02375"),
        Reference("li2025choice", "L. Li et al.",
                  "The Choice of Divergence: A Neglected Key to Mitigating Diversity Collapse in RLVR",
                  "ICLR 2026, arXiv:2509.07430"),
        Reference("kruszewski2026whatever", "G. Kruszewski et al.", "Whatever Remains Must Be True",
                  "ICLR 2026, arXiv:2512.05962"),
        Reference("go2023fdpg", "D. Go et al.",
                  "Aligning Language Models with Preferences through f-divergence Minimization",
                  "ICML 2023, arXiv:2302.08215"),
        Reference("schulman2015trpo", "J. Schulman et al.", "Trust Region Policy Optimization",
                  "arXiv:1502.05477"),
        Reference("achiam2017cpo", "J. Achiam et al.", "Constrained Policy Optimization", "arXiv:1705.10528"),
        Reference("kang2018pofd", "B. Kang et al.", "Policy Optimization with Demonstrations", "ICML 2018"),
        Reference("gilardoni2010pinsker", "G. L. Gilardoni",
                  "On Pinsker's and Vajda's Type Inequalities for Csiszar's f-Divergences",
                  "IEEE Trans. Inf. Theory 56(11), 2010"),
        Reference("mroueh2025grpo", "Y. Mroueh",
                  "Reinforcement Learning with Verifiable Rewards: GRPO's Effective Loss, "
                  "Dynamics, and Success Amplification", "arXiv:2503.06639"),
        Reference("chen2021codex", "M. Chen et al.", "Evaluating Large Language Models Trained on Code",
                  "arXiv:2107.03374"),
        Reference("schulman2020kl", "J. Schulman", "Approximating KL Divergence", "note, 2020"),
        Reference("shao2024grpo", "Z. Shao et al.",
                  "DeepSeekMath: Pushing the Limits of Mathematical Reasoning in Open Language Models",
                  "arXiv:2402.03300"),
        Reference("yu2025dapo", "Q. Yu et al.",
                  "DAPO: An Open-Source LLM Reinforcement Learning System at Scale", "arXiv:2503.14476"),
        Reference("deepseek2025v32", "DeepSeek-AI",
                  "DeepSeek-V3.2: Pushing the Frontier of Open Large Language Models", "arXiv:2512.02556"),
        Reference("park2024grammar", "K. Park et al.", "Grammar-Aligned Decoding",
                  "NeurIPS 2024, arXiv:2405.21047"),
        Reference("tang2025pitfalls", "Y. Tang, R. Munos",
                  "On a Few Pitfalls in KL Divergence Gradient Estimation for RL", "arXiv:2506.09477"),
        Reference("liu2025rethinking", "K. Liu et al.",
                  "Rethinking KL Regularization in RLHF: From Value Estimation to Gradient Optimization",
                  "arXiv:2510.01555"),
        Reference("gxchen2025kl", "A. GX-Chen et al.",
                  "KL-Regularized Reinforcement Learning is Designed to Mode Collapse", "arXiv:2510.20817"),
        Reference("yao2026future", "J. Yao et al.",
                  "Future-KL Regularized GRPO: Process-Level Credit Assignment from f-Divergence "
                  "Regularization", "arXiv:2601.10201"),
        Reference("tajwar2026maxrl", "F. Tajwar et al.", "Maximum Likelihood Reinforcement Learning",
                  "arXiv:2602.02710"),
        Reference("ours", "this package", "its own derivations, to our knowledge not in the papers",
                  "see the entry's file"),
    )
}  # fmt: skip
