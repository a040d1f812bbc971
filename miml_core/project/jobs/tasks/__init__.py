"""The tasks of jobs, one module per kind: each has ``run(context) -> result``, called in a worker process."""
