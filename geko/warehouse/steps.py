"""What a transaction is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from geko.errors import WarehouseError

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Append:
    """Add Arrow rows to a table, matched by column name; columns that are absent stay NULL.

    Attributes:
        table: name of the table.
        rows: the rows; texts are cast to UUID, JSON and timestamps as the table says.
    """

    table: str
    rows: pa.Table


@dataclass(frozen=True, slots=True)
class Statement:
    """Run ``sql/queries/<name>.sql``.

    Attributes:
        name: path below ``sql/queries`` without ``.sql``, such as ``"queue/cancel"``.
        params: values of its ``$named`` parameters.
        inputs: Arrow tables that it reads, by the name it uses for them.
    """

    name: str
    params: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, pa.Table] = field(default_factory=dict)


Step = Append | Statement


class Closing(WarehouseError):
    """The owner stops: the request was not executed and may be sent again."""
