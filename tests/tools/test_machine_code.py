# SPDX-License-Identifier: MIT
"""machine_code.py of the benches: hot loops and their figures from the texts of compilers and disassemblers."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))
import machine_code  # noqa: E402

TRAITS = {"KT_MMA": 1, "KT_TILE_M": 64, "KT_TILE_N": 64, "KT_TILE_K": 16, "KT_WAVE_M": 2, "KT_WAVE_N": 2}

# The loop begins in its middle, and a block of it lies behind the end of the kernel's main path.
AMD = """
k0_kernel0:                             ; @k0_kernel0
; %bb.0:
\ts_load_dwordx2 s[0:1], s[4:5], 0x0
\ts_branch .LBB0_2
.LBB0_1:                                ;   in Loop: Header=BB0_2 Depth=1
\tscratch_store_dword off, v1, off
\ts_add_i32 s0, s0, 1
.LBB0_2:                                ; =>This Inner Loop Header: Depth=1
\tbuffer_load_dwordx4 v[0:3], v4, s[0:3], 0 offen
\ts_cbranch_execz .LBB0_4
; %bb.3:
\tv_mfma_f32_32x32x8_bf16_1k a[0:15], v[0:1], v[2:3], a[0:15]
\tv_mfma_f32_32x32x8_bf16_1k a[0:15], v[0:1], v[2:3], a[0:15]
\ts_waitcnt lgkmcnt(0)
\ts_cbranch_scc1 .LBB0_1
\ts_endpgm
.LBB0_4:
\tds_read_b128 v[0:3], v5
\ts_branch .LBB0_1
.Lfunc_end0:
\t.amdgpu_metadata
---
amdhsa.kernels:
  - .agpr_count:     16
    .args:
      - .name:           a
    .group_segment_fixed_size: 4096
    .name:           k0_kernel0
    .private_segment_fixed_size: 8
    .sgpr_spill_count: 1
    .vgpr_count:     40
    .vgpr_spill_count: 2
...
"""

CUDA = """
\t\tFunction : k1_kernel0
        /*0000*/                   LDC R1, c[0x0][0x28] ;              /* 0x1 */
        /*0010*/                   LDGSTS.E.BYPASS.128 [R4], desc[UR4][R2.64] ; /* 0x2 */
        /*0020*/              @!P0 BRA 0x50 ;                          /* 0x3 */
        /*0030*/                   HMMA.16816.F32.BF16 R4, R8, R12, R4 ; /* 0x4 */
        /*0040*/                   LDL R5, [R1] ;                      /* 0x5 */
        /*0050*/              @P1 BRA 0x10 ;                           /* 0x6 */
        /*0060*/                   EXIT ;                              /* 0x7 */
        /*0070*/                   BRA 0x70;                           /* 0x8 */
"""
USAGE = " Function k1_kernel0:\n  REG:168 STACK:64 SHARED:0 LOCAL:0 CONSTANT[0]:540\n"


class MachineCode(unittest.TestCase):
    def test_amd(self):
        f = machine_code.figures(machine_code.amd_kernels(AMD)["k0_kernel0"], TRAITS)
        want = {"instr": 10, "branch": 3, "mma": 2, "load": 1, "lds": 1, "wait": 1, "local": 1, "steps": 1,
                "regs": 40, "spills": 3, "scratch": 8, "lds_bytes": 4096, "code": 13}
        self.assertEqual(f, want)

    def test_two_steps_a_turn(self):
        f = machine_code.figures(machine_code.amd_kernels(AMD)["k0_kernel0"], dict(TRAITS, KT_TILE_K=8))
        self.assertEqual((f["steps"], f["instr"], f["mma"], f["regs"]), (2, 5, 1, 40))

    def test_cuda(self):
        traits = dict(TRAITS, KT_TILE_M=32, KT_TILE_N=16, KT_MMA=4)
        f = machine_code.figures(machine_code.cuda_kernels(CUDA, USAGE)["k1_kernel0"], traits)
        self.assertEqual({c: f[c] for c in ("instr", "branch", "mma", "load", "local", "regs", "scratch", "steps")},
                         {"instr": 5, "branch": 2, "mma": 1, "load": 1, "local": 1, "regs": 168, "scratch": 64, "steps": 1})

    def test_no_products(self):
        text = AMD.replace("v_mfma_f32_32x32x8_bf16_1k", "v_mov_b32_e32")
        self.assertIsNone(machine_code.figures(machine_code.amd_kernels(text)["k0_kernel0"], TRAITS))

    def test_multiply_adds(self):
        for word, n in (("v_dual_fmac_f32 v1, v2, v3 :: v_dual_fmac_f32 v4, v5, v6", 2),
                        ("v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[0:1]", 2), ("v_fmac_f32_e32 v1, v2, v3", 1),
                        ("FFMA R1, R2, R3, R1", 1), ("v_add_f32_e32 v1, v2, v3", 0)):
            self.assertEqual(machine_code.plain_product(word), n, word)


if __name__ == "__main__":
    unittest.main()
