"""Measures pgcolumnar against other storage; see bench/README.md."""
