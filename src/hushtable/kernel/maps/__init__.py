"""Integer-valued linear maps of counts: what is measured, and what one row can change in it.

How noisy coefficients are read is the business of `families.linear`.
"""

from hushtable.kernel.maps.axis import AxisTransform, ScaleClass
from hushtable.kernel.maps.haar import Haar
from hushtable.kernel.maps.identity import Identity
from hushtable.kernel.maps.nominal import Nominal
from hushtable.kernel.maps.product import Product
from hushtable.kernel.maps.tents import Tents
from hushtable.kernel.maps.tree import Tree

# The transforms whose sensitivity this package vouches for.
TRUSTED: tuple[type, ...] = (Identity, Haar, Nominal, Tree, Tents)

__all__ = [
    "TRUSTED",
    "AxisTransform",
    "Haar",
    "Identity",
    "Nominal",
    "Product",
    "ScaleClass",
    "Tents",
    "Tree",
]
