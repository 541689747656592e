"""Everything a person looks at: views of the pages, components, server, figures, lessons, exports, browser edition."""
