"""What to look at next, how far to trust it, and which tags to suggest; arrays in, arrays out."""
