"""What pages, routes, jobs and the command line read from a project."""
