/// \file Calls a kind's rules through the ABI, and holds what they say against each other.
#include "compiler/graph/op_plugin.hpp"

#include <algorithm>
#include <cctype>
#include <memory>
#include <numeric>

#include "baleen/op_rules.hpp"
#include "baleen/per_thread.hpp"
#include "baleen/plugin.hpp"
#include "baleen/sized.hpp"
#include "compiler/graph/abi.hpp"
#include "compiler/graph/schema_checks.hpp"

namespace baleen {
namespace {

/// A kind of a plugin: its table, and who brought it.
struct Source {
  Plugin plugin;
  baleen_op_kind_t table;  ///< as far as the plugin knows it
  std::shared_ptr<const OpSchema> schema;
  std::string kind;

  const std::string& name() const { return kind; }
  /// "op kind `cumsum` of the plugin `scans`, rule gradient: ".
  std::string who(const char* rule) const {
    return "op kind `" + name() + "` of the plugin `" + schema->plugin + "`, rule " + rule + ": ";
  }
  Error wrong(const char* rule, const std::string& what) const { return unsupported(who(rule) + what); }
  /// A rule's failure, which begins with `before` or, where the rule names its kind itself, with that.
  Error failure(baleen_status_t status, const std::string& before) const {
    Error error = plugin.failure(status);
    const std::string title = "op `" + schema->plugin + "`: ";  // the kind's name tells more
    if (error.message.starts_with(title)) error.message.erase(0, title.size());
    if (!error.message.starts_with(name())) error.message = before + error.message;
    return error;
  }
};
using SharedSource = std::shared_ptr<const Source>;

/// Calls a rule with the graph in its hands. A verb's failure tells more than the status that the rule returns.
template <class Call>
Status with_graph(const Source& source, const char* rule, Graph& graph, bool reads_only, Call&& call) {
  AbiGraph abi_graph(graph, [](const std::string& name, const ValueType&, double) -> Result<ValueId> {
    return unsupported("state `" + name + "`: a kind of op adds no states");
  });
  if (reads_only) abi_graph.allow_reading_only();
  const baleen_status_t status = call(abi_graph.table());
  if (!abi_graph.status()) return source.wrong(rule, abi_graph.status().error().message);
  if (status == BALEEN_OK) return {};
  return source.failure(status, source.who(rule));
}

/// The rules that look and change nothing.
template <class Call>
Status with_graph(const Source& source, const char* rule, const Graph& graph, Call&& call) {
  return with_graph(source, rule, const_cast<Graph&>(graph), true, std::forward<Call>(call));
}

/// Dimensions past the rank are left as they are.
void write_type(const ValueType& type, baleen_value_type_t& out) {
  out.size = sizeof(out);
  out.dtype = type.dtype;
  out.rank = static_cast<std::uint32_t>(type.shape.size());
  for (std::size_t d = 0; d < type.shape.size(); ++d) {
    out.shape[d] = type.shape[d];
    out.axes[d] = abi(d < type.axes.size() ? std::string_view(type.axes[d]) : std::string_view());
  }
}

/// What a shape rule is given. The thread keeps the lists from one call to the next: no shape rule calls another.
struct InferLists {
  std::vector<baleen_value_type_t> inputs;
  std::vector<baleen_attribute_t> attributes;

  static InferLists& of(const InferContext& context) {
    static sdk::PerThread<InferLists> of_threads;
    InferLists& lists = of_threads.here();
    lists.inputs.resize(context.inputs.size());
    for (std::size_t i = 0; i < context.inputs.size(); ++i) write_type(context.inputs[i], lists.inputs[i]);
    list_attributes(context.attributes, lists.attributes);
    return lists;
  }
};

/// Takes the results' types as a shape rule gives them.
struct TypeReceiver {
  std::vector<ValueType> types;
  std::string wrong;

