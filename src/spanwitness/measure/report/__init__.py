"""A result as one HTML file with pictures, for people: `spanwitness measure ... --format html`.

The page is made from the fixed JSON form alone, so that a stored result gives the same page. It
loads nothing from elsewhere and runs no script; it has a light and a dark theme.
"""

from spanwitness.measure.report.page import render
from spanwitness.measure.report.section import Section, Table

__all__ = ["Section", "Table", "render"]
