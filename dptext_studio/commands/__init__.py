"""The commands that open the app or write pages, one in each file."""

#: The description of each command, in the order of ``--help``.
COMMANDS = {
    "app": "open the app in a browser",
    "report": "rewrite one text and write a page with its guarantee and settings",
    "gallery": "write the examples with every mechanism, and the lessons, as static pages",
    "pocket": "write a static site that rewrites texts in the visitor's browser",
    "cite": "print BibTeX entries of mechanisms and of this software",
}
