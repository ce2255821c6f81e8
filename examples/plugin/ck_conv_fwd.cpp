/* SPDX-License-Identifier: MIT */
/* ck_conv_fwd.cpp - how an instance of Composable Kernel becomes a plug-in's entry: 2-D grouped
 * convolution forward, fp16, NHWGC. Entry i is the library's i-th instance.
 *
 * Built where CK's headers and library are found:
 *   hipcc -O2 -fPIC -shared -I../.. ck_conv_fwd.cpp -o ck_conv_fwd.so \
 *       -lcomposablekernels_conv_operations   (older releases: -ldevice_conv_operations)
 * Which traits an instance has stands in GetTypeString(); put them into the family file as
 * attributes of its number, and they become columns of the table. */
#include "kernels/abi.h"

#include <ck/ck.hpp>
#include <ck/library/tensor_operation_instance/gpu/grouped_convolution_forward.hpp>
#include <ck/tensor_operation/gpu/device/tensor_layout.hpp>
#include <ck/tensor_operation/gpu/element/element_wise_operation.hpp>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace
{

using Layout = ck::tensor_layout::convolution::NHWGC;
using Weights = ck::tensor_layout::convolution::GKYXC;
using Output = ck::tensor_layout::convolution::NHWGK;
using Same = ck::tensor_operation::element_wise::PassThrough;
using Op = ck::tensor_operation::device::DeviceGroupedConvFwdMultipleABD<
    2, Layout, Weights, ck::Tuple<>, Output, ck::half_t, ck::half_t, ck::Tuple<>, ck::half_t, Same,
    Same, Same>;
using Argument = std::unique_ptr<ck::tensor_operation::device::BaseArgument>;
using index = ck::index_t;

constexpr std::size_t max_instances = 128;

std::vector<std::unique_ptr<Op>> &ops()
{
    static auto all =
        ck::tensor_operation::device::instance::DeviceOperationInstanceFactory<Op>::GetInstances();
    return all;
}

/* CK wants lengths and strides as G N C H W whatever the order in memory. */
Argument argument(Op &op, const ks_abi_problem *p, const ks_abi_buffers *buf)
{
    const auto i = [](std::int64_t v) { return static_cast<index>(v); };
    const index g = i(p->g), n = i(p->n), c = i(p->c), k = i(p->k);
    const index hi = i(p->in[1]), wi = i(p->in[2]), y = i(p->filter[1]), x = i(p->filter[2]);
    const index ho = i(p->out[1]), wo = i(p->out[2]);
    const std::array<index, 5> in{ g, n, c, hi, wi };
    const std::array<index, 5> in_strides{ c, hi * wi * g * c, 1, wi * g * c, g * c };
    const std::array<index, 5> wei{ g, k, c, y, x };
    const std::array<index, 5> wei_strides{ k * y * x * c, y * x * c, 1, x * c, c };
    const std::array<index, 5> out{ g, n, k, ho, wo };
    const std::array<index, 5> out_strides{ k, ho * wo * g * k, 1, wo * g * k, g * k };
    const std::array<index, 2> strides{ i(p->stride[1]), i(p->stride[2]) };
    const std::array<index, 2> dilations{ i(p->dilation[1]), i(p->dilation[2]) };
    const std::array<index, 2> left{ i(p->pad_lo[1]), i(p->pad_lo[2]) };
    const std::array<index, 2> right{ i(p->pad_hi[1]), i(p->pad_hi[2]) };

    return op.MakeArgumentPointer(buf->a, buf->b, {}, buf->c, in, in_strides, wei, wei_strides, {},
                                  {}, out, out_strides, strides, dilations, left, right, Same{},
                                  Same{}, Same{});
}

const char *unsupported(Op &op, const ks_abi_problem *p)
{
    if (p->op != KS_ABI_GROUPED_CONV || p->direction != KS_ABI_FORWARD)
        return "forward convolutions only";
    if (p->dtype != KS_ABI_FP16 || p->layout != KS_ABI_NHWGC)
        return "fp16 nhwgc only";
    if (p->in[0] != 1 || p->filter[0] != 1)
        return "two dimensions only";
    const ks_abi_buffers none{};
    return op.IsSupportedArgument(argument(op, p, &none).get()) ? nullptr
                                                                : "IsSupportedArgument() says no";
}

/* time_kernel is false: the harness times, with its own events on its own stream. */
int run(Op &op, const ks_abi_problem *p, const ks_abi_buffers *buf)
{
    auto arg = argument(op, p, buf);

    if (buf->workspace)
        op.SetWorkSpacePointer(arg.get(), buf->workspace);
    op.MakeInvokerPointer()->Run(arg.get(),
                                 StreamConfig{ static_cast<hipStream_t>(buf->stream), false });
    return static_cast<int>(hipGetLastError());
}

/* The table wants plain functions: one of each for every number. */
template <std::size_t I> const char *unsupported_at(const ks_abi_problem *p)
{
    return unsupported(*ops()[I], p);
}
template <std::size_t I> std::int64_t workspace_at(const ks_abi_problem *p)
{
    const ks_abi_buffers none{};
    return static_cast<std::int64_t>(
        ops()[I]->GetWorkSpaceSize(argument(*ops()[I], p, &none).get()));
}
template <std::size_t I> int run_at(const ks_abi_problem *p, const ks_abi_buffers *buf)
{
    return run(*ops()[I], p, buf);
}

struct table {
    std::vector<std::string> names;
    std::vector<ks_abi_entry> entries;

    template <std::size_t... I> explicit table(std::index_sequence<I...>)
    {
        const std::size_t n = ops().size() < max_instances ? ops().size() : max_instances;
        const ks_abi_entry all[] = { { nullptr, unsupported_at<I>, workspace_at<I>,
                                       run_at<I> }... };

        for (std::size_t i = 0; i < n; i++)
            names.push_back("ck_conv_fwd_fp16_2d_" + std::to_string(i));
        for (std::size_t i = 0; i < n; i++) {
            entries.push_back(all[i]);
            entries[i].name = names[i].c_str();
        }
    }
};

const table &the_table()
{
    static const table t{ std::make_index_sequence<max_instances>{} };
    return t;
}

} // namespace

/* Filled in when the object is loaded: GetInstances() makes objects. */
extern "C" {
extern const ks_abi_table ks_kernel_table;
const ks_abi_table ks_kernel_table = { KS_ABI_MAJOR,
                                       static_cast<std::uint32_t>(the_table().entries.size()),
                                       the_table().entries.data() };
}
