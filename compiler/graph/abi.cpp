/// \file Ops, attributes and layouts to and from the C ABI, and the graph's verbs as a plugin calls them.
#include "compiler/graph/abi.hpp"

#include "baleen/caught.hpp"
#include "baleen/per_thread.hpp"
#include "baleen/plugin.hpp"
#include "baleen/sized.hpp"

namespace baleen {

void list_attributes(const Attributes& attributes, std::vector<baleen_attribute_t>& list) {
  list.clear();
  for (const auto& [name, attribute] : attributes) {
    baleen_attribute_t item{};
    item.name = abi(name);
    std::visit(
        [&](const auto& value) {
          using T = std::decay_t<decltype(value)>;
          if constexpr (std::is_same_v<T, Expression>) {
            item.type = BALEEN_ATTRIBUTE_EXPRESSION;
            item.count = value.code.size();
            item.data = value.code.data();
          } else {
            item.type = std::is_same_v<T, std::string>           ? BALEEN_ATTRIBUTE_STRING
                        : std::is_same_v<T, std::vector<double>> ? BALEEN_ATTRIBUTE_FLOATS
                                                                 : BALEEN_ATTRIBUTE_INTS;
            item.count = value.size();
            item.data = value.data();
          }
        },
        attribute);
    list.push_back(item);
  }
}

Result<Attributes> from_abi(const baleen_attribute_t* attributes, std::uint64_t count) {
  std::vector<Attributes::Item> result;
  for (std::uint64_t i = 0; i < count; ++i) {
    const baleen_attribute_t& item = attributes[i];
    std::string name(view(item.name));
    auto list = [&](auto* first) { return std::vector(first, first + item.count); };
    Attribute value;
    switch (item.type) {
      case BALEEN_ATTRIBUTE_INTS: value = list(static_cast<const std::int64_t*>(item.data)); break;
      case BALEEN_ATTRIBUTE_FLOATS: value = list(static_cast<const double*>(item.data)); break;
      case BALEEN_ATTRIBUTE_STRING: value = std::string(static_cast<const char*>(item.data), item.count); break;
      case BALEEN_ATTRIBUTE_EXPRESSION:
        value = Expression{list(static_cast<const baleen_instruction_t*>(item.data))};
        break;
      default: return invalid("attribute `" + name + "` has the unknown type " + std::to_string(item.type));
    }
    result.emplace_back(std::move(name), std::move(value));
  }
  return Attributes(std::move(result));
}

void AbiOp::assign(const Op& op, const std::vector<std::uint32_t>& input_numbers,
                   const std::vector<std::uint32_t>& output_numbers) {
  inputs = input_numbers;
  outputs = output_numbers;
  list_attributes(op.attributes, attributes);
  view = {sizeof(view),   abi(op.kind->name), abi(op.name),      inputs.data(),    inputs.size(),
          outputs.data(), outputs.size(),     attributes.data(), attributes.size()};
}

void AbiOp::swap(AbiOp& other) noexcept {
  inputs.swap(other.inputs);
  outputs.swap(other.outputs);
  attributes.swap(other.attributes);
}

namespace {

/// Room for an op's lists, which the thread keeps from one AbiGraph to the next: rules are asked of every op.
AbiOp& spare() {
  static sdk::PerThread<AbiOp> op;
  return op.here();
}

}  // namespace

AbiGraph::~AbiGraph() { scratch_.swap(spare()); }

AbiGraph::AbiGraph(Graph& graph, AddState add_state) : graph_(graph), add_state_(std::move(add_state)) {
  scratch_.swap(spare());
  table_.size = sizeof(table_);
  table_.self = this;
  table_.op_count = [](void* p) { return static_cast<std::uint32_t>(self(p).graph_.op_count()); };
  table_.value_count = [](void* p) { return static_cast<std::uint32_t>(self(p).graph_.value_count()); };
  table_.read_op = [](void* p, OpId id, baleen_op_view_t* out) { return self(p).read_op(id, out); };
  table_.read_value = [](void* p, ValueId id, baleen_value_info_t* out) { return self(p).read_value(id, out); };
  table_.append = [](void* p, const baleen_op_view_t* spec, ValueId* outputs, std::uint64_t capacity) {
    try {
      return self(p).append(spec, outputs, capacity);
    } catch (...) {
      return self(p).keep(sdk::caught_error());
    }
  };
  table_.redirect = [](void* p, ValueId from, ValueId to, OpId except) {
    auto& graph = self(p).graph_;
    if (self(p).refuses()) return static_cast<baleen_status_t>(BALEEN_UNSUPPORTED);
    if (from >= graph.value_count() || to >= graph.value_count())
      return self(p).keep(invalid("redirect: no such value"));
    self(p).has_changed_ = true;
    Status status = graph.redirect(from, to, except);
    // A value that replaces a gradient is a gradient.
    if (graph.value(from).role == Role::gradient && graph.value(to).role == Role::activation)
      graph.value(to).role = Role::gradient;
    return status ? BALEEN_OK : self(p).keep(status.error());
  };
  table_.set_layout = [](void* p, ValueId value, const baleen_placement_t* placements, std::uint64_t count) {
    return self(p).set_layout(value, placements, count);
  };
  table_.set_tag = [](void* p, OpId op, baleen_string_t key, baleen_string_t text) {
    auto& graph = self(p).graph_;
    if (self(p).refuses()) return static_cast<baleen_status_t>(BALEEN_UNSUPPORTED);
    if (op >= graph.op_count() || !graph.op(op).live) return self(p).keep(invalid("set_tag: no such op"));
    const Status set = baleen::set_tag(graph.op(op), std::string(view(key)), std::string(view(text)));
    return set ? BALEEN_OK : self(p).keep(set.error());
  };
  table_.add_state = [](void* p, baleen_string_t name, baleen_dtype_t dtype, std::uint32_t rank,
                        const std::int64_t* shape, double initial, ValueId* out) {
    auto made = self(p).add_state_(std::string(view(name)), {dtype, Shape(shape, shape + rank), {}}, initial);
    if (!made) return self(p).keep(made.error());
    *out = *made;
    return static_cast<baleen_status_t>(BALEEN_OK);
  };
  add_context_verbs();
}

template <class T>
baleen_status_t AbiGraph::give(T* out, const T& value, const char* verb) {
  return copy_out(out, value) ? BALEEN_OK : keep(no_size(verb));
}

void AbiGraph::add_context_verbs() {
  table_.read_op_info = [](void* p, OpId id, baleen_op_info_t* out) -> baleen_status_t {
    const Graph& graph = self(p).graph_;
    if (id >= graph.op_count() || !graph.op(id).live) return BALEEN_NOT_FOUND;
    const Op& op = graph.op(id);
    return self(p).give(out,
                        {sizeof(*out), static_cast<baleen_phase_t>(op.phase), op.forward_op, abi_traits(*op.kind), 0},
                        "read_op_info");
  };
  table_.amend = [](void* p, OpId id, const baleen_op_view_t* spec) {
    try {
      return self(p).amend(id, spec);
    } catch (...) {
      return self(p).keep(sdk::caught_error());
    }
  };
  table_.place_behind = [](void* p, OpId id, OpId other) {
    Graph& graph = self(p).graph_;
    if (self(p).refuses()) return static_cast<baleen_status_t>(BALEEN_UNSUPPORTED);
    for (const OpId one : {id, other})
      if (one >= graph.op_count() || !graph.op(one).live) return self(p).keep(invalid("place_behind: no such op"));
    graph.place_behind(id, other);
    return static_cast<baleen_status_t>(BALEEN_OK);
  };
  table_.tag = [](void* p, OpId id, baleen_string_t key) -> baleen_string_t {
    const Graph& graph = self(p).graph_;
    if (id >= graph.op_count() || !graph.op(id).live) return abi("");
    const auto tags = shown_tags(graph.op(id));
    const auto found = tags.find(std::string(view(key)));
    if (found == tags.end()) return abi("");
    return abi(*self(p).tag_texts_.insert(found->second).first);
  };
  table_.follow = [](void* p, OpId id) {
    Graph& graph = self(p).graph_;
    if (self(p).refuses()) return static_cast<baleen_status_t>(BALEEN_UNSUPPORTED);
    if (id >= graph.op_count() || !graph.op(id).live) return self(p).keep(invalid("follow: no such op"));
    const Op& op = graph.op(id);
    graph.context() = {op.phase, op.forward_op, op.name, op.where};
    return static_cast<baleen_status_t>(BALEEN_OK);
  };
}

baleen_traits_t abi_traits(const OpKind& kind) {
  baleen_traits_t traits = 0;
  for (const auto& [own, abi] : {std::pair{kPointwise, BALEEN_TRAIT_POINTWISE},
                                 {kView, BALEEN_TRAIT_VIEW},
                                 {kReduction, BALEEN_TRAIT_REDUCTION},
                                 {kSensitive, BALEEN_TRAIT_SENSITIVE},
                                 {kProduct, BALEEN_TRAIT_PRODUCT},
                                 {kTyped, BALEEN_TRAIT_TYPED},
                                 {kStructural, BALEEN_TRAIT_STRUCTURAL}})
    if (kind.has(own)) traits |= abi;
  return traits;
}

bool AbiGraph::refuses() {
  if (reads_only_) keep(unsupported("this rule looks at the graph and does not change it"));
  return reads_only_;
}

baleen_status_t AbiGraph::keep(Error error) {
  const baleen_status_t code = error.code;
  if (status_) status_ = std::move(error);
  return code;
}

baleen_status_t AbiGraph::read_op(OpId id, baleen_op_view_t* out) {
  if (id >= graph_.op_count() || !graph_.op(id).live) return BALEEN_NOT_FOUND;
  const Op& op = graph_.op(id);
  scratch_.assign(op, op.inputs, op.outputs);
  return give(out, scratch_.view, "read_op");
}

baleen_status_t AbiGraph::read_value(ValueId id, baleen_value_info_t* out) {
  if (id >= graph_.value_count()) return BALEEN_NOT_FOUND;
  const Value& value = graph_.value(id);
  baleen_value_info_t info{};
  info.name = abi(value.name);
  info.dtype = value.dtype;
  info.role = static_cast<baleen_role_t>(value.role);
  info.rank = static_cast<std::uint32_t>(value.rank());
  info.producer = value.producer;
  for (std::size_t i = 0; i < value.rank(); ++i) {
    info.shape[i] = value.shape[i];
    info.axes[i] = abi(value.axis(i));
  }
  layout_scratch_.clear();
  for (const Placement& p : value.layout)
    layout_scratch_.push_back({static_cast<baleen_placement_kind_t>(p.kind), p.argument, p.depth});
  info.layout = layout_scratch_.empty() ? nullptr : layout_scratch_.data();
  info.layout_count = layout_scratch_.size();
  info.users = value.users.data();
  info.user_count = value.users.size();
  return give(out, info, "read_value");
}

baleen_status_t AbiGraph::append(const baleen_op_view_t* given, ValueId* outputs, std::uint64_t capacity) {
  if (refuses()) return BALEEN_UNSUPPORTED;
  const baleen_op_view_t spec = copy_in(given);
  if (spec.size == 0) return keep(no_size("append"));
  auto attributes = from_abi(spec.attributes, spec.attribute_count);
  if (!attributes) return keep(attributes.error());
  const std::vector<ValueId> inputs(spec.inputs, spec.inputs + spec.input_count);
  has_changed_ = true;
  auto made = graph_.append(std::string(view(spec.kind)), inputs, std::move(*attributes), std::string(view(spec.name)));
  if (!made) return keep(made.error());
  if (made->size() > capacity) return keep(invalid("append: more results than there is room for"));
  std::copy(made->begin(), made->end(), outputs);
  return BALEEN_OK;
}

baleen_status_t AbiGraph::amend(OpId id, const baleen_op_view_t* given) {
  if (refuses()) return BALEEN_UNSUPPORTED;
  const baleen_op_view_t spec = copy_in(given);
  if (spec.size == 0) return keep(no_size("amend"));
  if (id >= graph_.op_count() || !graph_.op(id).live) return keep(invalid("amend: no such op"));
  auto attributes = from_abi(spec.attributes, spec.attribute_count);
  if (!attributes) return keep(attributes.error());
  has_changed_ = true;
  Status status = graph_.amend(id, {spec.inputs, spec.inputs + spec.input_count}, std::move(*attributes));
  return status ? BALEEN_OK : keep(status.error());
}

baleen_status_t AbiGraph::set_layout(ValueId value, const baleen_placement_t* placements, std::uint64_t count) {
  if (refuses()) return BALEEN_UNSUPPORTED;
  if (value >= graph_.value_count()) return keep(invalid("set_layout: no such value"));
  Layout layout;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (placements[i].kind < 0 || placements[i].kind > BALEEN_AT) return keep(invalid("set_layout: unknown placement"));
    layout.push_back({static_cast<Placement::Kind>(placements[i].kind), placements[i].argument, placements[i].depth});
  }
  layout = canonical(std::move(layout));
  if (Status status = check(layout, graph_.value(value).shape, graph_.mesh()); !status)
    return keep(invalid("set_layout: " + status.error().message));
  has_changed_ = true;
  graph_.value(value).layout = std::move(layout);
  return BALEEN_OK;
}

}  // namespace baleen
