"""Which segments are alike: the nearest ones, a map of all, and clusters that are like no class."""
