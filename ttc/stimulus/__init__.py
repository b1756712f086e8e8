"""What the host pushes into the queues of Buda netlists: given values, and drawn ones."""
