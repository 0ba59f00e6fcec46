/// \file Layouts that a script chooses by hand: around forward code, and by name.
#include <array>

#include "frontend/lua/bindings.hpp"

namespace baleen {
namespace {

/// begin_annotation(kind, axis, dim, where): what is made until end_annotation belongs to it. Returns a mark for that.
int begin_annotation(lua_State* L) {
  const Arguments arguments(L, "begin_annotation");
  Annotation annotation;
  annotation.kind = arguments.text(1, "kind") == "split" ? Annotation::Kind::split : Annotation::Kind::replicate;
  annotation.axis = arguments.text(2, "axis");
  annotation.dim = arguments.text(3, "dim");
  annotation.where = arguments.text(4, "where");
  Description& description = description_of(L);
  lua_pushinteger(L,
                  static_cast<lua_Integer>(description.enter(std::move(annotation), LuaState::of(L).place(L).depth)));
  return 1;
}

/// end_annotation(mark): checks that there was something to split.
int end_annotation(lua_State* L) {
  description_of(L).check_split(static_cast<std::size_t>(Arguments(L, "end_annotation").integer(1, "mark")));
  return 0;
}

/// micro_batches(count, where): into how many a step's batch is cut.
int micro_batches(lua_State* L) {
  const Arguments arguments(L, "micro_batches");
  description_of(L).set_micro_batches(arguments.integer(1, "count"), arguments.text(2, "where"));
  return 0;
}

/// layout(pattern, axis, dim, where): of what has such a name. `dim`: a logical axis, a dimension from 1 (or from -1
/// for the last), or 0 for whole.
int layout(lua_State* L) {
  const Arguments arguments(L, "layout");
  Annotation annotation;
  annotation.kind = Annotation::Kind::layout;
  annotation.pattern = arguments.text(1, "pattern");
  annotation.axis = arguments.text(2, "axis");
  if (lua_type(L, 3) == LUA_TSTRING)
    annotation.dim = arguments.text(3, "dim");
  else
    annotation.number = static_cast<int>(arguments.integer(3, "dim"));
  annotation.where = arguments.text(4, "where");
  description_of(L).annotate(std::move(annotation));
  return 0;
}

/// result(...): what the present layer returns; passes it on.
int result(lua_State* L) {
  const int count = lua_gettop(L);
  if (count > 0 && is_tensor(L, 1)) description_of(L).name_result(Arguments(L, "result").tensor(1, "result"));
  return count;
}

}  // namespace

void bind_parallel(lua_State* L) {
  set_functions(L, std::array<Function, 5>{{{"begin_annotation", &guarded<&begin_annotation>},
                                            {"end_annotation", &guarded<&end_annotation>},
                                            {"micro_batches", &guarded<&micro_batches>},
                                            {"layout", &guarded<&layout>},
                                            {"result", &guarded<&result>}}});
}

}  // namespace baleen
