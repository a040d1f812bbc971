"""The list of bags, and what is done with them."""
