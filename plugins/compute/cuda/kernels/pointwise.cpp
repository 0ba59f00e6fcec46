/// \file pointwise: an expression as a kernel of its own, generated for the shapes at hand; accumulate is a + b.
#include "baleen/expression.hpp"
#include "compiler.hpp"
#include "expression_source.hpp"
#include "kernels.hpp"

namespace baleen::cuda {
namespace {

class PointwiseKernel : public Kernel {
 public:
  PointwiseKernel(const Context& context, std::string name, std::vector<Operand> inputs, std::vector<Operand> outputs)
      : context_(context), name_(std::move(name)), inputs_(std::move(inputs)), outputs_(std::move(outputs)) {
    for (const Operand& y : outputs_)
      for (const Operand& x : inputs_) may_alias(y, x);
  }

  Status build(std::span<const baleen_instruction_t> code, std::span<const std::int64_t> results) {
    BALEEN_TRY(check_expression(code, results, inputs_.size(), outputs_.size(), outputs_[0].rank()));
    GeneratedKernel generated;
    generated.code.assign(code.begin(), code.end());
    generated.results.assign(results.begin(), results.end());
    describe(generated);
    generated = simplified(std::move(generated));
    varies_ = generated.varies();
    elements_ = generated.elements();
    if (elements_ == 0 || context_.described) return {};  // texts of its own are right
    pack_elements_ = generated.pack();
    text_ = generate(generated);
    return {};
  }

  void begin() const override {
    if (!text_.empty()) context_.compiler.begin(text_);
  }
  Status finish() override {
    if (text_.empty()) return {};
    if (Status found = find_functions(); !found) return Error{found.error().code, found.error().message, name_};
    text_.clear();
    return {};
  }

  Status run(const Launch& launch) const override {
    PointwiseArgs args{};
    args.seed = launch.call.seed;
    args.step = launch.call.step;
    args.micro = launch.call.micro;
    std::uintptr_t all = 0;
    std::size_t count = 0;
    for (const std::vector<Operand>* operands : {&inputs_, &outputs_})
      for (const Operand& operand : *operands) {
        args.operand[count++] = launch.at(operand);
        all |= reinterpret_cast<std::uintptr_t>(launch.at(operand));
      }
    const bool packs = pack_ && all % 16 == 0;
    const Geometry geometry = thread_per_element(packs ? elements_ / pack_elements_ : elements_);
    if (varies_) return launch.run_varying(packs ? pack_ : plain_, geometry, args);
    return launch.run(packs ? pack_ : plain_, geometry, args);
  }

 private:
  Status find_functions() {
    BALEEN_TRY_ASSIGN(CUmodule module, context_.compiler.module(text_));
    BALEEN_TRY_ASSIGN(plain_, context_.driver.function(module, kPointwiseName));
    if (pack_elements_ == 0) return {};
    BALEEN_TRY_ASSIGN(pack_, context_.driver.function(module, kPointwisePackName));
    return {};
  }
  void describe(GeneratedKernel& out) const {
    const baleen_tensor_t& y = outputs_[0].tensor;
    for (std::uint32_t d = 0; d < y.rank; ++d) {
      GeneratedDimension dim{y.shape[d], y.global_shape[d], {}, 0};
      if (y.run_count[d]) dim.runs.assign(y.runs[d], y.runs[d] + y.run_count[d]);
      if (y.micro_dim == static_cast<std::int32_t>(d)) dim.micro_step = y.micro_step;
      out.shape.push_back(std::move(dim));
    }
    bool any_float = false;
    for (const Operand& x : inputs_) {
      any_float = any_float || is_floating(x.tensor.dtype);
      out.wide = out.wide || x.tensor.dtype == BALEEN_F64;
      out.inputs.push_back({x.tensor.dtype, broadcast(x)});
    }
    if (!any_float) out.wide = y.dtype == BALEEN_F64;
    for (const Operand& x : outputs_) out.outputs.push_back({x.tensor.dtype, broadcast(x)});
  }
  std::vector<std::int64_t> broadcast(const Operand& x) const {
    const Operand& y = outputs_[0];
    std::vector<std::int64_t> out(y.rank(), 0);
    for (std::uint32_t d = 0; d < x.rank() && d < y.rank(); ++d)
      out[d] = x.extent(d) == 1 && y.extent(d) != 1 ? 0 : x.stride(d);
    return out;
  }

  const Context& context_;
  std::string name_, text_;  ///< of the op, for errors; of the kernel, until it is found
  std::vector<Operand> inputs_, outputs_;
  std::int64_t elements_ = 0;
  int pack_elements_ = 0;
  bool varies_ = false;
  CUfunction plain_ = nullptr, pack_ = nullptr;
};

Result<std::unique_ptr<Kernel>> make(const Context& context, const Source& source, std::vector<Operand> inputs,
                                     std::vector<Operand> outputs, std::span<const baleen_instruction_t> code,
                                     std::span<const std::int64_t> results) {
  if (inputs.size() + outputs.size() > PointwiseArgs::kMostOperands)
    return unsupported("an expression of more than " + std::to_string(PointwiseArgs::kMostOperands) + " operands",
                       source.name());
  auto kernel =
      std::make_unique<PointwiseKernel>(context, std::string(source.name()), std::move(inputs), std::move(outputs));
  if (Status built = kernel->build(code, results); !built)
    return Error{built.error().code, built.error().message, source.name()};
  return std::unique_ptr<Kernel>(std::move(kernel));
}

std::vector<Operand> inputs_of(const Source& source) {
  std::vector<Operand> inputs;
  for (std::size_t i = 0; i < source.inputs(); ++i) inputs.push_back(source.in(i));
  return inputs;
}
std::vector<Operand> outputs_of(const Source& source) {
  std::vector<Operand> outputs;
  for (std::size_t i = 0; i < source.outputs(); ++i) outputs.push_back(source.out(i));
  return outputs;
}

}  // namespace

Result<std::unique_ptr<Kernel>> make_pointwise(const Context& context, const Source& source,
                                               std::vector<Operand> inputs, std::vector<Operand> outputs) {
  return make(context, source, std::move(inputs), std::move(outputs), source.op().expression("expression"),
              source.op().integers("results"));
}

Result<std::unique_ptr<Kernel>> make_pointwise(const Context& context, const baleen_region_t& region) {
  const Source source(region);
  return make_pointwise(context, source, inputs_of(source), outputs_of(source));
}

Result<std::unique_ptr<Kernel>> make_accumulate(const Context& context, const baleen_region_t& region) {
  const baleen_instruction_t code[] = {
      {BALEEN_X_INPUT, 0, 0, 0, 0}, {BALEEN_X_INPUT, 1, 0, 0, 0}, {BALEEN_X_ADD, 0, 1, 0, 0}};
  const std::int64_t results[] = {2};
  const Source source(region);
  return make(context, source, inputs_of(source), outputs_of(source), code, results);
}

}  // namespace baleen::cuda
