"""Code generation: from IR to machine code. One shared emitter, one file a target."""

from treadle.codegen.arguments import ArgumentLayout as ArgumentLayout
from treadle.codegen.kernel import Emitted as Emitted
from treadle.codegen.kernel import emit_kernel as emit_kernel
from treadle.codegen.module import Message as Message
from treadle.codegen.options import Options as Options
