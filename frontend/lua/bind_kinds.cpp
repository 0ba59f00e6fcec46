/// \file A Lua function for each kind of op that has a schema: its operands in order, then a table of attributes.
#include <algorithm>

#include "core/input/nearest.hpp"
#include "frontend/lua/bindings.hpp"

namespace baleen {
namespace {

/// The value on the top of the stack as the attribute.
Attribute read_attribute(const Arguments& arguments, const AttributeSpec& spec, const std::vector<ValueId>& operands) {
  const int top = lua_gettop(arguments.lua());
  const char* name = spec.name.c_str();
  const auto of = [&] {
    if (operands.empty()) throw ScriptError(invalid(arguments.name() + ": `" + spec.name + "` is of no operand"));
    return operands[0];
  };
  switch (spec.type) {
    case BALEEN_RULE_INTEGER: return Attributes::ints({arguments.integer(top, name)});
    case BALEEN_RULE_INTEGERS: return Attributes::ints(arguments.integers(top, name));
    case BALEEN_RULE_NUMBER: return Attributes::floats({arguments.number(top, name)});
    case BALEEN_RULE_TEXT: return arguments.text(top, name);
    case BALEEN_RULE_DTYPE: {
      auto dtype = parse_attribute(spec, arguments.text(top, name));
      if (!dtype) arguments.refuse(top, name, spec.expected());
      return *std::move(dtype);
    }
    case BALEEN_RULE_DIMENSION: return Attributes::ints({arguments.dimension(top, name, of())});
    case BALEEN_RULE_DIMENSIONS: return Attributes::ints(arguments.dimensions(top, name, of()));
    case BALEEN_RULE_BOOLEAN:
      if (!lua_isboolean(arguments.lua(), top)) arguments.refuse(top, name, spec.expected());
      return Attributes::ints({arguments.boolean(top)});
    default: arguments.refuse(top, name, "left out: scripts do not write it");
  }
}

/// The tensors before the table of attributes, and the number of the argument behind them. An optional one may be nil.
std::vector<ValueId> read_operands(const Arguments& arguments, const OpSchema& schema, int& index) {
  std::vector<ValueId> operands;
  index = 1;
  const OperandSpec* left_out = nullptr;
  for (const OperandSpec& spec : schema.operands) {
    if (spec.optional() && lua_istable(arguments.lua(), index)) continue;
    if (spec.optional() && arguments.absent(index)) {
      left_out = &spec;
    } else {
      operands.push_back(arguments.tensor(index, spec.name.c_str()));
      if (left_out && spec.optional())
        throw ScriptError(invalid(arguments.name() + ": `" + spec.name + "` is given and `" + left_out->name +
                                  "`, which stands before it, is not"));
    }
    ++index;
  }
  return operands;
}

Attributes read_attributes(const Arguments& arguments, const OpSchema& schema, const std::vector<ValueId>& operands,
                           int index) {
  lua_State* L = arguments.lua();
  if (lua_gettop(L) > index)
    throw ScriptError(invalid(arguments.name() + " takes " + schema.signature() +
                              " and a table of options; it was given " + std::to_string(lua_gettop(L)) + " arguments"));
  Attributes attributes;
  if (arguments.absent(index)) return attributes;
  if (!lua_istable(L, index)) arguments.refuse(index, "options", "a table of options");
  std::vector<std::string> known;
  for (const AttributeSpec& spec : schema.attributes) known.push_back(spec.name);
  for (lua_pushnil(L); lua_next(L, index) != 0; lua_pop(L, 1)) {
    lua_pushvalue(L, -2);
    const std::string key = luaL_tolstring(L, -1, nullptr);
    lua_pop(L, 2);
    const AttributeSpec* spec = schema.find(key);
    if (!spec) throw ScriptError(invalid(arguments.name() + ": " + unknown_word("option", key, known)));
    attributes.set(key, read_attribute(arguments, *spec, operands));
  }
  return attributes;
}

/// Upvalue 1 is the kind.
int call_kind(lua_State* L) {
  const auto& kind = *static_cast<const OpKind*>(lua_touserdata(L, lua_upvalueindex(1)));
  const Arguments arguments(L, kind.name);
  int index = 1;
  const std::vector<ValueId> operands = read_operands(arguments, *kind.schema, index);
  Attributes attributes = read_attributes(arguments, *kind.schema, operands, index);
  auto results = description_of(L).append(kind.name, operands, std::move(attributes), place_of_op(L));
  std::vector<ValueId> visible;
  for (std::size_t i = 0; i < results.size(); ++i)
    if (!kind.schema->results[i].has(BALEEN_RESULT_INTERNAL)) visible.push_back(results[i]);
  push_tensors(L, visible);
  return static_cast<int>(visible.size());
}

}  // namespace

void bind_kinds(lua_State* L, const OpRegistry& registry) {
  for (const OpKind* kind : registry.all()) {
    if (!kind->schema || kind->schema->derived) continue;
    if (lua_getfield(L, -1, kind->name.c_str()) != LUA_TNIL)
      throw ScriptError(invalid("the plugin `" + kind->schema->plugin + "` has an op kind `" + kind->name +
                                "`, which is the name of a function of `ops` already"));
    lua_pop(L, 1);
    lua_pushlightuserdata(L, const_cast<OpKind*>(kind));
    lua_pushcclosure(L, &guarded<&call_kind>, 1);
    lua_setfield(L, -2, kind->name.c_str());
  }
}

}  // namespace baleen
