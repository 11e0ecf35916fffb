"""Objectives that a run's settings allow, the settings that decide between them, and the names not read."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from itertools import product
from typing import Any

from ..losses.kl_terms import ENDS, ESTIMATORS, KLTerm, term_from
from ..losses.objective import REDUCTIONS, WEIGHTS, Objective, Weight
from ..support.display import Shown
from ..support.record import flat
from ..support.table import Table
from .reading import SettingsReading, trainer_named, trainer_of
from .values import Settings, Stated, collected, scalar

_PLACES = {
    "loss": "in the loss",
    "ratio": "with importance weight in the loss",
    "straight through": "in the loss, with a straight-through gradient",
    "reward": "in the reward",
    "reward to go": "in the reward",
    "own reward": "in each token's own reward",
    "definition": "in the loss, in its definition form",
}
_SHORT = {("loss", "k2"): "k2", ("loss", "k3"): "k3", ("ratio", "k3"): "k3 with importance weight"}
DECIDING = ("kl", "kl2", "advantage", "group")
_LABELS = {"updates": "updates a batch: {}", "clip": "clip: {}", "sampler": "sampler: {}"}
_ZERO = "k1 in the loss"  # Its expected gradient is zero.
_NOWHERE = "a pass rate of 1: noise decides which correct answers stay"


@dataclass(frozen=True)
class Case:
    """An objective that the settings allow, and on which condition; "" if there is no other."""

    condition: str
    objective: Objective


@dataclass(frozen=True, repr=False)
class Configuration(Shown):
    """Objective of a run as read from its settings, with everything that is uncertain about the reading.

    Attributes:
        trainer: Title of the trainer.
        version: Version of the trainer whose defaults are used.
        cases: Objectives that the settings allow, the likeliest first.
        older: Objectives of earlier versions of the trainer that differ from `cases`.
        also: Sentences about updates, clip, sampler and other settings outside the objective.
        read: Settings that decide the objective, each with its line in the file.
        doubts: Settings for which the file allows several values.
        changes: Settings that are known to change the loss.
        suspicious: Unread settings whose names suggest that they change the loss.
        not_read: All other unread settings.
        void: Reason why the run is not RL on verifiable rewards; empty if it is.
    """

    trainer: str
    version: str
    cases: tuple[Case, ...]
    older: tuple[Case, ...] = ()
    also: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    suspicious: tuple[str, ...] = ()
    not_read: tuple[str, ...] = ()
    void: str = ""

    @property
    def objective(self) -> Objective:
        """Objective of the first case, the one that the settings state unconditionally."""
        return self.cases[0].objective

    @property
    def penalty(self) -> str:
        """Words for the KL term and its coefficient, such as: k3 in the loss, coefficient 0.04."""
        return penalty(self.objective)

    @property
    def stationary_kl(self) -> str:
        """Words for the KL that is minimised at the stationary policy, such as: reverse KL per token."""
        if not self.objective.coefficient:
            return "none: no KL to the base"
        return "not known" if self.objective.term is None else self.objective.term.stationary_kl

    @property
    def selects(self) -> str:
        """Words for the policy that training converges to with a small KL coefficient."""
        run, kl = self.objective, self.objective.term
        if run.unpredicted not in ("", run.advantage.unknown):
            return "not known"
        return ENDS.get(kl.selects if kl else "", "not known") if run.coefficient else _NOWHERE

    def summary(self) -> str:
        """Lines on the KL term, its stationary KL, and settings that may change the answer."""
        lines = (f"{self.trainer} {self.version}: {self.penalty}", self.stationary_kl)
        return "\n".join((*lines, *self.changes, *self.suspicious))

    def tables(self) -> list[Table]:
        """Table with a row (name, value) for each field that is not empty."""
        entries = {name.replace("_", " "): value for name, value in self.to_dict().items() if value}
        rows = [(name, "\n".join(map(str, value)) if isinstance(value, list) else str(value))
                for name, value in entries.items()]  # fmt: skip
        return [Table.from_rows((f"{self.trainer} {self.version}", ""), rows)]

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain data, together with those of the first objective and its advantage."""
        run = self.objective
        words = {"penalty": self.penalty, "stationary_kl": self.stationary_kl, "selects": self.selects}
        entries = {**words, **vars(self), **vars(run), **run.advantage._asdict()}
        entries |= {"advantage": entries.pop("words"), "rehearsal": run.rehearsal and vars(run.rehearsal)}
        for key in ("cases", "older"):
            entries[key] = [(case.condition, penalty(case.objective)) for case in entries[key]]
        del entries["term"]
        return {name: list(value) if isinstance(value, tuple) else value for name, value in entries.items()}


