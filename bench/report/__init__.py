"""Draws the JSON of bench/harness as Markdown and SVG; see bench/README.md."""
