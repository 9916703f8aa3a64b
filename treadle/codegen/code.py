"""The text of one LLVM function under construction: instructions, names, labels, stack slots."""

from __future__ import annotations

from collections.abc import Sequence


class Code:
    """Lines of LLVM text, and the label of the block that is being written."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.slots: list[str] = []
        self.label = ""
        self._names = 0
        self._labels = 0

    def assign(self, text: str) -> str:
        """Append ``%n = text`` and return ``%n``."""
        self._names += 1
        name = f"%v{self._names}"
        self.lines.append(f"{name} = {text}")
        return name

    def name(self) -> str:
        """A new register, to be assigned by the caller."""
        self._names += 1
        return f"%v{self._names}"

    def line(self, text: str) -> None:
        """Append an instruction without result."""
        self.lines.append(text)

    def labels(self, *hints: str) -> list[str]:
        """New labels, one for each hint."""
        self._labels += 1
        return [f"{hint}.{self._labels}" for hint in hints]

    def start(self, label: str) -> None:
        """Begin a basic block."""
        self.lines.append(f"{label}:")
        self.label = label

    def branch(self, label: str) -> None:
        """End the basic block with a jump."""
        self.lines.append(f"br label %{label}")

    def branch_if(self, condition: str, if_true: str, if_false: str, metadata: str = "") -> None:
        """End the basic block with a choice."""
        self.lines.append(f"br i1 {condition}, label %{if_true}, label %{if_false}{metadata}")

    def slot(self, type_: str, alignment: int) -> str:
        """Memory in the function's frame, allocated once, outside of all loops."""
        name = f"%slot{len(self.slots)}"
        self.slots.append(f"{name} = alloca {type_}, align {alignment}")
        return name

    def reserve_phis(self, types: Sequence[str]) -> tuple[list[str], int]:
        """Registers for phis at this place, and a ticket for ``fill_phis``."""
        names = [self.name() for _ in types]
        self.lines.append("")
        return names, len(self.lines) - 1

    def fill_phis(
        self, ticket: int, names: Sequence[str], types: Sequence[str], incoming: Sequence[tuple[str, Sequence[str]]]
    ) -> None:
        """Write reserved phis: ``incoming`` has a label and one value a phi for each way into the block."""
        self.lines[ticket] = "\n".join(
            f"{name} = phi {type_} " + ", ".join(f"[ {values[k]}, %{label} ]" for label, values in incoming)
            for k, (name, type_) in enumerate(zip(names, types))
        )

    def phis(self, types: Sequence[str], incoming: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
        """Phis whose incoming values are all known already."""
        names, ticket = self.reserve_phis(types)
        self.fill_phis(ticket, names, types, incoming)
        return names
