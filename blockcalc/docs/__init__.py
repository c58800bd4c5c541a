"""The pages and samples that come with the program."""
