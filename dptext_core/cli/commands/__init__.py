"""The commands, one a file: ``arguments`` adds the options of one to its parser, ``run`` does it."""

#: In the order in which ``--help`` lists them.
COMMANDS = (
    "rewrite",
    "distribution",
    "audit",
    "calibrate",
    "belief",
    "trade-off-curve",
    "attack",
    "rewrite-data",
    "mechanisms",
    "models",
    "score",
    "tradeoff",
    "new",
)
