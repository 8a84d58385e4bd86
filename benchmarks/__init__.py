"""What reading logs costs, beside other programs that search or load them: scripts that print ratios, no timed tests.

`python -m benchmarks` makes its data with `incidentlab.simulate`, runs the parts of `parts.py` one after the other and
prints their tables; `--output docs/performance.md` keeps them there. Everything that is measured runs in a process of
its own (`launch.py`), so nothing that this one did before counts.
"""
