"""An empty database file with the whole schema, kept in the user's cache: a new warehouse is a copy of it.

Binding the views takes DuckDB most of the time of making a warehouse. The copy is made once for every text of the
schema and every DuckDB. It holds nothing of the user's and can be deleted at any time; without a cache folder that
belongs to the user a warehouse is made from the SQL files.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from geko import __version__
from geko.errors import GekoError
from geko.log import logger
from geko.warehouse.engine import STORAGE_VERSION, Connection, configure, quoted
from geko.warehouse.place import make_private_folder
from geko.warehouse.resources import sql_files
from geko.warehouse.schema import migrate, objects_hash

#: Templates of other versions that are kept.
_KEPT = 8


def new_file(path: Path) -> bool:
    """Make a database file with the schema; one that somebody else makes meanwhile is left alone.

    Args:
        path: real path of the file, in a folder that is there.

    Returns:
        Whether the file was copied from the template, which was made at another time. False: nothing was made.
    """
    # A log without its file is DuckDB's to clear away: with a copied file it would be taken for that file's.
    if Path(f"{path}.wal").exists():
        return False
    try:
        content = _template()
        copy = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
        try:
            with copy.open("xb") as target:
                target.write(content)
                target.flush()
                os.fsync(target.fileno())
            os.link(copy, path)  # fails where a file has come into being; replacing it would lose its rows
        finally:
            copy.unlink(missing_ok=True)
    except (OSError, GekoError, duckdb.Error) as exc:
        logger.debug("%s is not copied from a template: %s", path, exc)
        return False
    return True


def make_empty(path: Path) -> None:
    """Make a database file without tables, in a format that duckdb 1.5 reads.

    Raises:
        duckdb.Error: if it can't be made.
    """
    with duckdb.connect(":memory:") as maker:
        maker.execute(f"ATTACH {quoted(str(path))} AS made (STORAGE_VERSION '{STORAGE_VERSION}')")


def stamp(con: Connection, now: datetime) -> None:
    """Give the migrations of a copied file the time at which it was made."""
    con.execute("UPDATE schema_migration SET applied_at = $now", {"now": now})


def _template() -> bytes:
    """Content of the template for this schema and DuckDB, which is made if it is not there."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "geko" / "empty"
    texts = [f"{file.name}\n{file.sha256}" for file in sql_files("migrations")]
    key = _digest(
        "\n".join((__version__, duckdb.__version__, STORAGE_VERSION, objects_hash(), *texts)).encode()
    )
    for path in folder.glob(f"{key}-*.duckdb"):
        content = path.read_bytes()
        if path.stem == f"{key}-{_digest(content)}":
            return content
        logger.debug("%s is damaged; it is made again", path)
        path.unlink(missing_ok=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    make_private_folder(folder)
    with tempfile.TemporaryDirectory(prefix=".making-", dir=folder) as name:
        made = Path(name) / "empty.duckdb"
        make_empty(made)
        with duckdb.connect(str(made)) as con:
            configure(con)
            migrate(con, datetime.now(UTC), "the template of a warehouse")
        content = made.read_bytes()
        made.replace(folder / f"{key}-{_digest(content)}.duckdb")
    _prune(folder)
    return content


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:24]


def _prune(folder: Path) -> None:
    made = sorted(folder.glob("*.duckdb"), key=lambda path: path.stat().st_mtime)
    for path in made[:-_KEPT]:
        path.unlink(missing_ok=True)
