"""What jobs do, one kind a file: each has ``run(context) -> result``, run inside a worker process."""
