#include "sketch_ops.hpp"

#include <map>
#include <sstream>
#include <stdexcept>

#include "support/op_cases.hpp"

namespace baleen::test {
namespace {

std::string join(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += part + ",";
  return text;
}

std::vector<std::string> split(const std::string& text, char separator = ',') {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

Result<std::vector<ValueType>> infer(const InferContext& context) {
  const auto in = split(context.attributes.text("in")), out = split(context.attributes.text("out"));
  std::map<char, std::int64_t> extent;
  std::map<char, std::string> axis;
  const std::string& fresh = context.attributes.text("fresh");
  for (std::size_t i = 0; i < fresh.size(); ++i) extent[fresh[i]] = context.attributes.integers("extents")[i];
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (in[i].size() != context.inputs[i].shape.size())
      return invalid("letters " + in[i] + " for " + to_string(context.inputs[i].shape));
    for (std::size_t d = 0; d < in[i].size(); ++d) {
      const std::int64_t own = context.inputs[i].shape[d];
      if (!extent.try_emplace(in[i][d], own).second && extent[in[i][d]] != own)
        return invalid(std::string("letter ") + in[i][d] + " has two extents");
      if (!context.inputs[i].axes.empty()) axis.try_emplace(in[i][d], context.inputs[i].axes[d]);
    }
  }
  std::vector<ValueType> types;
  for (const std::string& letters : out) {
    ValueType& type = types.emplace_back();
    for (char c : letters) {
      type.shape.push_back(extent.at(c));
      type.axes.push_back(axis.contains(c) && !axis[c].empty() ? axis[c] : std::string(1, c));
    }
  }
  return types;
}

std::vector<std::string> without(std::vector<std::string> operands, const std::string& uncut) {
  for (std::string& letters : operands)
    for (char& c : letters)
      if (uncut.find(c) != std::string::npos) c = '.';
  return operands;
}

Iteration iteration(const Graph&, const Op& op) {
  const std::string& uncut = op.attributes.text("uncut");
  Iteration result{
      without(split(op.attributes.text("in")), uncut), without(split(op.attributes.text("out")), uncut), {}, {}};
  for (const std::string& set : split(op.attributes.text("linear"), ';')) {
    auto& inputs = result.linear.emplace_back();
    for (const std::string& input : split(set)) inputs.push_back(static_cast<std::uint32_t>(std::stoul(input)));
  }
  if (const std::string& internal = op.attributes.text("internal"); !internal.empty()) {
    const auto parts = split(internal, ':');
    result.internal.push_back({parts[0][0], parts[1], std::stoi(parts[2])});
  }
  return result;
}

}  // namespace

const OpRegistry& sketch_ops() {
  static const OpRegistry registry = [] {
    OpRegistry all;
    if (auto status = register_all_ops(all); !status) throw std::runtime_error(status.error().text());
    for (const char* name :
         {"mm",   "add",      "acc",      "gelu",         "gelu_bwd",  "dropout",       "norm",   "norm_bwd",
          "attn", "attn_bwd", "split3",   "stack3",       "embedding", "embedding_bwd", "ce",     "ce_bwd",
          "gate", "gate_bwd", "dispatch", "dispatch_bwd", "combine",   "combine_dg",    "reduce", "sumsq",
          "pw",   "mul",      "adam",     "sgd_m",        "sgd_w"}) {
      OpKind kind;
      kind.name = std::string("sketch.") + name;
      kind.infer = infer;
      kind.iteration = iteration;
      if (auto status = all.add(std::move(kind)); !status) throw std::runtime_error(status.error().text());
    }
    return all;
  }();
  return registry;
}

std::vector<ValueId> append(Graph& graph, const SketchOp& op, const std::string& name) {
  std::string linear;
  for (const auto& set : op.linear) {
    for (std::uint32_t input : set) linear += std::to_string(input) + ",";
    linear += ";";
  }
  auto made = graph.append("sketch." + op.kind, op.inputs,
                           {{"in", join(op.in)},
                            {"out", join(op.out)},
                            {"linear", linear},
                            {"uncut", op.uncut},
                            {"internal", op.internal},
                            {"fresh", op.fresh},
                            {"extents", op.extents}},
                           name.empty() ? op.kind : name);
  if (!made) throw std::runtime_error(made.error().text());
  return *made;
}

}  // namespace baleen::test
