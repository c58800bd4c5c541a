"""Limits on the size of inputs and runs."""

MOST_NUMBERS = 2**27  # 1 GiB as float64: for matrices from files, and for the steps of a run
MOST_COUNT = 10**15  # for sizes of which only costs are counted, and for options without a limit
MOST_POINTS = 10**6  # that a step may count
MAX_BYTES = 32 * 2**20
MAX_DEPTH = 64
MAX_VALUES = 5_000_000
MAX_NODES = 500_000  # entries that the YAML parser handles one by one
