"""Reads JSON files of a run folder; every complaint names the file and what is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from model import plain_files
from model.errors import ParseError
from reports.store.json_document import Doc


def read_json(folder: Path, name: str, parse_float: Callable[[str], Any] = float) -> Doc:
    """Return a file of a folder.

    Raises:
        ParseError: it is missing, or no JSON that could be written again.
    """
    path = folder / name
    file = str(path)

    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant} is not a JSON number")

    try:
        text = plain_files.read_text(path)
        value = json.loads(text, parse_float=parse_float, parse_constant=refuse)
        # Half of a surrogate pair is legal JSON but no text: nothing could be written with it.
        json.dumps(value, ensure_ascii=False, default=str).encode()
        return Doc(value, file)
    except FileNotFoundError:
        raise ParseError(
            "file is missing", where=file, hint="is this a run folder of this version?"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ParseError("file cannot be read", where=file, got=str(error)) from error
    except (ValueError, RecursionError) as error:
        raise ParseError("file is not JSON", where=file, got=str(error)) from error
