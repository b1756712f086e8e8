"""The plan that runs: threads, the memory and addresses of one run, and the values for steps in Python."""
