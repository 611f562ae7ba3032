import os
import subprocess
import sys

from opwright import find_program

if __name__ == "__main__":
    program = find_program()
    if os.name == "nt":
        sys.exit(subprocess.run([program, *sys.argv[1:]]).returncode)
    os.execv(program, [program, *sys.argv[1:]])
