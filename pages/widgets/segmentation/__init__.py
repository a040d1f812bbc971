"""Settings of segments and features, and applying them."""
