"""The host as a target: LLVM's machine for the processor at hand, and compilation of LLVM text to an object file."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cache
from typing import Any

import llvmlite.binding as llvm
from llvmlite.binding.newpassmanagers import NewPassManager

from treadle.codegen import vector_math
from treadle.codegen.target import MathFunction, Target
from treadle.types.scalars import ScalarMeta


@dataclass(frozen=True)
class Host:
    """The name of the host's processor and its features, as LLVM writes them."""

    cpu: str
    features: str


@cache
def host() -> Host:
    """The processor at hand. Starts LLVM's code generator on the first call."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return Host(llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())


def create_machine() -> llvm.TargetMachine:
    """An LLVM target machine for the host. Not to be used by two threads at once."""
    processor = host()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=processor.cpu, features=processor.features, opt=3, jit=True, reloc="pic", codemodel="small"
    )


class _PerThread(threading.local):
    """A machine for each thread that compiles, so that several kernels can be compiled at once."""

    machine: Any = None


_per_thread = _PerThread()


def _machine() -> llvm.TargetMachine:
    if _per_thread.machine is None:
        _per_thread.machine = create_machine()
    return _per_thread.machine


@cache
def target() -> Target:
    """The host for the emitter."""
    machine, features = _machine(), host().features

    def math(name: str, scalar: ScalarMeta, arguments: int) -> MathFunction:
        return vector_math.math_function(name, scalar, arguments, features)

    attributes = "nounwind"
    if "+avx512f" in features.split(","):
        attributes += ' "prefer-vector-width"="512"'
    return Target(machine.triple, str(machine.target_data), math, function_attributes=attributes)


# The passes whose time grows faster than the text are left out of large modules, where they would
# take seconds: in lines of LLVM text, up to which size a module gets
_SLP = 150  # vectors made of neighbouring scalars,
_LOOPS = 3000  # vectorised loops,
_STANDARD = 12000  # the standard passes, and not just those below.
_LINEAR_PASSES = (
    "sroa",
    "simplify_cfg",
    "instruction_combine",
    "loop_rotate",
    "new_gvn",
    "dead_store_elimination",
    "instruction_combine",
    "simplify_cfg",
    "aggressive_dce",
)


def optimise(text: str, *, verify: bool = False) -> llvm.ModuleRef:
    """Parse LLVM text and optimise it for the host; the larger it is, the less thoroughly.

    Raises:
        RuntimeError: the text does not parse, or (with ``verify``) breaks a rule of LLVM.
    """
    module = llvm.parse_assembly(text, context=llvm.create_context())
    if verify:
        module.verify()
    lines = text.count("\n")
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    tuning.loop_vectorization = lines <= _LOOPS
    tuning.slp_vectorization = lines <= _SLP
    builder = llvm.create_pass_builder(_machine(), tuning)
    if lines <= _STANDARD:
        manager = builder.getModulePassManager()
    else:
        manager = llvm.create_new_module_pass_manager()
        for name in _LINEAR_PASSES:
            getattr(manager, f"add_{name}_pass")()
    manager.run(module, builder)
    # llvmlite does not free a pass manager by itself: the method that does so is hidden by an empty one of that name.
    NewPassManager._dispose(manager)
    manager.detach()
    return module


def compile_text(text: str, *, verify: bool = False) -> bytes:
    """LLVM text as an object file for the host. Safe to call from several threads.

    Raises:
        RuntimeError: the text is no valid LLVM module.
    """
    return bytes(_machine().emit_object(optimise(text, verify=verify)))
