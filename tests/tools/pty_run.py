#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run a command on a pseudo-terminal and print all that it writes there.

usage: pty_run.py COLUMNS[xROWS] COMMAND...     ends with the command's exit status; 24 rows
"""
import fcntl
import os
import pty
import struct
import sys
import termios


def main():
    columns, _, rows = sys.argv[1].partition("x")
    command = sys.argv[2:]
    pid, fd = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", int(rows or 24), int(columns), 0, 0))
        os.execvp(command[0], command)
    out = sys.stdout.buffer
    while True:
        try:
            part = os.read(fd, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        out.write(part)
        out.flush()  # who reads it may wait for what it says
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


main()
