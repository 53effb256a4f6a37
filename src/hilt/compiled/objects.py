"""Object code of a compiled function, for a library that runs without Python and hilt.

It is made from the same intermediate code as the function that runs here, for the baseline processor of this family, so that
it also works on other machines. No operations are contracted or reordered, so the results are bit-identical.
"""

from typing import Any

import numba
from llvmlite import binding
from numba.core.extending import _Intrinsic
from numba.core.types import ExternalFunction

from hilt.compiled import inner, progress


def foreign(function: Any) -> set[str]:
    """Names of the C functions that a compiled function calls, directly or indirectly."""
    found = (value for each in progress.reachable([function]) for value in progress._values(each.py_func))
    names: dict[Any, str] = {ExternalFunction: "symbol", _Intrinsic: "_name"}  # by name (external), by address (pointers.py)
    return {getattr(value, names[type(value)]) for value in found if type(value) in names}


def object_code(function: Any, signature: Any, name: str) -> bytes:
    """Machine code of a function under this name, to be linked only with the C maths library.

    It has Numba's calling convention: a place for the result, one for an exception, then the arguments; it returns a status.
    """
    njit: Any = numba.njit
    made = njit(
        signature,
        error_model="numpy",
        forceinline=True,
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
        pipeline_class=inner.TopCompiler,
    )(function)
    found = made.overloads[signature.args]
    module = found.library._final_module.clone()
    entry = module.get_function(found.fndesc.llvm_func_name)
    entry.name, entry.visibility = name, "hidden"  # visible inside the library, not to programs that load it
    for each in (*module.functions, *module.global_variables):
        if not each.is_declaration and each.name != name:
            each.linkage = "internal"
    machine = _plain_machine()
    passes = binding.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()  # removes what only a Python caller needs
    passes.run(module, binding.create_pass_builder(machine, binding.PipelineTuningOptions(speed_level=2)))
    code: bytes = machine.emit_object(module)
    return code


def _plain_machine() -> Any:
    triple = binding.get_process_triple()
    processor = "x86-64" if triple.startswith("x86_64") else "generic"
    target = binding.Target.from_triple(triple)
    return target.create_target_machine(cpu=processor, features="", opt=3, reloc="pic", codemodel="default")