def penalty(objective: Objective) -> str:
    """Words for an objective's KL term and coefficient; why the term is unknown; or: no KL to the base."""
    if objective.term is None or not objective.coefficient:
        return objective.unpredicted if objective.coefficient else "no KL to the base"
    return f"{form(objective.term)}, coefficient {objective.coefficient:g}"


def form(kl: KLTerm) -> str:
    """A KL term in words, such as: k3 with importance weight in the loss."""
    return f"{kl.estimator} {_PLACES.get(kl.place, f'in the loss, times the {kl.place}')}"


def short_form(kl: KLTerm) -> str:
    """Name that measured runs use for such a KL term, or else `form`."""
    return _SHORT.get((kl.place, kl.estimator), form(kl))


def configuration_of(
    settings: Any, trainer: str | None = None, *, version: str | None = None
) -> Configuration:
    """Read settings under the table of their trainer.

    Args:
        settings: Settings by the trainer's own names, nested or joined by dots, or a GRPOConfig.
        trainer: One of `reading.tables`, in any case; by default known by the names.
        version: The trainer's version, such as "0.18"; by default the newest.

    Returns:
        What the settings amount to if nothing that was not read changes the loss.

    Raises:
        ValueError: If the trainer is not known.

    Example:
        >>> configuration_of({"beta": 0.0, "num_generations": 8}, "trl").stationary_kl
        'none: no KL to the base'

    Source: each trainer's code at the version named in its table.
    """
    if is_dataclass(settings) and not isinstance(settings, type):
        trainer = trainer or "trl"
        values = {field.name: getattr(settings, field.name) for field in fields(settings)}
        # A GRPOConfig without the flag is older than the flag: its KL is k3 without importance weight.
        settings = {"use_bias_correction_kl": False, **values} if trainer == "trl" else values
    given = collected((name, Stated(value, "given")) for name, value in flat(settings).items())
    name = trainer_of(given, "") if trainer is None else trainer_named(trainer)
    if name is None:
        raise ValueError(f"no trainer known here; settings seen: {', '.join([*given][:6])}")
    return configured(SettingsReading(name, given, version=version))


def configured(reading: SettingsReading) -> Configuration:
    """Return the configuration that a trainer's table assigns to settings, for its version and older ones."""
    newest, *past = reading.versions
    cases, older = [*_cases(reading, newest)], list[Case]()
    later, last = newest, [_end(case) for case in cases]
    for version in past:
        earlier = [*_cases(reading, version)]
        if [_end(case) for case in earlier] != last:
            older.append(Case(f"before {later}", earlier[0].objective))
            last = [_end(case) for case in earlier]
        later = version
    answers = [reading.answer(key) for key in DECIDING]
    used = [several for answer in answers for several in answer.used.values()]
    doubts = [" or ".join(map(str, several)) for answer in answers for several in answer.doubts]
    penalised = any(case.objective.coefficient or case.objective.undecided for case in (*cases, *older))
    changes = (change for change in reading.changes if penalised or change[1][0] != "?")
    suspicious, not_read = reading.unread()
    return Configuration(
        trainer=reading.table["title"],
        version=reading.version,
        cases=tuple(cases),
        older=tuple(older),
        also=tuple(_also(reading)),
        read=tuple(dict.fromkeys(str(one) for one, *_ in used if one.where or one.name[:5] != "text:")),
        doubts=tuple(dict.fromkeys(doubts)),
        changes=tuple(f"{setting}: {effect.lstrip('!?~ ')}" for setting, effect in changes),
        suspicious=tuple(suspicious),
        not_read=tuple(not_read),
        void=" or ".join(reading.answer("void").texts),
    )


def _end(case: Case) -> tuple[Any, ...]:
    """Parts of a case's objective that decide where training converges, for comparison."""
    run = case.objective
    return run.term if run.coefficient else None, run.coefficient, run.advantage, run.mixed_only


def _also(reading: SettingsReading) -> Iterator[str]:
    """Yield words on reduction, updates, clip and sampler in the newest version, then on older versions."""
    earlier = []
    for key in (key for key in reading.table["answers"] if key not in (*DECIDING, "void")):
        last, later = "", ""
        for version in reading.versions if key != "sampler" else reading.versions[:1]:
            texts = reading.answer(key, version).texts
            words = " or ".join(REDUCTIONS.get(text, text) for text in texts if text).lstrip("!? ")
            text = _LABELS.get(key, "{}").format(words) + (" or not" if "" in texts else "")
            if words and words != last:
                earlier += [f"before {later}: {text}"] if later else []
                yield from () if later else [text]
            last, later = words, version
    yield from earlier


