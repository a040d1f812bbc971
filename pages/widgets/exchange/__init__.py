"""The forms of imports, exports, merges and packing."""
