"""What a PyTorch model says to ttc from inside: values to show, losses, stages.  In PyTorch itself a marked model computes the same."""
