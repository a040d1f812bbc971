"""One format a file, in and out, behind one interface."""
