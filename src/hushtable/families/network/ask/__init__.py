"""The mechanism of this family: PrivBayes."""

from hushtable.families.network.ask.privbayes import PrivBayes

MECHANISMS = (PrivBayes(),)
