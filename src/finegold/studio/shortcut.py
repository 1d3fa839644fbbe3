"""An icon that starts the studio in a folder, for people who do not use a terminal every day."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

from finegold.errors import OutputError
from finegold.system.files import write_bytes

NAME = "Finegold Studio"
COMMAND = (sys.executable, "-m", "finegold", "studio")
# The values come as variables of the environment, so that no name of a folder is taken for a command.
LINK = (
    "$link = (New-Object -ComObject WScript.Shell).CreateShortcut($env:FINEGOLD_LINK); "
    "$link.TargetPath = $env:FINEGOLD_PYTHON; $link.Arguments = '-m finegold studio'; "
    "$link.WorkingDirectory = $env:FINEGOLD_FOLDER; $link.Save()"
)


def install_shortcut(folder: Path, home: Path | None = None, platform: str = sys.platform) -> Path:
    """Write a launcher that starts the studio in a folder, and return its path. An earlier one is replaced."""
    home, folder = home or Path.home(), folder.resolve()
    if "\n" in str(folder):
        raise OutputError(f"{folder!s} has a line break in its name; start the studio in another folder")
    try:
        if platform == "win32":
            return _windows(folder, home / "Desktop" / f"{NAME}.lnk")
        return _mac(folder, home / "Applications" / f"{NAME}.app") if platform == "darwin" else _linux(folder, home)
    except (OSError, subprocess.SubprocessError) as error:
        raise OutputError(f"the shortcut cannot be written: {error}") from None


def _linux(folder: Path, home: Path) -> Path:
    """Write a desktop entry for the menu, and one on the desktop if there is such a folder."""
    command = " ".join(f'"{_escaped(part)}"' for part in COMMAND)
    lines = [
        *("[Desktop Entry]", "Type=Application", f"Name={NAME}", "Comment=From votes to labels that you can trust"),
        *(f"Exec={command}", f"Path={folder}", "Terminal=true", "Categories=Science;Office;"),
    ]
    shared = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    entry = shared / "applications" / "finegold-studio.desktop"
    desktop = home / "Desktop"
    for path in [entry, *([desktop / entry.name] if desktop.is_dir() else [])]:
        _write(path, "\n".join([*lines, ""]), is_program=True)
    return entry


def _escaped(part: str) -> str:
    """Escape a part of a command as the Desktop Entry Specification says."""
    for mark in ("\\", '"', "`", "$"):
        part = part.replace(mark, f"\\{mark}")
    return part.replace("\\", "\\\\").replace("%", "%%")


def _mac(folder: Path, app: Path) -> Path:
    """Write an application that opens a terminal window, which ends the studio when it is closed."""
    values = {"CFBundleName": NAME, "CFBundleExecutable": "start", "CFBundleIdentifier": "finegold.studio"}
    keys = "".join(f"<key>{key}</key><string>{value}</string>" for key, value in values.items())
    head = '<?xml version="1.0" encoding="UTF-8"?>\n'
    _write(app / "Contents" / "Info.plist", f'{head}<plist version="1.0"><dict>{keys}</dict></plist>\n')
    place = app / "Contents" / "MacOS"
    _write(place / "start", '#!/bin/sh\nexec open -a Terminal "$(dirname "$0")/studio.command"\n', is_program=True)
    script = f"#!/bin/sh\ncd {shlex.quote(str(folder))} && exec {shlex.join(COMMAND)}\n"
    _write(place / "studio.command", script, is_program=True)
    return app


def _windows(folder: Path, link: Path) -> Path:
    values = {"FINEGOLD_LINK": link, "FINEGOLD_PYTHON": COMMAND[0], "FINEGOLD_FOLDER": folder}
    environment = os.environ | {name: str(value) for name, value in values.items()}
    command = ["powershell", "-NoProfile", "-NonInteractive", "-Command", LINK]
    subprocess.run(command, env=environment, check=True, timeout=60, capture_output=True)
    return link


def _write(path: Path, text: str, *, is_program: bool = False) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, text.encode())
    if is_program:
        path.chmod(0o755)
