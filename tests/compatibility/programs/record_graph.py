"""Recorded commands."""

import treadle as wp


@wp.kernel
def inc(a: wp.array(dtype=float), v: float):
    a[wp.tid()] += v


a = wp.zeros(3, dtype=float)

e = None
with wp.ScopedDevice("cpu"):
    wp.launch(inc, 3, [a, 1.0])
cmd = wp.launch(inc, dim=3, inputs=[a, 2.0], record_cmd=True)

cmd.launch()
print(a)
cmd.set_params([a, 3.0])
cmd.launch()
print(a)
cmd.set_param_at_index(1, 10.0)
cmd.launch()
print(a)
