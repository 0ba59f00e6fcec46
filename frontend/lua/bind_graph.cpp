/// \file Lua functions of kinds of ops whose arguments are to be shorter than what their schema gives, or whose schema
/// gives scripts none. Dimensions count from 1, as lists do in Lua.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/input/nearest.hpp"
#include "frontend/lua/bindings.hpp"

namespace baleen {
namespace {

/// Appends an op of the kind and pushes its first `count` results.
int push_op(lua_State* L, const std::string& kind, std::vector<ValueId> inputs, Attributes attributes,
            std::size_t count = 1) {
  auto results = description_of(L).append(kind, std::move(inputs), std::move(attributes), place_of_op(L));
  results.resize(count);
  push_tensors(L, results);
  return static_cast<int>(count);
}

const Shape& shape_of(lua_State* L, ValueId value) { return description_of(L).graph().value(value).shape; }

/// The fields of the options table `index`, which may be absent. Fields that nobody asks for are refused by `finish`.
class OpOptions {
 public:
  OpOptions(const Arguments& arguments, int index) : arguments_(arguments), L_(arguments.lua()), index_(index) {
    if (!arguments.absent(index) && !lua_istable(L_, index)) arguments.refuse(index, "options", "a table of options");
  }
  /// Pushes the field; false (and nothing pushed) where it is absent.
  bool push(const char* name) {
    known_.push_back(name);
    if (!lua_istable(L_, index_)) return false;
    if (lua_getfield(L_, index_, name) != LUA_TNIL) return true;
    lua_pop(L_, 1);
    return false;
  }
  double number(const char* name, double fallback) {
    if (!push(name)) return fallback;
    const double number = arguments_.number(lua_gettop(L_), name);
    lua_pop(L_, 1);
    return number;
  }
  std::optional<ValueId> tensor(const char* name) {
    if (!push(name)) return std::nullopt;
    const ValueId value = arguments_.tensor(lua_gettop(L_), name);
    lua_pop(L_, 1);
    return value;
  }
  bool boolean(const char* name) {
    if (!push(name)) return false;
    const bool value = arguments_.boolean(lua_gettop(L_));
    lua_pop(L_, 1);
    return value;
  }
  void finish() const {
    if (!lua_istable(L_, index_)) return;
    for (lua_pushnil(L_); lua_next(L_, index_) != 0; lua_pop(L_, 1)) {
      lua_pushvalue(L_, -2);
      const std::string key = luaL_tolstring(L_, -1, nullptr);
      lua_pop(L_, 2);
      if (std::find(known_.begin(), known_.end(), key) == known_.end())
        throw ScriptError(invalid(arguments_.name() + ": " + unknown_word("option", key, known_)));
    }
  }

