"""Measurements of Treadle, each once: ``python -m benchmarks`` prints a table and writes JSON."""
