/// \file Ops per element: a function for every opcode, on tensors (an op each) and on the terms of one `pointwise` op.
#include <algorithm>
#include <array>

#include "baleen/expression.hpp"
#include "frontend/lua/bindings.hpp"
#include "frontend/lua/tensor.hpp"

namespace baleen {
namespace {

constexpr const char* kTermType = "baleen.term";

/// An instruction of the expression that is being written.
struct Term {
  std::uint32_t serial;
  std::uint32_t instruction;
};

const Term* to_term(lua_State* L, int index) { return static_cast<const Term*>(luaL_testudata(L, index, kTermType)); }

void push_term(lua_State* L, std::uint32_t instruction) {
  auto* term = static_cast<Term*>(lua_newuserdatauv(L, sizeof(Term), 0));
  *term = {description_of(L).trace()->serial, instruction};
  luaL_setmetatable(L, kTermType);
}

/// Inside a function of elements: a term or a number.
std::uint32_t instruction_at(const Arguments& arguments, int index, const char* what, Description::Trace& trace) {
  lua_State* L = arguments.lua();
  if (lua_type(L, index) == LUA_TNUMBER) return trace.expression.constant(lua_tonumber(L, index));
  const Term* term = to_term(L, index);
  if (term && term->serial == trace.serial) return term->instruction;
  if (is_tensor(L, index))
    throw ScriptError(
        invalid(arguments.name() + ": a whole tensor inside a function of elements; pass it to `pointwise` too"));
  arguments.refuse(index, what, "a number or an argument of the function");
}

/// Outside: tensors and numbers become an expression over the distinct tensors.
std::uint32_t operand_at(const Arguments& arguments, int index, const char* what, Expression& expression,
                         std::vector<ValueId>& inputs) {
  lua_State* L = arguments.lua();
  if (lua_type(L, index) == LUA_TNUMBER) return expression.constant(lua_tonumber(L, index));
  if (!is_tensor(L, index)) arguments.refuse(index, what, "a tensor or a number");
  const ValueId value = arguments.tensor(index, what);
  auto known = std::find(inputs.begin(), inputs.end(), value);
  if (known == inputs.end()) known = inputs.insert(inputs.end(), value);
  return expression.input(static_cast<std::uint32_t>(known - inputs.begin()));
}

std::uint32_t append_opcode(Expression& e, std::uint32_t opcode, const std::array<std::uint32_t, 3>& operands) {
  switch (operand_count(opcode)) {
    case 1: return e.unary(opcode, operands[0]);
    case 2: return e.binary(opcode, operands[0], operands[1]);
    default: return e.select(operands[0], operands[1], operands[2]);
  }
}

/// The opcode is the upvalue.
int apply_opcode(lua_State* L) {
  const auto opcode = static_cast<std::uint32_t>(lua_tointeger(L, lua_upvalueindex(1)));
  const Arguments arguments(L, opcode_name(opcode));
  const int count = operand_count(opcode);
  // Lua calls what stands for a minus sign with the operand twice.
  const bool is_sign = count == 1 && lua_gettop(L) == 2 && lua_rawequal(L, 1, 2) != 0;
  if (lua_gettop(L) > count && !is_sign)
    throw ScriptError(invalid(arguments.name() + ": it takes " + std::to_string(count) +
                              (count == 1 ? " operand" : " operands") + ", but is given " +
                              describe_value(L, count + 1) + " too"));
  static constexpr const char* kNames[] = {"a", "b", "c"};
  std::array<std::uint32_t, 3> operands{};
  Description& description = description_of(L);
  if (Description::Trace* trace = description.trace()) {
    for (int i = 0; i < count; ++i) operands[i] = instruction_at(arguments, i + 1, kNames[i], *trace);
    push_term(L, append_opcode(trace->expression, opcode, operands));
    return 1;
  }
  Expression expression;
  std::vector<ValueId> inputs;
  for (int i = 0; i < count; ++i) operands[i] = operand_at(arguments, i + 1, kNames[i], expression, inputs);
  if (inputs.empty())
    throw ScriptError(invalid(arguments.name() + ": give at least one tensor; for numbers alone there is `math`"));
  const std::int64_t result = append_opcode(expression, opcode, operands);
  push_tensors(L, description.pointwise(inputs, std::move(expression), {result}, {}, place_of_op(L)));
  return 1;
}

/// Ends the trace however the script's function ends.
class TraceGuard {
 public:
  TraceGuard(Description& description, std::int64_t rank) : description_(description) { description.begin_trace(rank); }
  ~TraceGuard() { description_.end_trace(); }
  TraceGuard(const TraceGuard&) = delete;
  TraceGuard& operator=(const TraceGuard&) = delete;

