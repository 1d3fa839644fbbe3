"""Writers. A file appears whole or not at all, and the old file stays until the new one is whole."""

from __future__ import annotations

from finegold.io.writers.database import check_database_table, write_frame_to_table, write_labels_to_table
from finegold.io.writers.tables import check_table_path, write_frame, write_labels, write_pieces
from finegold.system.files import check_writable, replacing, write_bytes

__all__ = [
    "check_database_table",
    "check_table_path",
    "check_writable",
    "replacing",
    "write_bytes",
    "write_frame",
    "write_frame_to_table",
    "write_labels",
    "write_labels_to_table",
    "write_pieces",
]
