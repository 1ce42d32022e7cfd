"""Integer-valued linear maps of counts: what is measured, and what one row can change in it.

Each transform of one axis has a trusted half (the forward map, its scale factors, and how much one
row changes) and an analyst's half (estimates from noisy coefficients, and their exact noise).
"""

from hushtable.kernel.maps.axis import AxisTransform, Row, ScaleClass, add_rows, row_gains
from hushtable.kernel.maps.haar import Haar
from hushtable.kernel.maps.identity import Identity
from hushtable.kernel.maps.nominal import Nominal
from hushtable.kernel.maps.product import Product
from hushtable.kernel.maps.tree import Tree

# The transforms whose sensitivity this package vouches for.
TRUSTED: tuple[type, ...] = (Identity, Haar, Nominal, Tree)

__all__ = [
    "TRUSTED",
    "AxisTransform",
    "Haar",
    "Identity",
    "Nominal",
    "Product",
    "Row",
    "ScaleClass",
    "Tree",
    "add_rows",
    "row_gains",
]
