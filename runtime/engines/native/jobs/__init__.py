"""What makes jobs of nodes; a job is the work of one kernel in a run."""