def _cases(reading: SettingsReading, version: str) -> Iterator[Case]:
    """Yield each objective that the open settings allow at a trainer version, with its condition in words."""
    answers = {key: reading.answer(key, version) for key in reading.table["answers"]}
    deciding = [answers[key].texts.items() if key in answers else [("", [])] for key in DECIDING]
    rest = {key: next(iter(answer.texts), "") for key, answer in answers.items() if key not in DECIDING}
    for combination in product(*deciding):
        why = dict.fromkeys(str(choice) for _, choices in combination for choice in choices)
        yield Case(" and ".join(why), _objective(reading, rest, *(text for text, _ in combination)))


def _objective(
    reading: SettingsReading, rest: Mapping[str, str], kl1: str, kl2: str, advantage: str, group: str
) -> Objective:
    """Objective from the table's words on the KL in reward and loss (kl1, kl2), advantage and group size."""
    kls = [_kl(text) for text in (kl1, kl2) if text not in ("none", "")]
    acting = [(kl, factor) for kl, factor, *_ in kls if factor and not (kl and form(kl) == _ZERO)]
    kl, coefficient = acting[0] if acting else (kls[0][0] if kls else None, 0.0)
    kl = None if acting[1:] else kl
    weight = WEIGHTS.get(advantage) or Weight(advantage.lstrip("$"))
    # A text with ! leaves the end unknown, one with ? where a KL acts; an effect with ~ leaves the end.
    unknown, harmless = ("!?", "~") if acting else ("!", "~?")
    reasons = [
        "the stationary policy of a KL in the loss together with one in the reward" if acting[1:] else "",
        "a negative coefficient, which rewards the distance to the base" if coefficient < 0 else "",
        *(words for *_, words in kls),
        "the end of this KL" if kl is not None and acting and kl.unknown else "",
        *(text.lstrip("!? ") for text in rest.values() if text and text[0] in unknown),
        *(setting for setting, effect in reading.changes if effect[0] not in harmless),
        weight.unknown if acting or advantage not in WEIGHTS else "",
        _divided(kl, weight) if kl is not None and acting else "",
        f"the group size {group}" if "$" in group and acting else "",
    ]
    return Objective(
        weight,
        group_size=int(scalar(group)) if _is_number(group) else None,
        term=kl,
        coefficient=coefficient,
        reduction=REDUCTIONS.get(rest["reduction"], rest["reduction"]),
        updates=scalar(rest["updates"]) if _is_number(rest["updates"]) else None,
        sampler=rest.get("sampler") or "the policy itself",
        mixed_only=bool(rest.get("drops")),
        unpredicted=next(filter(None, reasons), ""),
        undecided=(*(words for *_, words, _ in kls if words), *([advantage] if "$" in advantage else [])),
    )


def _kl(text: str) -> tuple[KLTerm | None, float, str, str]:
    """Parse "place | form | coefficient" into (KL term, coefficient, what is in doubt, unknown place)."""
    place, *middle, coefficient = (part.strip() for part in text.split("|"))
    words = middle[0] if middle else place  # A kind that the table does not know stands for place and form.
    kl = term_from(("", "", "", ""), place, words) if {*words.split()[:1]} & ESTIMATORS.keys() else None
    if not _is_number(coefficient):
        return kl, 0.0, f"the coefficient {coefficient}", ""
    return kl, scalar(coefficient), f"the KL {words}" if words and kl is None else "", "" if words else place


def _divided(kl: KLTerm, weight: Weight) -> str:
    """Reason why a KL in std-divided rewards has an unknown limit; empty if the KL is not divided."""
    by_group = kl.place == "reward" and weight.scale == "std"
    if "reward" not in kl.place or not (by_group or "batch's std" in weight.words):
        return ""
    return "the end of a KL that is divided by the rewards' std, which is zero where training converges"


def _is_number(text: str) -> bool:
    return isinstance(scalar(text), float)


def overridden(settings: Settings, overrides: Sequence[str]) -> Settings:
    """Settings with each NAME=VALUE of `overrides` added; ValueError for a word without "="."""
    for word in overrides:
        if "=" not in word:
            raise ValueError(f"setting={word!r} is not allowed: NAME=VALUE")
    pairs = (word.partition("=")[::2] for word in overrides)
    return settings | collected((name, Stated(scalar(value), "given")) for name, value in pairs)
