"""The commands, one per file: ``arguments`` adds the options of a command to its parser, and ``run`` runs it."""

#: The description of each, in the order in which ``--help`` lists them.
COMMANDS = {
    "rewrite": "rewrite one text",
    "distribution": "show the distribution of one word or released token",
    "audit": "compare a mechanism's guarantee with measurements",
    "calibrate": "find the ε at which a mechanism reaches a target",
    "belief": "rewrite a text, and show what a reader can still infer about one fact",
    "trade-off-curve": "compare two texts: the exact detection rate of an optimal reader at each rate of false alarms",
    "attack": "rewrite one or more texts and run an attacker on them",
    "rewrite-data": "rewrite one column of a data set, row by row",
    "mechanisms": "list the mechanisms and their options",
    "models": "list models and how to get missing ones; add or remove one",
    "score": "measure utility and privacy of rewrites by any tool",
    "tradeoff": "measure utility and privacy of mechanisms over ε, as CSV",
    "new": "write a template package for your own mechanism",
}
