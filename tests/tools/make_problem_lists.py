#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The problem lists of jobs/problems, derived from the definitions of the networks.

    make_problem_lists.py DIR           write the lists into DIR
    make_problem_lists.py --check DIR   compare the lists in DIR with what would be written

The networks are walked in the order in which torchvision's modules run, one image of 224 x 224.
Convolutions of the same geometry become one row: the name is that of the first, count how many.
The final fully connected layer is the last row, as a 1x1 convolution of one pixel.
Sources: He et al. 2015 (ResNet; v1.5 has the stride in the 3x3), Xie et al. 2016 (ResNeXt),
Sandler et al. 2018 (MobileNetV2), module names as in torchvision.models.
"""

import pathlib
import sys

HEADER = (
    "operator,direction,dtype,layout,ndim,n,g,c_total,k_total,di,hi,wi,z,y,x,"
    "stride_d,stride_h,stride_w,dilation_d,dilation_h,dilation_w,"
    "pad_d_lo,pad_h_lo,pad_w_lo,pad_d_hi,pad_h_hi,pad_w_hi,count,name"
)


class Network:
    """Collects layers; `size` is the current height and width."""

    def __init__(self, size):
        self.size = size
        self.rows = {}  # geometry -> [count, name], in order of first appearance

    def conv(self, name, c_in, c_out, filter_size=1, stride=1, groups=1, advance=True):
        """A square convolution with torchvision's padding; advance: its output goes on."""
        pad = (filter_size - 1) // 2
        geometry = (groups, c_in, c_out, self.size, filter_size, stride, pad)
        self.rows.setdefault(geometry, [0, name])[0] += 1
        if advance:
            self.size = (self.size + 2 * pad - filter_size) // stride + 1

    def pool(self, filter_size, stride, pad):
        self.size = (self.size + 2 * pad - filter_size) // stride + 1

    def fully_connected(self, name, c_in, c_out):
        self.size = 1
        self.conv(name, c_in, c_out)

    def csv(self):
        lines = [HEADER]
        for (g, c, k, size, f, stride, pad), (count, name) in self.rows.items():
            fields = [2, 1, g, c, k, 1, size, size, 1, f, f, 1, stride, stride, 1, 1, 1]
            fields += [0, pad, pad, 0, pad, pad, count, name]
            lines.append("grouped_conv,forward,fp32,nhwgc," + ",".join(map(str, fields)))
        return "\n".join(lines) + "\n"


def resnet50(groups=1, width_per_group=64):
    net = Network(224)
    net.conv("conv1", 3, 64, 7, 2)
    net.pool(3, 2, 1)
    c_in = 64
    for stage, n_blocks in enumerate([3, 4, 6, 3]):
        planes = 64 << stage
        width = planes * width_per_group // 64 * groups
        c_out = 4 * planes
        for block in range(n_blocks):
            name = f"layer{stage + 1}.{block}"
            stride = 2 if stage > 0 and block == 0 else 1
            size_in = net.size
            net.conv(f"{name}.conv1", c_in, width)
            net.conv(f"{name}.conv2", width, width, 3, stride, groups)
            net.conv(f"{name}.conv3", width, c_out)
            if block == 0:
                size_out, net.size = net.size, size_in
                net.conv(f"{name}.downsample.0", c_in, c_out, 1, stride, advance=False)
                net.size = size_out
            c_in = c_out
    net.fully_connected("fc", c_in, 1000)
    return net


def mobilenet_v2():
    net = Network(224)
    net.conv("features.0.0", 3, 32, 3, 2)
    c_in, index = 32, 1
    # Table 2 of the paper: expansion, channels, repeats, stride of the first.
    table = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
             (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]
    for expansion, c_out, repeats, first_stride in table:
        for repeat in range(repeats):
            name = f"features.{index}.conv"
            hidden = c_in * expansion
            at = 0
            if expansion != 1:
                net.conv(f"{name}.0.0", c_in, hidden)
                at = 1
            stride = first_stride if repeat == 0 else 1
            net.conv(f"{name}.{at}.0", hidden, hidden, 3, stride, hidden)
            net.conv(f"{name}.{at + 1}", hidden, c_out)
            c_in, index = c_out, index + 1
    net.conv(f"features.{index}.0", c_in, 1280)
    net.fully_connected("classifier.1", 1280, 1000)
    return net


LISTS = {
    "resnet50.csv": resnet50,
    "resnext50_32x4d.csv": lambda: resnet50(groups=32, width_per_group=4),
    "mobilenet_v2.csv": mobilenet_v2,
}


def main(argv):
    check = argv[1:2] == ["--check"]
    operands = argv[2:] if check else argv[1:]
    if len(operands) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    n_different = 0
    for name, network in LISTS.items():
        path = pathlib.Path(operands[0]) / name
        text = network().csv()
        if not check:
            path.write_text(text)
        elif not path.is_file() or path.read_text() != text:
            print(f"{path}: not the list that the network gives", file=sys.stderr)
            n_different += 1
    return 1 if n_different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
