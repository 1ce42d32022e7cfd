"""Files elsewhere than on this machine: which object an address means, and how it is read."""
