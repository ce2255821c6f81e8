# SPDX-License-Identifier: MIT
# Spack recipe: spack repo create REPO; copy this file to REPO/packages/ksweep/package.py. Not tried with
# Spack here: written from its documentation, checked by Python's parser only.
from spack.package import *


class Ksweep(CMakePackage):
    """Measures GPU and CPU kernel instances at cluster scale, verified and journalled."""

    # url and git: where your copy of ksweep is; there is no public release yet
    version("0.1.0")

    variant("tests", default=False, description="build the tests with the default target")

    depends_on("c", type="build")
    depends_on("cmake@3.21:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("openmpi@4.1:5")
    depends_on("hdf5@1.10: +hl ~mpi")
    depends_on("hwloc@2:")
    depends_on("cjson")
    depends_on("zlib-api")
    depends_on("zstd")
    depends_on("xgboost@1.7")
    depends_on("cmocka", when="+tests", type="build")

    generator("ninja")

    def cmake_args(self):
        return [
            self.define_from_variant("KSWEEP_TESTS", "tests"),
            self.define("BUILD_TESTING", "+tests" in self.spec),
            self.define("KSWEEP_WERROR", False),
        ]
