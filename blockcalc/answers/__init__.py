"""Answers read from files, and matched with the steps of a block."""
