"""From a graph to a plan: rewriting and choices before nodes are lowered, and the lowering itself."""
