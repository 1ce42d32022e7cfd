"""A first draft of a schema, made by looking at the data, and therefore not yet a public one.

Minima, maxima and lists of values taken from the data can reveal someone; a draft is marked as not
reviewed, and nothing is published by it until a person has replaced them by what is known publicly.
"""

from hushtable.drafting.draft import draft_schema
from hushtable.drafting.written import write_draft

__all__ = ["draft_schema", "write_draft"]
