"""Training loops over compiled programs: data, schedules, checkpoints, logs, and the executor that `ttc.training` gives."""
