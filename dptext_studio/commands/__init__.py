"""The commands that open or write what people look at, one a file."""

#: What each does, in the order in which ``--help`` lists them.
COMMANDS = {
    "app": "open the app in a browser",
    "report": "rewrite one text, and write a page with its promise and its setting",
    "gallery": "write the examples under every mechanism, and the lessons, as pages that need no server",
    "pocket": "write a site that rewrites texts in its visitor's browser, for any web server",
    "cite": "print BibTeX entries of mechanisms and of this software",
}
