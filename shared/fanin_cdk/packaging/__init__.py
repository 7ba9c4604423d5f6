"""What is deployed as zips: the project's code, and the layer of its packages."""
