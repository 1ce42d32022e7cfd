"""Releases: folders that can be handed to anyone, and what opens them."""

from hushtable.release.release import Release, open

__all__ = ["Release", "open"]
