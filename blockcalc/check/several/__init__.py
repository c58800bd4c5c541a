"""The answers of several: what each step counts, and one line for each of them."""
