"""Side-by-side measurements: `python -m benchmarks` prints ratios, each beside its target."""
