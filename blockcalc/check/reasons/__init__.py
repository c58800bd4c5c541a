"""Why a step is wrong: the mistakes of the catalogue, pairs of them, and slips."""
