"""Scoped timers."""

import treadle as wp

d = {}
with wp.ScopedTimer("t", print=False) as t:
    pass
print(t.elapsed >= 0.0)
with wp.ScopedTimer("t", active=True, print=False, dict=d, use_nvtx=False, synchronize=True):
    pass
print(list(d), len(d["t"]))
with wp.ScopedTimer("t", active=False, detailed=False, color="rapids", cuda_filter=0, report_func=None, skip_tape=True):
    pass


class Sim:
    def __init__(self):
        self.profiler = {}
        self.use_cuda_graph = wp.get_device().is_cuda
        if self.use_cuda_graph:
            with wp.ScopedCapture() as capture:
                self.step()
            self.graph = capture.graph

    def step(self):
        with wp.ScopedTimer("step", dict=self.profiler, active=True, print=False):
            pass


s = Sim()
s.step()
s.step()
print(len(s.profiler["step"]), s.use_cuda_graph)
