"""The mechanisms of this family: basic, Privelet and its kin, trees."""

from hushtable.families.linear.ask.basic import Basic
from hushtable.families.linear.ask.hierarchical import Hierarchical
from hushtable.families.linear.ask.mixed import Mixed
from hushtable.families.linear.ask.privelet import Privelet, PriveletPlus
from hushtable.families.linear.ask.privelet_star import PriveletStar

MECHANISMS = (Basic(), Privelet(), PriveletPlus(), PriveletStar(), Hierarchical(), Mixed())
