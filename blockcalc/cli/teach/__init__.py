"""The commands of a teacher: ``worksheet`` and ``quiz``."""
