"""For teachers: blocks designed to be worked by hand, worksheets, a quiz."""
