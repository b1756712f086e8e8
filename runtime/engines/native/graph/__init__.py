"""A graph as the native engine sees it: nodes, elementwise regions, ranges of integers, and how tensors lie in memory."""
