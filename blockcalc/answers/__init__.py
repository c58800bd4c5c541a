"""A person's numbers as files give them, matched with the steps of a block."""
