"""PyOpenCL's arrays, kernels, reductions, scans and sorts, each checked with NumPy. Exit status 1
if one is wrong."""

import sys

import numpy
import pyopencl
import pyopencl.algorithm
import pyopencl.array
import pyopencl.elementwise
import pyopencl.reduction
import pyopencl.scan

COUNT = 1 << 19  # 2 MiB an array

context = pyopencl.create_some_context(interactive=False)
queue = pyopencl.CommandQueue(context)
random = numpy.random.default_rng(1)
wrong = 0


def expect(what, got, wanted):
    global wrong
    equal = numpy.array_equal(got, wanted)
    wrong += not equal
    print(f"{what}: {'equal' if equal else 'WRONG'}")


inputs = [random.integers(-1000, 1000, COUNT, dtype=numpy.int32) for _ in range(8)]
arrays = [pyopencl.array.to_device(queue, array) for array in inputs]

sums = [3 * x + y for x, y in zip(arrays, arrays[1:])]
expect("sums", [array.get() for array in sums], [3 * x + y for x, y in zip(inputs, inputs[1:])])

larger = pyopencl.array.if_positive(arrays[0] - arrays[1], arrays[0], arrays[1])
expect("selection", larger.get(), numpy.maximum(inputs[0], inputs[1]))

odd = pyopencl.array.arange(queue, 1, COUNT, 2, dtype=numpy.int32)
expect("gathering", pyopencl.array.take(arrays[2], odd).get(), inputs[2][1::2])

square = pyopencl.elementwise.ElementwiseKernel(context, "int *x, int *y", "y[i] = x[i] * x[i]")
squares = pyopencl.array.empty_like(arrays[3])
square(arrays[3], squares)
expect("own kernel", squares.get(), inputs[3] ** 2)

dot = pyopencl.reduction.ReductionKernel(context, numpy.int64, neutral="0", reduce_expr="a + b",
                                         map_expr="(long) x[i] * y[i]",
                                         arguments="__global int *x, __global int *y")
wide = [array.astype(numpy.int64) for array in inputs]
expect("reductions", [int(dot(x, y).get()) for x, y in zip(arrays, arrays[1:])],
       [x @ y for x, y in zip(wide, wide[1:])])

running = pyopencl.scan.InclusiveScanKernel(context, numpy.int32, "a + b", neutral="0")
running(arrays[4])
expect("scan", arrays[4].get(), numpy.cumsum(inputs[4], dtype=numpy.int32))

found, count, _ = pyopencl.algorithm.copy_if(arrays[5], "ary[i] > 500")
expect("filter", found.get()[:int(count.get())], inputs[5][inputs[5] > 500])

keys = random.integers(0, 1 << 30, COUNT, dtype=numpy.uint32)
sort = pyopencl.algorithm.RadixSort(context, "uint *keys", key_expr="keys[i]",
                                    sort_arg_names=["keys"])
(in_order,), _ = sort(pyopencl.array.to_device(queue, keys))
expect("sort", in_order.get(), numpy.sort(keys))

expect("inputs", [array.get() for array in arrays[:4]], inputs[:4])
sys.exit(wrong != 0)
