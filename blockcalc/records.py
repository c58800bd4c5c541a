"""``dataclass`` for classes that a command may import and never use.

The dataclass of the standard library compiles up to six methods for each class, which takes most of
the time of importing one. Here they are compiled when the first of them is called, so ``fields`` of
``dataclasses`` knows a class only then. Classes with slots are new classes: they are made at once.
"""

from __future__ import annotations

import dataclasses
from threading import RLock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    _LOCK = RLock()  # progress is shown by a thread
    _METHODS = ("__init__", "__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__")

    def dataclass(cls=None, /, **options):
        """Make a dataclass, with the options of the standard library.

        Examples
        --------
        >>> @dataclass(frozen=True)
        ... class Point:
        ...     x: float
        ...     y: float = 0.0
        >>> Point(1.0), Point(1.0) == Point(1.0, 2.0)
        (Point(x=1.0, y=0.0), False)
        """
        if cls is None:
            return lambda own: dataclass(own, **options)
        if options.get("slots"):
            return dataclasses.dataclass(**options)(cls)
        cls.__match_args__ = _match_args(cls)
        cls.__finish__ = options
        for name in _METHODS:
            if name not in cls.__dict__:
                setattr(cls, name, _later(cls, name))
        return cls

    def _match_args(cls):
        """List the fields of a class in order, as patterns of ``match`` name them."""
        names = dict.fromkeys(getattr(cls, "__match_args__", ()))
        for name, kind in vars(cls).get("__annotations__", {}).items():
            default = vars(cls).get(name)
            given = not (isinstance(default, dataclasses.Field) and not default.init)
            if given and not str(kind).startswith("ClassVar"):
                names[name] = None
        return tuple(names)

    def _later(cls, name):
        """Give a method that finishes its class first."""

        def method(self, *args, **kwargs):
            _finish(cls)
            return getattr(cls, name)(self, *args, **kwargs)

        method.of_record = True
        return method

    def _finish(cls):
        """Make the methods of a class, after those of its bases."""
        with _LOCK:
            for own in reversed(cls.__mro__):
                if "__finish__" not in vars(own):
                    continue
                options = own.__finish__
                for name in _METHODS:
                    if hasattr(vars(own).get(name), "of_record"):
                        delattr(own, name)
                del own.__match_args__, own.__finish__
                dataclasses.dataclass(**options)(own)
