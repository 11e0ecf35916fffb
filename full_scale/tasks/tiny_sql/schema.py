"""The words of the task: domains of tables, each with a thing to count, two categories and a number."""

from dataclasses import dataclass

from dph_theory.support.errors import argument_error

_THINGS = (
    *(("visits", "patient"), ("orders", "customer"), ("flights", "pilot"), ("loans", "reader")),
    *(("matches", "player"), ("lessons", "teacher"), ("trips", "driver"), ("sales", "seller")),
    *(("shows", "singer"), ("cases", "judge"), ("meals", "cook"), ("surveys", "citizen")),
    *(("repairs", "mechanic"), ("bookings", "guest"), ("tests", "student"), ("reports", "author")),
)
_CATEGORIES = {
    "region": ("north", "south", "east"),
    "shift": ("morning", "evening", "night"),
    "status": ("open", "closed", "paused"),
    "colour": ("red", "green", "blue"),
    "grade": ("gold", "silver", "bronze"),
    "size": ("small", "medium", "large"),
    "channel": ("phone", "letter", "online"),
}
_NUMBERS = ("age", "price", "weight", "score", "distance")


@dataclass(frozen=True)
class Table:
    """A table `name (thing, category, category, number)`; what its rows mean differs by database."""

    name: str
    thing: str
    categories: tuple[tuple[str, tuple[str, ...]], ...]
    number: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that a prompt shows, in order."""
        return (self.thing, *(name for name, _ in self.categories), self.number)


@dataclass(frozen=True)
class Domain:
    """The tables that the databases of one domain share."""

    name: str
    tables: tuple[Table, ...]

    def database(self, index: int) -> str:
        """The name of one of its databases."""
        return f"{self.name}_{index}"


def domains(count: int, tables: int) -> tuple[Domain, ...]:
    """The first `count` domains of `tables` tables each; no two tables of the task share a name.

    ValueError unless both are at least 1.
    """
    for name, value in (("domains", count), ("tables", tables)):
        if value < 1:
            raise argument_error(name, value, "a whole number, at least 1")
    return tuple(
        Domain(f"domain{d}", tuple(_table(d * tables + t) for t in range(tables))) for d in range(count)
    )


def _table(index: int) -> Table:
    again, which = divmod(index, len(_THINGS))
    name, thing = _THINGS[which]
    names = tuple(_CATEGORIES)
    # Two different categories: the step from the first to the second is 1, 2, ... as the table index grows.
    step = 1 + index // len(names) % (len(names) - 1)
    chosen = (names[index % len(names)], names[(index + step) % len(names)])
    return Table(
        f"{name}{again + 1}" if again else name,
        thing,
        tuple((category, _CATEGORIES[category]) for category in chosen),
        _NUMBERS[index % len(_NUMBERS)],
    )
