"""The commands of a teacher: ``design``, ``worksheet`` and ``quiz``."""
