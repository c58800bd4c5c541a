"""The colours of heat maps on white: light to dark, so that they differ in grey too."""

from __future__ import annotations

GROUNDS = ("#ffffff", "#dbe9ff", "#a9cbff", "#2f6fd6", "#123f8c")
INKS = ("#1f2328", "#1f2328", "#1f2328", "#ffffff", "#ffffff")
QUIET = "#59636e"  # an infinite number, which has no ground
