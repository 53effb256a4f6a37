"""C functions called by their address, for libraries that are known only when a run begins; several can be in use at once.

`external` finds a function by its name, which is unique in a process. Here the address is a number in the parameters of a
block, so code that calls it can be cached like any other.
"""

import ctypes
from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_NATIVE: dict[Any, Any] = {
    types.int32: ctypes.c_int32,
    types.uint8: ctypes.c_uint8,
    types.intp: ctypes.c_ssize_t,
    types.float64: ctypes.c_double,
}


def by_address(name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
    """Return `call(address, …)` for a C function of these types; `name` is for display; pointers are integers (intp)."""
    if vars(numba.config)["DISABLE_JIT"]:
        prototype = ctypes.CFUNCTYPE(_NATIVE[result], *(_NATIVE[kind] for kind in arguments))
        return lambda address, *given: prototype(int(address))(*given)

    def call(typing: Any, address: Any, *given: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            native = ir.FunctionType(context.get_value_type(result), [context.get_value_type(kind) for kind in arguments])
            function = builder.inttoptr(values[0], native.as_pointer())
            each = zip(cgutils.unpack_tuple(builder, values[1]), signature.args[1], arguments, strict=True)
            return builder.call(function, [context.cast(builder, value, kind, wanted) for value, kind, wanted in each])

        return result(types.intp, types.StarArgTuple(given)), generate

    call.__name__ = name
    found: Callable[..., Any] = intrinsic(call)
    return found
