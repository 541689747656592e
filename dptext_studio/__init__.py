"""The user interface: pages, components, server, figures, lessons, exports and the browser edition."""
