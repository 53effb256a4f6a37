"""Functions called only by compiled code are not translated to machine code separately.

Numba optimises every function and translates it to machine code, and then links it into each caller, where all of it is
optimised and translated again, level by level. Of a tick's few hundred functions only one is called from Python. The others
are kept here as intermediate code, and the one at the top links each of them once: the same code, in half the time.
"""

from collections.abc import Iterator
from typing import Any

from llvmlite import binding
from numba.core import caching
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler import CompileResult as _CompileResult
from numba.core.environment import lookup_environment

CompileResult: Any = _CompileResult  # its fields are not in its type
_ENVIRONMENT = "_ZN08NumbaEnv"  # prefix of the mangled names of a function's environment


class _NoEngine:
    """Stands in for the compiler's back end where there is no machine code."""

    @staticmethod
    def set_env(name: str, environment: Any) -> None:
        """Do nothing: the function at the top sets the environments of all functions that it links."""


class InnerLibrary(JITCodeLibrary):
    """Intermediate code of one function; its callees are remembered, not copied."""

    codegen = _NoEngine()
    apart = False  # True: not inlined, because that would cost seconds of compiling

    def finalize(self) -> None:
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == binding.Linkage.external:
                function.linkage = "linkonce_odr"  # may be linked twice, and is dropped when it is inlined everywhere
                if self.apart:
                    function.add_function_attribute("noinline")
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        return 0  # there is none

    @property
    def own(self) -> Any:
        self._ensure_finalized()
        return self._final_module

    def _get_module_for_linking(self) -> Any:
        """One module with all callees, for a caller that links only this library."""
        if self._shared_module is None:
            whole = self.own.clone()
            for each in callees(self):
                whole.link_in(_module(each), preserve=True)
            self._shared_module = whole
        return self._shared_module

    def serialize_using_object_code(self) -> tuple[str, bytes]:
        return self.name, self._get_module_for_linking().as_bitcode()

    @classmethod
    def unserialize(cls, codegen: Any, data: tuple[str, bytes]) -> "InnerLibrary":
        library = cls(codegen, data[0])
        library._final_module = binding.parse_bitcode(data[1])
        library.finalize()
        return library


def _module(library: Any) -> Any:
    return library.own if isinstance(library, InnerLibrary) else library._get_module_for_linking()


def callees(library: Any) -> Iterator[Any]:
    """Every library that a library needs, each once."""
    seen, waiting = {library}, list(library._linking_libraries)
    while waiting:
        each = waiting.pop(0)
        if each not in seen:
            seen.add(each)
            yield each
            if isinstance(each, InnerLibrary):
                waiting += each._linking_libraries


class TopLibrary(JITCodeLibrary):
    """Machine code of a function that Python calls, including all its callees."""

    def finalize(self) -> None:
        for each in callees(self):
            self._reload_init.update(each._reload_init)
            self._final_module.link_in(_module(each), preserve=True)
        self._linking_libraries = []
        super().finalize()

    def _finalize_specific(self) -> None:
        super()._finalize_specific()
        for each in self._final_module.global_variables:
            environment = lookup_environment(each.name) if each.name.startswith(_ENVIRONMENT) else None
            if environment is not None:
                self.codegen.set_env(each.name, environment)


class _Into(Compiler):
    """Numba's compiler, with a function compiled into one of our libraries."""

    kind: type[JITCodeLibrary]

    def __init__(self, typing: Any, target: Any, library: Any, *others: Any) -> None:
        super().__init__(typing, target, library, *others)
        if self.state.library is None:
            self.state.library = self.kind(target.codegen(), self.kind.__name__)
            self.state.library.enable_object_caching()


class InnerCompiler(_Into):
    kind = InnerLibrary

    def __init__(self, typing: Any, target: Any, library: Any, *others: Any) -> None:
        super().__init__(typing, target, library, *others)
        self.state.library.apart = not self.state.flags.forceinline


class TopCompiler(_Into):
    kind = TopLibrary


class InnerResults(caching.CompileResultCacheImpl):
    """Keeps intermediate code."""

    def rebuild(self, target: Any, payload: Any) -> Any:
        data, descriptor, environment, signature, objectmode, lifted, types, reload_init, environments = payload
        for each in reload_init:
            each()
        library = InnerLibrary.unserialize(target.codegen(), data)
        return CompileResult(
            target_context=target,
            typing_context=target.typing_context,
            library=library,
            environment=environment,
            entry_point=target.get_executable(library, descriptor, environment),
            fndesc=descriptor,
            type_annotation=types,
            signature=signature,
            objectmode=objectmode,
            lifted=lifted,
            typing_error=None,
            call_helper=None,
            metadata=None,
            reload_init=reload_init,
            referenced_envs=environments,
        )
