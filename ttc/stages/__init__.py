"""One model cut into stages: which op is of which stage, and a module of PyTorch for each, for pipelines, executors and processes alike."""
