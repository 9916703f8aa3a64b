"""What kernels print."""

import treadle as wp


@wp.kernel
def k():
    i = wp.tid()
    if i == 0:
        print(i)
        print(2.5)
        print("hello")
        print(wp.vec3(1.0, 2.0, 3.0))
        wp.printf("%d %.2f\n", i, 1.5)
        print(wp.mat22(1.0, 2.0, 3.0, 4.0))
        print(True)
        print(wp.quat(0.0, 0.0, 0.0, 1.0))
        print(wp.uint8(7))
        print(wp.float64(1.25))
        print(wp.int64(123456789012))


wp.launch(k, 2)
wp.synchronize()