 private:
  const Arguments& arguments_;
  lua_State* L_;
  int index_;
  std::vector<std::string> known_;
};

int matmul(lua_State* L) {
  const Arguments arguments(L, "matmul");
  const std::string spec = arguments.text(1, "spec");
  std::vector<ValueId> inputs{arguments.tensor(2, "a"), arguments.tensor(3, "b")};
  if (!arguments.absent(4)) inputs.push_back(arguments.tensor(4, "c"));
  return push_op(L, "matmul", inputs, {{"spec", spec}});
}

ValueId reduced(const Arguments& arguments, const std::string& kind, ValueId x, std::vector<std::int64_t> dims) {
  Attributes attributes{
      {"kind", kind}, {"dims", Attributes::ints(std::move(dims))}, {"keep", Attributes::ints({arguments.boolean(3)})}};
  return description_of(arguments.lua()).append1("reduce", {x}, std::move(attributes), place_of_op(arguments.lua()));
}

/// The listed dimensions, or all.
std::vector<std::int64_t> reduced_dims(const Arguments& arguments, ValueId x) {
  if (!arguments.absent(2)) return arguments.dimensions(2, "dims", x);
  std::vector<std::int64_t> all(shape_of(arguments.lua(), x).size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
  return all;
}

int sum(lua_State* L) {
  const Arguments arguments(L, "sum");
  const ValueId x = arguments.tensor(1, "x");
  push_tensor(L, reduced(arguments, "sum", x, reduced_dims(arguments, x)));
  return 1;
}

int amax(lua_State* L) {
  const Arguments arguments(L, "amax");
  const ValueId x = arguments.tensor(1, "x");
  push_tensor(L, reduced(arguments, "max", x, reduced_dims(arguments, x)));
  return 1;
}

int mean(lua_State* L) {
  const Arguments arguments(L, "mean");
  const ValueId x = arguments.tensor(1, "x");
  const std::vector<std::int64_t> dims = reduced_dims(arguments, x);
  std::int64_t count = 1;
  for (std::int64_t dim : dims) count *= shape_of(L, x)[static_cast<std::size_t>(dim)];
  const ValueId total = reduced(arguments, "sum", x, dims);
  Expression e;
  const auto result = e.binary(BALEEN_X_DIV, e.input(0), e.constant(static_cast<double>(count)));
  push_tensors(L, description_of(L).pointwise({total}, std::move(e), {result}, {}, place_of_op(L)));
  return 1;
}

/// attention(q, k, v [, { causal, scale, ids_q, ids_k }])
int attention(lua_State* L) {
  const Arguments arguments(L, "attention");
  std::vector<ValueId> inputs{arguments.tensor(1, "q"), arguments.tensor(2, "k"), arguments.tensor(3, "v")};
  OpOptions options(arguments, 4);
  const bool causal = options.boolean("causal");
  const Shape& q = shape_of(L, inputs[0]);
  const double width = q.empty() ? 1 : static_cast<double>(q.back());
  const double scale = options.number("scale", 1 / std::sqrt(width));
  const auto ids_q = options.tensor("ids_q"), ids_k = options.tensor("ids_k");
  options.finish();
  if (ids_q || ids_k) {
    inputs.push_back(ids_q ? *ids_q : *ids_k);
    inputs.push_back(ids_k ? *ids_k : *ids_q);
  }
  return push_op(L, "attention", inputs,
                 {{"causal", Attributes::ints({causal})}, {"scale", Attributes::floats({scale})}});
}

int top_k(lua_State* L) {
  const Arguments arguments(L, "top_k");
  return push_op(L, "top_k", {arguments.tensor(1, "x")}, {{"k", Attributes::ints({arguments.integer(2, "k")})}}, 2);
}

/// reshape(x, shape); one extent may be -1: what is left.
int reshape(lua_State* L) {
  const Arguments arguments(L, "reshape");
  const ValueId x = arguments.tensor(1, "x");
  Shape shape = arguments.integers(2, "shape");
  std::int64_t known = 1;
  std::int64_t* open = nullptr;
  for (std::int64_t& extent : shape) {
    if (extent != -1) {
      known *= extent;
      continue;
    }
    if (open) throw ScriptError(invalid("reshape: `shape` " + to_string(shape) + " has more than one -1"));
    open = &extent;
  }
  const std::int64_t count = element_count(shape_of(L, x));
  if (open) {
    if (known <= 0 || count % known != 0)
      throw ScriptError(invalid("reshape: the " + std::to_string(count) + " elements of " + to_string(shape_of(L, x)) +
                                " do not fill " + to_string(shape)));
    *open = count / known;
  }
  return push_op(L, "reshape", {x}, {{"shape", Attributes::ints(shape)}});
}

int transpose(lua_State* L) {
  const Arguments arguments(L, "transpose");
  const ValueId x = arguments.tensor(1, "x");
  return push_op(L, "transpose", {x}, {{"permutation", Attributes::ints(arguments.dimensions(2, "permutation", x))}});
}

/// slice(x, dim, first, count): `first` counts from 1.
int slice(lua_State* L) {
  const Arguments arguments(L, "slice");
  const ValueId x = arguments.tensor(1, "x");
  const std::int64_t dim = arguments.dimension(2, "dim", x);
  const std::int64_t first = arguments.integer(3, "first"), count = arguments.integer(4, "count");
  const std::int64_t extent = shape_of(L, x)[static_cast<std::size_t>(dim)];
  if (first < 1 || count < 1 || first - 1 + count > extent)
    throw ScriptError(invalid("slice: " + std::to_string(count) + " from " + std::to_string(first) +
                              " on are not in dimension " + std::to_string(dim + 1) + " of " +
                              to_string(shape_of(L, x)) + ", which is " + std::to_string(extent) + " long"));
  return push_op(L, "slice", {x},
                 {{"dim", Attributes::ints({dim})},
                  {"start", Attributes::ints({first - 1})},
                  {"length", Attributes::ints({count})}});
}

/// concat({ x, ... }, dim)
int concat(lua_State* L) {
  const Arguments arguments(L, "concat");
  const std::vector<ValueId> inputs = arguments.tensors(1, "tensors");
  if (inputs.empty()) throw ScriptError(invalid("concat: the list of tensors is empty"));
  return push_op(L, "concat", inputs, {{"dim", Attributes::ints({arguments.dimension(2, "dim", inputs[0])})}});
}

/// pad(x, dim, before, after): zeros.
int pad(lua_State* L) {
  const Arguments arguments(L, "pad");
  const ValueId x = arguments.tensor(1, "x");
  return push_op(L, "pad", {x},
                 {{"dim", Attributes::ints({arguments.dimension(2, "dim", x)})},
                  {"before", Attributes::ints({arguments.integer(3, "before")})},
                  {"after", Attributes::ints({arguments.integer(4, "after")})}});
}

/// Functions of kinds of plugins whose arguments are shorter than those that a schema gives.
constexpr std::array<Function, 3> kShortForms = {
    {{"matmul", &guarded<&matmul>}, {"attention", &guarded<&attention>}, {"top_k", &guarded<&top_k>}}};

constexpr std::array<Function, 8> kFunctions = {{{"sum", &guarded<&sum>},
                                                 {"amax", &guarded<&amax>},
                                                 {"mean", &guarded<&mean>},
                                                 {"reshape", &guarded<&reshape>},
                                                 {"transpose", &guarded<&transpose>},
                                                 {"slice", &guarded<&slice>},
                                                 {"concat", &guarded<&concat>},
                                                 {"pad", &guarded<&pad>}}};

}  // namespace

void bind_graph(lua_State* L) { set_functions(L, kFunctions); }

void bind_short_forms(lua_State* L) { set_functions(L, kShortForms); }

bool has_short_form(const std::string& kind) {
  return std::ranges::any_of(kShortForms, [&](const Function& f) { return kind == f.name; });
}

}  // namespace baleen
