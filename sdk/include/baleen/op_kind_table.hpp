/// \file The C table of an OpKind. Included by op_kind.hpp.
#pragma once
#include <stdexcept>

#include "baleen/caught.hpp"
#include "baleen/op_kind.hpp"

namespace baleen::sdk {

/// Name, operands, results, attributes and traits; the rules are null.
inline baleen_op_kind_t schema_of(OpKind& kind) {
  baleen_op_kind_t t{};
  t.size = sizeof(t);
  t.self = &kind;
  t.name = abi(kind.name_);
  t.help = abi(kind.help_);
  t.operands = kind.operands_.data();
  t.operand_count = kind.operands_.size();
  t.results = kind.results_.data();
  t.result_count = kind.results_.size();
  t.attributes = kind.attributes_.data();
  t.attribute_count = kind.attributes_.size();
  t.traits = kind.traits_;
  return t;
}

namespace detail {

/// The host that the library's failures go to.
inline const baleen_host_t*& op_host() {
  static const baleen_host_t* host = nullptr;
  return host;
}

inline void write_type(const baleen_infer_t& context, const ValueType& type) {
  baleen_value_type_t out{};
  out.size = sizeof(out);
  out.dtype = type.dtype;
  if (type.shape.size() > BALEEN_MAX_RANK)
    throw std::length_error("a result of " + std::to_string(type.shape.size()) + " dimensions; a tensor has at most " +
                            std::to_string(BALEEN_MAX_RANK));
  out.rank = static_cast<std::uint32_t>(type.shape.size());
  for (std::size_t d = 0; d < type.shape.size(); ++d) {
    out.shape[d] = type.shape[d];
    out.axes[d] = abi(d < type.axes.size() ? std::string_view(type.axes[d]) : std::string_view());
  }
  context.result(context.self, &out);
}

inline Status write_values(const std::vector<baleen_value_t>& values, std::size_t expected, const char* rule,
                           baleen_value_t* out) {
  if (values.size() != expected)
    return internal(std::string(rule) + " gave " + std::to_string(values.size()) + " values in place of " +
                    std::to_string(expected));
  std::copy(values.begin(), values.end(), out);
  return {};
}

/// Runs a rule of the kind behind `self`; what it throws becomes a failure with text.
template <class Body>
baleen_status_t run_rule(void* self, Body&& body) {
  return guard(Host(op_host()), [&]() -> Status { return body(*static_cast<OpKind*>(self)); });
}

inline baleen_status_t infer(void* self, const baleen_infer_t* context) {
  return run_rule(self, [&](OpKind& kind) -> Status {
    BALEEN_TRY_ASSIGN(const auto types, kind.infer(InferInput(*context)));
    for (const ValueType& type : types) write_type(*context, type);
    return {};
  });
}

inline baleen_status_t gradient(void* self, const baleen_graph_t* graph, baleen_op_t op,
                                const baleen_value_t* cotangents, const std::uint8_t* wanted, baleen_value_t* out) {
  return run_rule(self, [&](OpKind& kind) -> Status {
    GraphView view(graph);
    const OpNode node = OpNode::of(view, op);
    BALEEN_TRY_ASSIGN(const auto made,
                      kind.gradient(view, op, {cotangents, node.outputs.size()}, {wanted, node.inputs.size()}));
    return write_values(made, node.inputs.size(), "gradient", out);
  });
}

inline baleen_status_t iteration(void* self, const baleen_graph_t* graph, baleen_op_t op,
                                 const baleen_iteration_t* out) {
  return run_rule(self, [&](OpKind& kind) -> Status {
    GraphView view(graph);
    const Iteration made = kind.iteration(view, op);
    for (const std::string& letters : made.inputs) out->input(out->self, abi(letters));
    for (const std::string& letters : made.outputs) out->output(out->self, abi(letters));
    for (const auto& set : made.linear) out->linear(out->self, set.data(), set.size());
    for (const auto& one : made.internal)
      out->internal(out->self, one.letter, abi(one.over), static_cast<std::uint32_t>(one.count));
    return {};
  });
}

inline baleen_status_t cost(void* self, const baleen_graph_t* graph, baleen_op_t op, baleen_cost_t* out) {
  return run_rule(self, [&](OpKind& kind) -> Status {
    GraphView view(graph);
    const Cost cost = kind.cost(view, op);
    out->flops = cost.flops;
    out->bytes = cost.bytes;
    return {};
  });
}

inline baleen_status_t expand(void* self, const baleen_graph_t* graph, baleen_op_t op, baleen_value_t* out) {
  return run_rule(self, [&](OpKind& kind) -> Status {
    GraphView view(graph);
    const std::size_t results = OpNode::of(view, op).outputs.size();
    BALEEN_TRY_ASSIGN(const auto made, kind.expand(view, op));
    return write_values(made, results, "expand", out);
  });
}

inline baleen_status_t fuse(void* self, const baleen_graph_t* graph, baleen_op_t op, baleen_fuse_t* call) {
  return run_rule(self, [&](OpKind& kind) -> Status {
    FuseView view(graph, *call);
    const std::size_t results = OpNode::of(view, op).outputs.size();
    BALEEN_TRY_ASSIGN(const auto made, kind.fuse(view, op));
    call->found = made ? 1 : 0;
    return made ? write_values(*made, results, "fuse", call->results) : Status();
  });
}

inline baleen_status_t join(void* self, const baleen_graph_t* graph, baleen_op_t op, baleen_join_t* out) {
  return run_rule(self, [&](OpKind& kind) -> Status {
    GraphView view(graph);
    struct Made {
      std::optional<Join> join;
      std::vector<baleen_attribute_t> attributes;
    };
    static PerThread<Made> room;
    auto& [made, attributes] = room.here();
    made = kind.join(view, op);
    out->with = made ? made->with : BALEEN_NONE;
    if (!made) return {};
    attributes = made->attributes.list();
    out->op = {sizeof(out->op),      abi(made->kind),      abi(""),           made->inputs.data(), made->inputs.size(),
               made->results.data(), made->results.size(), attributes.data(), attributes.size()};
    return {};
  });
}

inline baleen_status_t compute(void* self, const baleen_cpu_call_t* call) {
  return run_rule(self, [&](OpKind& kind) -> Status {
    Status done = kind.compute(CpuCall(*call));
    // The device that asked reports in its own name, so the reason goes to the log.
    if (!done) Host(op_host()).log(BALEEN_FAILURE, std::string(view(call->op->name)) + ": " + done.error().text());
    return done;
  });
}

/// Nothing is thrown out of it, and a refusal's reason goes to the device that asks: no failure is told to the host.
inline baleen_status_t cuda(void* self, const baleen_cuda_request_t* request, baleen_cuda_text_t* out) noexcept {
  struct Made {
    CudaText text;
    std::string reason;
  };
  Made* made = nullptr;
  baleen_status_t status = BALEEN_OK;
  try {
    static PerThread<Made> room;
    made = &room.here();
    auto given = static_cast<OpKind*>(self)->cuda(CudaRequest(*request));
    if (!given) status = given.error().code;
    made->reason = given ? std::string() : given.error().text();
    if (given) made->text = *std::move(given);
  } catch (...) {
    Error error = sdk::caught_error();
    status = error.code;
    if (made) made->reason = std::move(error.message);
  }
  baleen_cuda_text_t text{};
  if (made) {
    text.source = abi(made->text.source);
    text.entry = abi(made->text.entry);
    std::copy(made->text.blocks.begin(), made->text.blocks.end(), text.blocks);
    text.shared_bytes = made->text.shared_bytes;
    text.threads = made->text.threads;
    text.reason = abi(made->reason);
  }
  return copy_out(out, text) ? status : BALEEN_INTERNAL;
}

/// Whether a member is the kind's own: a pointer to an inherited one belongs to the base.
template <class Member, class Base>
inline constexpr bool kOverrides = !std::is_same_v<Member, Base>;

}  // namespace detail

/// The C table of a kind, which lives as long as the library.
template <class Kind>
const baleen_op_kind_t* op_kind_table() {
  static Kind kind;
  static const baleen_op_kind_t table = [] {
    baleen_op_kind_t t = schema_of(kind);
    t.infer = &detail::infer;
    if (detail::kOverrides<decltype(&Kind::gradient), decltype(&OpKind::gradient)>) t.gradient = &detail::gradient;
    if (detail::kOverrides<decltype(&Kind::iteration), decltype(&OpKind::iteration)>) t.iteration = &detail::iteration;
    if (detail::kOverrides<decltype(&Kind::cost), decltype(&OpKind::cost)>) t.cost = &detail::cost;
    if (detail::kOverrides<decltype(&Kind::expand), decltype(&OpKind::expand)>) t.expand = &detail::expand;
    if (detail::kOverrides<decltype(&Kind::fuse), decltype(&OpKind::fuse)>) t.fuse = &detail::fuse;
    if (detail::kOverrides<decltype(&Kind::join), decltype(&OpKind::join)>) t.join = &detail::join;
    if (detail::kOverrides<decltype(&Kind::compute), decltype(&OpKind::compute)>) t.cpu = &detail::compute;
    if (detail::kOverrides<decltype(&Kind::cuda), decltype(&OpKind::cuda)>) t.cuda = &detail::cuda;
    return t;
  }();
  return &table;
}

/// A kind of this library, in a list that its sources join before the library is started.
struct RegisteredKind {
  explicit RegisteredKind(const baleen_op_kind_t* (*maker)()) noexcept : make(maker), next(first()) { first() = this; }

