"""Integer-valued linear maps of counts: what is measured, and what one row can change in it."""

from hushtable.transforms.identity import Identity
from hushtable.transforms.product import AxisTransform, Product

# The transforms whose sensitivity this package vouches for.
TRUSTED: tuple[type, ...] = (Identity,)

__all__ = ["TRUSTED", "AxisTransform", "Identity", "Product"]
