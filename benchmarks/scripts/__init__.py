"""Programs that measure one thing in a process of their own and print a number."""
