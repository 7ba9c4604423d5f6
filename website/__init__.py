"""The documentation as a site: what `make docs` adds to the pages of docs/."""
