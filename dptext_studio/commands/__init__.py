"""The commands that open or write what people look at, one a file."""

#: In the order in which ``--help`` lists them.
COMMANDS = ("app", "report", "gallery", "pocket", "cite")
