"""A plan as plain data: steps and their order, the places of buffers, job lists, and all of these as bytes."""
