"""What pages show, by topic; modules that several topics use lie beside them."""
