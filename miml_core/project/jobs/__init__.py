"""Work in the background: the queue, the worker process and what each kind of job does."""
