"""The derivatives that users write: ``func_grad`` and ``func_replay``, in the form that ``treadle.ad`` reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from treadle.frontend.context import Environment, Hint
from treadle.frontend.guesses import attempts
from treadle.frontend.statements import block
from treadle.frontend.values import HintKey, TupleValue, Typed, Value
from treadle.ir.core import CustomDerivative, Function
from treadle.ir.core import Value as IRValue
from treadle.language.bodies import Body
from treadle.language.errors import TypeMismatchError
from treadle.types.storage import Aggregate, ArrayRef

if TYPE_CHECKING:
    from treadle.frontend.session import FunctionInstance, Session


def custom(
    session: Session, body: Body, arguments: Sequence[Value], instance: FunctionInstance
) -> CustomDerivative | None:
    """What the user wrote in place of the derivative of a function, built for these arguments."""
    if body.custom_gradient is None and body.custom_replay is None:
        return None
    gradient = replay = None
    if body.custom_replay is not None:
        replay = session.instance(body.custom_replay, arguments).function
        _check_replay(body, instance.function, replay)
    if body.custom_gradient is not None:
        gradient = _gradient(session, body, body.custom_gradient, arguments, instance)
    return CustomDerivative(gradient, replay)


def _check_replay(body: Body, function: Function, replay: Function) -> None:
    assert body.custom_replay is not None
    if [r.type for r in replay.results] != [r.type for r in function.results]:
        raise TypeMismatchError(
            f"the replay function {body.custom_replay.signature} must return what {body.signature} returns",
            body.custom_replay.place,
        )


def _gradient(
    session: Session, primal: Body, body: Body, arguments: Sequence[Value], instance: FunctionInstance
) -> Function:
    """The gradient function: parameters, companions of arrays, adjoints of float results → contributions."""
    from treadle.frontend.session import parameter

    outputs = _outputs(instance.result)
    names = body.parameter_names
    count = len(primal.parameter_names)
    if len(names) != count + len(outputs):
        raise TypeMismatchError(
            f"the gradient function\n    {body.signature}\nmust have the parameters of\n    {primal.signature}\n"
            f"and then one adjoint for each of its {len(outputs)} results",
            body.place,
        )

    def attempt(hints: dict[HintKey, Hint]) -> Function:
        function = Function(body.name)
        environment: Environment = {}
        for name, argument in zip(names, arguments):
            environment[name] = session._parameter(function, name, argument)
        inputs = [(name, environment[name]) for name in names[:count]]
        companions = {name: _companions(function, name, value) for name, value in inputs if isinstance(value, Typed)}
        ctx = session.context(body, function, environment, hints, is_kernel=False)
        for name, value in inputs:
            if isinstance(value, Typed):
                adjoints = [companions[name].get(leaf) or ctx.builder.zero(leaf.type) for leaf in value.leaves]
                environment[f"%adjoint {name}"] = Typed(value.type, tuple(adjoints))
        for name, output in zip(names[count:], outputs):
            made = [
                parameter(function, name, output.type, [leaf.type]).leaf
                if _is_float(leaf.type)
                else ctx.builder.zero(leaf.type)
                for leaf in output.leaves
            ]
            environment[name] = Typed(output.type, tuple(made))
        block(ctx, ctx.source.tree.body)
        function.body.yields = [leaf for name, value in inputs for leaf in _contributions(ctx.environment, name, value)]
        return function

    return attempts(attempt)


def _companions(function: Function, name: str, value: Typed) -> dict[IRValue, IRValue]:
    """The gradients of a parameter's arrays are parameters, for which ``adjoint[…]`` stands."""
    arrays = [leaf for leaf in value.leaves if isinstance(leaf.type, ArrayRef)]
    companions = {}
    for leaf in arrays:
        companions[leaf] = function.body.add_parameter(leaf.type, name)
        function.labels.append(name)
    return companions


def _contributions(environment: Environment, name: str, value: Value) -> list[Any]:
    """The leaves of ``adjoint[x]`` that belong to floats."""
    if not isinstance(value, Typed):
        return []
    adjoint = environment[f"%adjoint {name}"]
    assert isinstance(adjoint, Typed)
    return [leaf for leaf in adjoint.leaves if _is_float(leaf.type)]


def _outputs(result: Value) -> list[Typed]:
    if isinstance(result, TupleValue):
        return [output for item in result.items for output in _outputs(item)]
    return [result] if isinstance(result, Typed) else []


def _is_float(type_: Any) -> bool:
    if isinstance(type_, ArrayRef):
        return False
    return bool(type_.scalar.is_float if isinstance(type_, Aggregate) else type_.is_float)