  static void take(void* self, const baleen_value_type_t* given) {
    auto& receiver = *static_cast<TypeReceiver*>(self);
    const baleen_value_type_t type = copy_in(given);
    if (type.rank > BALEEN_MAX_RANK || dtype_size(type.dtype) == 0) {
      receiver.wrong =
          "a result has the dtype " + std::to_string(type.dtype) + " and " + std::to_string(type.rank) + " dimensions";
      return;
    }
    ValueType& taken = receiver.types.emplace_back(ValueType{type.dtype, {type.shape, type.shape + type.rank}, {}});
    taken.axes.reserve(type.rank);
    for (std::uint32_t d = 0; d < type.rank; ++d) {
      taken.axes.emplace_back(view(type.axes[d]));
      if (type.shape[d] < 0) receiver.wrong = "a result is " + to_string(taken.shape);
    }
  }
};

/// The rule itself, for attributes and operands that the schema allows.
Result<std::vector<ValueType>> call_infer(const Source& source, const InferContext& context) {
  const auto& [inputs, attributes] = InferLists::of(context);
  TypeReceiver receiver;
  receiver.types.reserve(source.schema->results.size());
  const baleen_infer_t abi_context{
      sizeof(baleen_infer_t), inputs.data(),     inputs.size(), sizeof(baleen_value_type_t),
      attributes.data(),      attributes.size(), &receiver,     &TypeReceiver::take};
  if (const auto status = source.table.infer(source.table.self, &abi_context))
    return source.failure(status, source.name() + ": ");
  if (!receiver.wrong.empty()) return source.wrong("infer", receiver.wrong);
  const std::size_t count = receiver.types.size();
  if (count < source.schema->least_results() || (count > 0 && !source.schema->result(count - 1)))
    return source.wrong("infer", "gave " + std::to_string(count) + " results; the kind has " +
                                     std::to_string(source.schema->results.size()));
  return std::move(receiver.types);
}

Result<std::vector<ValueType>> infer(const Source& source, const InferContext& context) {
  const OpSchema& schema = *source.schema;
  const std::string& name = source.name();
  BALEEN_TRY(check_attributes(schema, name, context.attributes));
  BALEEN_TRY(check_operands(schema, name, context.inputs));
  if (!lacks_defaults(schema, context.attributes)) {
    BALEEN_TRY(check_dimensions(schema, name, context.attributes, context.inputs));
    return call_infer(source, context);
  }
  Attributes complete = context.attributes;
  BALEEN_TRY(fill_in_defaults(schema, complete));
  return infer(source, {complete, context.inputs});
}

/// Takes the letters as the rule gives them.
struct LetterReceiver {
  Iteration made;

