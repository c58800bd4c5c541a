"""Dataclasses whose methods are compiled when first called are dataclasses in all else."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
from dataclasses import field, replace
from typing import ClassVar

import pytest

from blockcalc.records import dataclass


@dataclass(frozen=True)
class Base:
    """A base with a default."""

    kind: ClassVar[str] = "base"
    name: str
    parts: list[int] = field(default_factory=list, compare=False)


@dataclass(frozen=True)
class Derived(Base):
    """A field more, and one that is not given."""

    size: float = 1.0
    seen: int = field(default=0, init=False)


class Bare(Derived):
    """A subclass that is no dataclass of its own."""


@dataclass
class Open:
    """Fields that can be set, and a method after them."""

    x: int

    def __post_init__(self) -> None:
        self.double = 2 * self.x


@dataclass(eq=False)
class Own:
    """Equal to nothing but itself."""

    x: int


def test_a_derived_class_has_the_fields_of_its_bases() -> None:
    one = Bare("a", size=2.0)
    assert repr(one) == "Bare(name='a', parts=[], size=2.0, seen=0)"
    assert one == Bare("a", [1], 2.0)
    assert one != Derived("a", [], 2.0)
    assert hash(one) == hash(Bare("a", size=2.0))
    assert replace(one, name="b").name == "b"
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.name = "c"  # type: ignore[misc]
    with pytest.raises(TypeError, match="name"):
        Derived()  # type: ignore[call-arg]


def test_patterns_name_its_fields_before_and_after() -> None:
    @dataclass(frozen=True)
    class Pair:
        left: int
        right: int
        hidden: int = field(default=3, init=False)

    for _ in range(2):
        assert Pair.__match_args__ == ("left", "right")
        match Pair(1, 2):
            case Pair(left, right):
                assert (left, right) == (1, 2)


def test_fields_can_be_set_where_they_are_not_frozen() -> None:
    one = Open(2)
    one.x = 5
    assert (one.double, one.x) == (4, 5)
    assert one == Open(5)
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)
    assert Own(1) != Own(1)


def test_an_instance_made_without_its_init_finishes_the_class() -> None:
    @dataclass(frozen=True)
    class Late:
        x: int

    raw = object.__new__(Late)
    raw.__dict__["x"] = 1
    assert repr(raw).endswith("Late(x=1)")
    assert copy.copy(raw) == Late(1)


def test_it_is_copied_as_ever() -> None:
    one = Base("a", [1])
    assert pickle.loads(pickle.dumps(one)) == copy.deepcopy(one) == one


def test_slots_are_made_at_once() -> None:
    @dataclass(frozen=True, slots=True)
    class Slotted:
        x: int

    assert dataclasses.is_dataclass(Slotted)
    assert not hasattr(Slotted(1), "__dict__")


def test_no_dataclass_of_the_library_derives_from_one_of_these() -> None:
    code = (
        "import pkgutil, importlib, dataclasses, blockcalc\n"
        "names = [m.name for m in pkgutil.walk_packages(blockcalc.__path__, 'blockcalc.')]\n"
        "for name in names:\n"
        "    if name not in ('blockcalc.__main__', 'blockcalc.stepper.app'):\n"
        "        importlib.import_module(name)\n"
        "def below(kind):\n"
        "    for own in type.__subclasses__(kind):\n"
        "        yield own\n"
        "        yield from below(own)\n"
        "print([c for c in below(object) if c.__module__.startswith('blockcalc')\n"
        "       and '__dataclass_fields__' in vars(c) and any('__finish__' in vars(b) for b in c.__mro__)])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
