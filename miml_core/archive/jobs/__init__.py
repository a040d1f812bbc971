"""The jobs of a project that work on archives: what each of them does in its worker process."""