 private:
  Description& description_;
};

/// pointwise(f, x, ...): one op whose expression is what f does with an element of each.
int pointwise(lua_State* L) {
  const Arguments arguments(L, "pointwise");
  Description& description = description_of(L);
  if (!lua_isfunction(L, 1)) arguments.refuse(1, "f", "a function of elements");
  if (description.trace()) throw ScriptError(invalid("pointwise: this is a function of elements already"));
  std::vector<ValueId> inputs;
  std::int64_t rank = 0;
  for (int i = 2; i <= lua_gettop(L); ++i) {
    inputs.push_back(arguments.tensor(i, "x"));
    rank = std::max<std::int64_t>(rank, static_cast<std::int64_t>(description.graph().value(inputs.back()).rank()));
  }
  if (inputs.empty()) arguments.refuse(2, "x", "a tensor");
  std::vector<std::int64_t> results;
  Expression expression;
  {
    const TraceGuard guard(description, rank);
    Description::Trace& trace = *description.trace();
    const int base = lua_gettop(L);
    lua_pushvalue(L, 1);
    luaL_checkstack(L, static_cast<int>(inputs.size()) + 4, "too many tensors");
    for (std::uint32_t i = 0; i < inputs.size(); ++i) push_term(L, trace.expression.input(i));
    lua_call(L, static_cast<int>(inputs.size()), LUA_MULTRET);
    for (int i = base + 1; i <= lua_gettop(L); ++i)
      results.push_back(instruction_at(arguments, i, "result of f", trace));
    expression = std::move(trace.expression);
  }
  if (results.empty()) throw ScriptError(invalid("pointwise: the function of elements returns nothing"));
  const auto values = description.pointwise(inputs, std::move(expression), results, {}, place_of_op(L));
  push_tensors(L, values);
  return static_cast<int>(values.size());
}

/// One instruction without operands: a term inside a function of elements, else a tensor of `shape`.
int leaf(lua_State* L, Expression expression, std::uint32_t result, const Shape& shape) {
  push_tensors(L, description_of(L).pointwise({}, std::move(expression), {result}, shape, place_of_op(L)));
  return 1;
}

template <std::uint32_t Opcode>
int random(lua_State* L) {
  const Arguments arguments(L, opcode_name(Opcode));
  Description& description = description_of(L);
  const std::uint64_t site = description.next_site();
  if (Description::Trace* trace = description.trace()) {
    push_term(L, trace->expression.random(Opcode, site));
    return 1;
  }
  Expression expression;
  const auto result = expression.random(Opcode, site);
  return leaf(L, std::move(expression), result, arguments.integers(1, "shape"));
}

std::uint32_t checked_index(std::int64_t dim, std::int64_t rank) {
  const std::int64_t number = dim < 0 ? dim + rank : dim - 1;
  if (dim == 0 || number < 0 || number >= rank)
    throw ScriptError(invalid("index: `dim` is " + std::to_string(dim) + ", but the tensor has the dimensions 1 to " +
                              std::to_string(rank) + " (-1 is the last)"));
  return static_cast<std::uint32_t>(number);
}

/// index(dim) inside a function of elements, index(shape, dim) outside: coordinates, from 0.
int index(lua_State* L) {
  const Arguments arguments(L, "index");
  if (Description::Trace* trace = description_of(L).trace()) {
    push_term(L, trace->expression.index(checked_index(arguments.integer(1, "dim"), trace->rank)));
    return 1;
  }
  const Shape shape = arguments.integers(1, "shape");
  Expression expression;
  const auto dim = checked_index(arguments.integer(2, "dim"), static_cast<std::int64_t>(shape.size()));
  const auto result = expression.index(dim);
  return leaf(L, std::move(expression), result, shape);
}

int step(lua_State* L) {
  if (Description::Trace* trace = description_of(L).trace()) {
    push_term(L, trace->expression.step());
    return 1;
  }
  Expression expression;
  const auto result = expression.step();
  return leaf(L, std::move(expression), result, {});
}

/// constant(value [, shape])
int constant(lua_State* L) {
  const Arguments arguments(L, "constant");
  Expression expression;
  const auto result = expression.constant(arguments.number(1, "value"));
  return leaf(L, std::move(expression), result, arguments.absent(2) ? Shape{} : arguments.integers(2, "shape"));
}

/// float(x): integers in the job's dtype.
int to_float(lua_State* L) {
  const Arguments arguments(L, "float");
  Expression expression;
  const auto result = expression.input(0);
  push_tensors(
      L, description_of(L).pointwise({arguments.tensor(1, "x")}, std::move(expression), {result}, {}, place_of_op(L)));
  return 1;
}

void set_operators(lua_State* L) {
  const std::pair<const char*, std::uint32_t> operators[] = {{"__add", BALEEN_X_ADD}, {"__sub", BALEEN_X_SUB},
                                                             {"__mul", BALEEN_X_MUL}, {"__div", BALEEN_X_DIV},
                                                             {"__pow", BALEEN_X_POW}, {"__unm", BALEEN_X_NEG}};
  for (const auto& [name, opcode] : operators) {
    lua_pushinteger(L, opcode);
    lua_pushcclosure(L, &guarded<&apply_opcode>, 1);
    lua_setfield(L, -2, name);
  }
}

}  // namespace

void bind_pointwise(lua_State* L) {
  for (std::uint32_t opcode = BALEEN_X_NEG; opcode < BALEEN_X_ROUND; ++opcode) {
    if (operand_count(opcode) < 1) continue;
    lua_pushinteger(L, opcode);
    lua_pushcclosure(L, &guarded<&apply_opcode>, 1);
    lua_setfield(L, -2, opcode_name(opcode));
  }
  set_functions(L, std::array<Function, 7>{{{"pointwise", &guarded<&pointwise>},
                                            {"uniform", &guarded<&random<BALEEN_X_UNIFORM>>},
                                            {"normal", &guarded<&random<BALEEN_X_NORMAL>>},
                                            {"index", &guarded<&index>},
                                            {"step", &guarded<&step>},
                                            {"constant", &guarded<&constant>},
                                            {"float", &guarded<&to_float>}}});
  make_tensor_type(L);
  luaL_getmetatable(L, "baleen.tensor");
  set_operators(L);
  lua_pop(L, 1);
  luaL_newmetatable(L, kTermType);
  set_operators(L);
  lua_pushvalue(L, -2);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
}

}  // namespace baleen
