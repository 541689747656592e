"""The commands of the laboratory, one a file."""

#: In the order in which ``--help`` lists them.
COMMANDS = ("bench", "bank", "pretrain", "downstream", "runs", "case-study")
