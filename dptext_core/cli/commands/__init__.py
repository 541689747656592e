"""The commands, one a file: ``arguments`` adds the options of one to its parser, ``run`` does it."""

#: What each does, in the order in which ``--help`` lists them.
COMMANDS = {
    "rewrite": "rewrite one text",
    "distribution": "show the distribution that one word or released piece is drawn from",
    "audit": "hold a mechanism's promise against what can be measured",
    "calibrate": "find the ε at which a mechanism reaches a measured privacy",
    "belief": "rewrite a text, and show what a reader can still infer about one fact",
    "trade-off-curve": "compare two texts: the exact detections of an optimal reader at each rate of false alarms",
    "attack": "rewrite a text, or each of several, and see what an attacker finds out",
    "rewrite-data": "rewrite one column of a data set, row by row",
    "mechanisms": "list the mechanisms and their options",
    "models": "list the models, and how to get those that are not here; add or remove one",
    "score": "measure what any system made of texts: what was kept, and what attackers find",
    "tradeoff": "what mechanisms keep of a text and what they hide, over ε, as CSV",
    "new": "write a package with a mechanism of your own, to be changed",
}
