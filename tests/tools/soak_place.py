# SPDX-License-Identifier: MIT
"""Where a soaked sweep writes: a small file system of its own that can be filled and frozen."""
import os
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MIB = 96


def quiet(*cmd):
    return subprocess.run(cmd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


class Place:
    """kind: "ext4" loop-mounted (frozen by fsfreeze), "tmpfs" (frozen by the shim), "plain" (cannot
    be filled; frozen by the shim)."""

    def __init__(self, base):
        self.path = os.path.join(base, "disk")
        self.gate = os.path.join(base, "stall")
        self.shim = None
        os.makedirs(self.path)
        image = os.path.join(base, "disk.img")
        with open(image, "wb") as f:
            f.truncate(MIB << 20)
        self.kind = "plain"
        if quiet("mkfs.ext4", "-q", "-m", "0", image) and \
                quiet("mount", "-o", "loop", image, self.path):
            self.kind = "ext4"
        elif quiet("mount", "-t", "tmpfs", "-o", f"size={MIB}m", "tmpfs", self.path):
            self.kind = "tmpfs"
        if self.kind != "ext4":
            self.shim = os.path.join(base, "odd_fs.so")
            subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", self.shim,
                            os.path.join(HERE, "..", "fake", "odd_fs.c"), "-ldl"], check=True)

    def environment(self):
        if not self.shim:
            return {}
        return {"LD_PRELOAD": self.shim, "ODD_FS_DIR": self.path, "ODD_FS_STALL": self.gate}

    def freeze(self, seconds):
        if self.shim:
            open(self.gate, "w").close()
        elif not quiet("fsfreeze", "-f", self.path):
            return False
        try:
            time.sleep(seconds)
        finally:
            if self.shim:
                os.unlink(self.gate)
            else:
                quiet("fsfreeze", "-u", self.path)
        return True

    def fill(self):
        """Not a byte is left. False where that cannot be done."""
        if self.kind == "plain":
            return False
        with open(self.ballast(), "wb", buffering=0) as f:
            for piece in (1 << 20, 4096, 1):
                try:
                    while f.write(b"x" * piece):
                        pass
                except OSError:
                    pass
        return True

    def ballast(self):
        return os.path.join(self.path, "ballast")

    def free(self):
        os.unlink(self.ballast())

    def close(self):
        if self.kind == "ext4":
            quiet("fsfreeze", "-u", self.path)
        if self.kind != "plain":
            for _ in range(50):
                if quiet("umount", self.path):
                    return
                time.sleep(0.1)
            quiet("umount", "-l", self.path)