  static LetterReceiver& of(void* self) { return *static_cast<LetterReceiver*>(self); }
  baleen_iteration_t table() {
    return {sizeof(baleen_iteration_t),
            this,
            [](void* self, baleen_string_t letters) { of(self).made.inputs.emplace_back(view(letters)); },
            [](void* self, baleen_string_t letters) { of(self).made.outputs.emplace_back(view(letters)); },
            [](void* self, const std::uint32_t* inputs, std::uint64_t count) {
              of(self).made.linear.emplace_back(inputs, inputs + count);
            },
            [](void* self, char letter, baleen_string_t over, std::uint32_t count) {
              of(self).made.internal.push_back({letter, std::string(view(over)), static_cast<int>(count)});
            }};
  }
};

/// That a side has letters for each of its values, as many as dimensions.
Status check_side(const Source& source, const Graph& graph, const std::vector<std::string>& letters, const Ids& values,
                  const char* side) {
  if (letters.size() != values.size())
    return source.wrong("iteration", "gave letters for " + std::to_string(letters.size()) + " " + side +
                                         "s; the op has " + std::to_string(values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Value& value = graph.value(values[i]);
    const auto name = [&] { return std::string(side) + " " + std::to_string(i + 1) + ", " + to_string(value.shape); };
    if (letters[i].size() != value.rank())
      return source.wrong(
          "iteration", "gave \"" + letters[i] + "\", " + std::to_string(letters[i].size()) + " letters, for " + name());
    for (std::size_t d = 0; d < letters[i].size(); ++d) {
      const char c = letters[i][d];
      if (c != '.' && !std::isalpha(static_cast<unsigned char>(c)))
        return source.wrong("iteration",
                            "gave '" + std::string(1, c) + "' for " + name() + "; a letter is a to z, A to Z or '.'");
      if (c != '.' && letters[i].find(c, d + 1) != std::string::npos)
        return source.wrong("iteration", "gave \"" + letters[i] + "\" for " + name() + ": a letter stands twice");
    }
  }
  return {};
}

/// Whether there is a number of equal parts that both may be cut in; one part alone is one too.
bool have_a_cut(std::int64_t in, std::int64_t out) { return in == 1 || out == 1 || std::gcd(in, out) != 1; }

/// A letter of an operand and a result runs over both alike: where its extents differ, some cut divides both.
Status check_extents(const Source& source, const Graph& graph, const Op& op, const Iteration& made) {
  for (std::size_t y = 0; y < op.outputs.size(); ++y)
    for (std::size_t d = 0; d < made.outputs[y].size(); ++d) {
      const char c = made.outputs[y][d];
      for (std::size_t x = 0; c != '.' && x < op.inputs.size(); ++x) {
        const auto at = made.inputs[x].find(c);
        if (at == std::string::npos) continue;
        const std::int64_t in = graph.value(op.inputs[x]).shape[at], out = graph.value(op.outputs[y]).shape[d];
        if (have_a_cut(in, out)) continue;
        return source.wrong("iteration", "letter '" + std::string(1, c) + "' is " + std::to_string(in) +
                                             " in operand " + std::to_string(x + 1) + " and " + std::to_string(out) +
                                             " in result " + std::to_string(y + 1) + "; no cut divides both");
      }
    }
  return {};
}

Status check_letters(const Source& source, const Graph& graph, const Op& op, const Iteration& made) {
  BALEEN_TRY(check_side(source, graph, made.inputs, op.inputs, "operand"));
  BALEEN_TRY(check_side(source, graph, made.outputs, op.outputs, "result"));
  BALEEN_TRY(check_extents(source, graph, op, made));
  for (const auto& set : made.linear)
    for (const std::uint32_t number : set)
      if (number >= op.inputs.size())
        return source.wrong("iteration", "is linear in operand " + std::to_string(number + 1) + "; the op has " +
                                             std::to_string(op.inputs.size()));
  const bool combined = source.kind == "reduce";  // passes know how (placement/lower_internal.cpp)
  if (!made.internal.empty() && !source.table.expand && !combined)
    return source.wrong("iteration", "reduces the letter '" + std::string(1, made.internal[0].letter) +
                                         "' itself, and there is no rule `expand` for ranks that share it");
  return {};
}

Result<Iteration> iterate(const Source& source, const Graph& graph, const Op& op) {
  LetterReceiver receiver;
  const baleen_iteration_t table = receiver.table();
  BALEEN_TRY(with_graph(source, "iteration", graph, [&](const baleen_graph_t* abi_graph) {
    return source.table.iteration(source.table.self, abi_graph, op.id, &table);
  }));
  BALEEN_TRY(check_letters(source, graph, op, receiver.made));
  return std::move(receiver.made);
}

/// What a rule puts in the place of an op's results has their types.
Status check_results(const Source& source, const char* rule, const Graph& graph, const Op& op,
                     const std::vector<ValueId>& made) {
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (made[i] >= graph.value_count()) return source.wrong(rule, "gave no value for result " + std::to_string(i + 1));
    const ValueType is = graph.type(made[i]), expected = graph.type(op.outputs[i]);
    if (is.dtype != expected.dtype || is.shape != expected.shape)
      return source.wrong(rule, "gave " + sdk::type_text(is) + " for result " + std::to_string(i + 1) +
                                    ", which by the rule infer is " + sdk::type_text(expected));
  }
  return {};
}

Result<std::vector<ValueId>> expand(const Source& source, Graph& graph, const Op& op) {
  std::vector<ValueId> made(op.outputs.size(), kNone);
  BALEEN_TRY(with_graph(source, "expand", graph, false, [&](const baleen_graph_t* abi_graph) {
    return source.table.expand(source.table.self, abi_graph, op.id, made.data());
  }));
  BALEEN_TRY(check_results(source, "expand", graph, op, made));
  return made;
}

/// Nothing to join where the rule fails: joining saves work and is never needed.
Join join(const Source& source, const Graph& graph, const Op& op) {
  baleen_join_t out{};
  out.size = sizeof(out);
  out.with = kNone;
  const Status asked = with_graph(source, "join", graph, [&](const baleen_graph_t* abi_graph) {
    return source.table.join(source.table.self, abi_graph, op.id, &out);
  });
  if (!asked || out.with >= graph.op_count() || !graph.op(out.with).live) return {};
  const auto known = [&](const std::uint32_t* values, std::uint64_t count) {
    return std::all_of(values, values + count, [&](ValueId value) { return value < graph.value_count(); });
  };
  if (!known(out.op.inputs, out.op.input_count) || !known(out.op.outputs, out.op.output_count)) return {};
  auto attributes = from_abi(out.op.attributes, out.op.attribute_count);
  if (!attributes) return {};
  return {out.with,
          std::string(view(out.op.kind)),
          {out.op.inputs, out.op.inputs + out.op.input_count},
          std::move(*attributes),
          {out.op.outputs, out.op.outputs + out.op.output_count}};
}

/// The better form's results, which are of the op's types; none where there is none.
Result<std::vector<ValueId>> fuse(const Source& source, Graph& graph, const Op& op) {
  std::vector<ValueId> made(op.outputs.size(), kNone);
  baleen_fuse_t call{sizeof(baleen_fuse_t), made.data(), 0, 0, &graph, [](void* self, ValueId value) {
                       const auto& outputs = static_cast<const Graph*>(self)->outputs();
                       return static_cast<std::uint32_t>(
                           std::ranges::any_of(outputs, [&](const GraphOutput& o) { return o.value == value; }));
                     }};
  BALEEN_TRY(with_graph(source, "fuse", graph, false, [&](const baleen_graph_t* abi_graph) {
    return source.table.fuse(source.table.self, abi_graph, op.id, &call);
  }));
  if (call.found == 0) return std::vector<ValueId>();
  BALEEN_TRY(check_results(source, "fuse", graph, op, made));
  return made;
}

/// Vectors of bool have no array.
std::vector<std::uint8_t> bytes_of(const std::vector<bool>& flags) { return {flags.begin(), flags.end()}; }

void add_rules(OpKind& kind, const SharedSource& source) {
  const baleen_op_kind_t& table = source->table;
  kind.infer = [source](const InferContext& context) { return infer(*source, context); };
  if (table.gradient)
    kind.gradient = [source](Graph& graph, const Op& op, const std::vector<ValueId>& cotangents,
                             const std::vector<bool>& wanted) -> Result<std::vector<ValueId>> {
      std::vector<ValueId> made(op.inputs.size(), kNone);
      BALEEN_TRY(with_graph(*source, "gradient", graph, false, [&](const baleen_graph_t* abi_graph) {
        return source->table.gradient(source->table.self, abi_graph, op.id, cotangents.data(), bytes_of(wanted).data(),
                                      made.data());
      }));
      for (const ValueId value : made)
        if (value != kNone && value >= graph.value_count())
          return source->wrong("gradient", "gave %" + std::to_string(value) + ", which is no value");
      return made;
    };
  if (table.iteration) {
    kind.iteration = [source](const Graph& graph, const Op& op) { return iterate(*source, graph, op); };
    kind.checks_iteration = true;
  }
  kind.cost = [source](const Graph& graph, const Op& op) {
    Cost cost;
    for (const auto* list : {&op.inputs, &op.outputs})
      for (const ValueId id : *list)
        cost.bytes += static_cast<double>(element_count(graph.value(id).shape)) *
                      static_cast<double>(dtype_size(graph.value(id).dtype));
    if (!source->table.cost) return cost;
    baleen_cost_t out{sizeof(baleen_cost_t), 0, cost.bytes};
    const Status asked = with_graph(*source, "cost", graph, [&](const baleen_graph_t* abi_graph) {
      return source->table.cost(source->table.self, abi_graph, op.id, &out);
    });
    return asked ? Cost{out.flops, out.bytes} : cost;
  };
  if (table.expand) kind.expand = [source](Graph& graph, const Op& op) { return expand(*source, graph, op); };
  if (table.fuse) kind.fuse = [source](Graph& graph, const Op& op) { return fuse(*source, graph, op); };
  if (table.join) kind.join = [source](const Graph& graph, const Op& op) { return join(*source, graph, op); };
}

/// What passes build, and take apart by its attributes, they know by name (docs/design.md, section 3).
std::uint32_t traits_of_name(const std::string& name) {
  if (name == "pointwise") return kPointwise;
  if (name == "reshape" || name == "transpose" || name == "slice") return kView;
  return 0;
}

std::uint32_t own_traits(baleen_kind_traits_t traits) {
  std::uint32_t own = 0;
  for (const auto& [abi, mine] :
       {std::pair{BALEEN_KIND_PURE, kPure}, std::pair{BALEEN_KIND_SENSITIVE, kSensitive},
        std::pair{BALEEN_KIND_PRODUCT, kProduct}, std::pair{BALEEN_KIND_REDUCTION, kReduction},
        std::pair{BALEEN_KIND_CONTRACTION, kContraction}, std::pair{BALEEN_KIND_TYPED, kTyped}})
    if (traits & abi) own |= mine;
  return own;
}

}  // namespace

Status register_op_plugin(OpRegistry& registry, const Plugin& plugin) {
  BALEEN_TRY_ASSIGN(const auto* table, plugin.table<baleen_ops_t>("op"));
  const std::string name = plugin.descriptor().name;
  for (std::uint64_t number = 0;; ++number) {
    BALEEN_TRY_ASSIGN(const auto* given, plugin.checked_value([&] { return table->kind(number); }));
    if (!given) return {};
    const baleen_op_kind_t found = copy_in(given);
    if (found.size == 0) return no_size("kind " + std::to_string(number) + " of the plugin `" + name + "`");
    BALEEN_TRY_ASSIGN(OpSchema schema, read_schema(found, name));
    OpKind kind;
    kind.name = view(found.name);
    kind.traits = own_traits(found.traits) | traits_of_name(kind.name);
    if (const OpKind* taken = registry.find(kind.name))
      return invalid("the plugin `" + name + "` has an op kind `" + kind.name + "`, which " +
                     (!taken->schema                  ? "is built in"
                      : taken->schema->plugin == name ? "it has already"
                                                      : "the plugin `" + taken->schema->plugin + "` has too") +
                     "; a kind's name is its own");
    kind.schema = std::make_shared<const OpSchema>(std::move(schema));
    kind.table = given;
    add_rules(kind, std::make_shared<const Source>(Source{plugin, found, kind.schema, kind.name}));
    BALEEN_TRY(registry.add(std::move(kind)));
  }
}

Status register_op_plugins(OpRegistry& registry, const Registry& plugins) {
  if (plugins.names("op").empty())
    return Error{BALEEN_NOT_FOUND,
                 "no plugin of kind `op` is found, and the ops that layers are made of come from one: a library "
                 "baleen_op_*.so, which is installed beside the other plugins (`baleen plugins` lists those that are "
                 "found)",
                 {}};
  for (const Descriptor& descriptor : plugins.descriptors()) {
    if (descriptor.kind != "op") continue;
    BALEEN_TRY_ASSIGN(const Plugin plugin, plugins.open(descriptor));
    BALEEN_TRY(register_op_plugin(registry, plugin));
  }
  return {};
}

}  // namespace baleen
