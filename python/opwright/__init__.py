"""Opwright is a program; `python -m opwright` runs it."""

import os
import sys
import sysconfig


def find_program():
    """The program that was installed with this package."""
    name = "opwright" + (".exe" if os.name == "nt" else "")
    schemes = [None, "posix_user" if os.name != "nt" else "nt_user"]
    folders = [sysconfig.get_path("scripts", *([scheme] if scheme else [])) for scheme in schemes]
    # `pip install --target DIR` puts it into DIR/bin.
    folders.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bin"))
    folders.append(os.path.dirname(sys.executable))
    for folder in folders:
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return path
    raise FileNotFoundError("the program `opwright` is not installed beside this package: tried " + ", ".join(folders))
