"""Reading a text and rebuilding it: tokens, unchanged parts, languages and their word lists."""