  static RegisteredKind*& first() {
    static RegisteredKind* head = nullptr;
    return head;
  }

  const baleen_op_kind_t* (*make)();
  RegisteredKind* next;
};

/// The table of a library: the kinds that its sources registered.
inline baleen_ops_t ops_table() {
  baleen_ops_t table{};
  table.kind = [](std::uint64_t number) -> const baleen_op_kind_t* {
    return guard_value<const baleen_op_kind_t*>(Host(detail::op_host()), nullptr, [&] {
      const RegisteredKind* kind = RegisteredKind::first();
      while (kind && number-- > 0) kind = kind->next;
      return kind ? kind->make() : nullptr;
    });
  };
  return table;
}

}  // namespace baleen::sdk

/// Makes a class derived from baleen::sdk::OpKind a kind of this plugin. At file scope, in the class's own namespace.
#define BALEEN_OP_KIND(Kind) \
  static const baleen::sdk::RegisteredKind kRegistered##Kind(&baleen::sdk::op_kind_table<Kind>)

/// Exports the library's kinds as this plugin. Once, at global scope, behind BALEEN_DESCRIPTOR.
#define BALEEN_OPS()                                                                                     \
  extern "C" BALEEN_EXPORT baleen_status_t baleen_plugin_start(const baleen_host_t* host, void* table) { \
    baleen::sdk::detail::op_host() = host;                                                               \
    return baleen::give_table(host, table, baleen::sdk::ops_table());                                    \
  }                                                                                                      \
  static_assert(baleen::is_described_by<baleen_ops_t>(::baleen_plugin_note.descriptor),                  \
                "the descriptor names another kind than that of the table")
