/// \file Reads the job that a script returned, and has the library describe its graphs.
#include <algorithm>

#include "baleen/dtype.hpp"
#include "frontend/lua/arguments.hpp"
#include "frontend/lua/data_handle.hpp"
#include "frontend/lua/fields.hpp"
#include "frontend/lua/job_reader.hpp"
#include "frontend/lua/member_spec.hpp"

namespace baleen {
namespace {

constexpr const char* kType = "baleen.job";

/// is_tensor(value)
int tensor_or_not(lua_State* L) {
  lua_pushboolean(L, is_tensor(L, 1));
  return 1;
}

int new_job(lua_State* L) {
  lua_settop(L, 1);
  luaL_setmetatable(L, kType);
  return 1;
}

MemberSpec read_member(const Fields& fields, const std::string& family, std::int64_t steps) {
  MemberSpec spec;
  spec.name = fields.text("name");
  spec.where = fields.text("where");
  MemberOptions options = fields.options(family + " `" + spec.name + "`", spec.where, steps);
  spec.options = std::move(options.values);
  spec.schedules = std::move(options.schedules);
  return spec;
}

ParameterGroup read_group(const Fields& fields, const std::string& optimizer, std::int64_t steps) {
  ParameterGroup group;
  group.where = fields.text("where");
  group.patterns = fields.texts("match");
  group.frozen = fields.boolean("frozen");
  MemberOptions options = fields.options("a group of optimizer `" + optimizer + "`", group.where, steps);
  group.options = std::move(options.values);
  group.schedules = std::move(options.schedules);
  return group;
}

void read_optimizer(const Fields& fields, std::int64_t steps, MemberSpec& optimizer,
                    std::vector<ParameterGroup>& groups) {
  optimizer = read_member(fields, "optimizer", steps);
  fields.each("groups", [&](const Fields& group) { groups.push_back(read_group(group, optimizer.name, steps)); });
}

/// How a program with an optimizer trains.
Learning read_learning(const Fields& program, std::int64_t steps) {
  Learning learning;
  program.with("optimizer",
               [&](const Fields& optimizer) { read_optimizer(optimizer, steps, learning.optimizer, learning.groups); });
  learning.parameters = program.texts("parameters");
  learning.clip_grad_norm = program.number("clip_grad_norm");
  return learning;
}

/// Describes one graph of the job.
class GraphDescriber {
 public:
  GraphDescriber(lua_State* L, int job, Description& description) : L_(L), job_(job), description_(description) {}

  Graph training(const char* name, const baleen_dataset_info_t& info, std::int64_t batch) {
    const StackGuard guard(L_);
    const bool trained = std::string_view(name) == kTrainGraph;
    description_.begin(name, trained, trained);
    begin_call(name);
    for (std::uint32_t i = 0; i < info.field_count; ++i) add_input(info.fields[i], batch);
    lua_call(L_, 3, 1);
    read_outputs(true);
    require_output("loss");
    require_output("weight");
    refuse_trained_weight("the loss's weight");
    return description_.finish();
  }

  /// One of the job's named programs. `alone`: there is no graph that is trained.
  Graph program(const Fields& given, bool alone) {
    const StackGuard guard(L_);
    const std::string name = given.text("name");
    std::vector<NamedType> inputs;
    given.each("inputs", [&](const Fields& input) {
      inputs.push_back(
          {input.text("name"), {dtype_named(input.text("dtype")), input.integers("shape"), input.texts("axes")}});
    });
    const bool learns = given.boolean("learns");
    description_.begin(name, learns, learns || alone);
    begin_call(name.c_str());
    for (const auto& [input, type] : inputs) add_input(input, type);
    lua_call(L_, 3, 1);
    read_outputs(false);
    if (learns) check_learning("program `" + name + "`");
    return description_.finish();
  }

 private:
  /// A loss to differentiate and what to divide it by, 1 unless it is given.
  void check_learning(const std::string& program) {
    Graph& graph = description_.graph();
    if (graph.output("loss") == kNone)
      fail(program + " has an optimizer and gives no `loss`; let `run` return one, a single number");
    if (graph.output("gradient_norm") != kNone)
      fail(program + ": the output `gradient_norm` is the library's own; give yours another name");
    if (graph.output("weight") == kNone) graph.set_output("weight", unwrap(graph.constant(1, description_.dtype())));
    refuse_trained_weight(program + ": `weight`");
  }

  [[noreturn]] void fail(const std::string& message) const {
    throw ScriptError(invalid(message, Fields(L_, job_).text("where")));
  }

  /// Pushes the library's function, the job, the graph's name and an empty table of inputs.
  void begin_call(const char* name) {
    LuaState::of(L_).push_library_require();
    lua_pushstring(L_, "baleen.describe");
    lua_call(L_, 1, 1);
    lua_pushvalue(L_, job_);
    lua_pushstring(L_, name);
    lua_newtable(L_);
  }

  void add_input(const baleen_field_t& field, std::int64_t batch) {
    ValueType type;
    type.dtype = field.dtype == BALEEN_F32 ? description_.dtype() : field.dtype;
    type.shape = {batch};
    type.axes = {"batch"};
    type.shape.insert(type.shape.end(), field.shape, field.shape + field.rank);
    type.axes.insert(type.axes.end(), field.axes, field.axes + field.rank);
    add_input(field.name, type);
  }

  void add_input(const std::string& name, const ValueType& type) {
    push_tensor(L_, unwrap(description_.graph().input(name, type)));
    lua_setfield(L_, -2, name.c_str());
  }

  /// fp32 is the job's own floating dtype, as it is of data.
  baleen_dtype_t dtype_named(const std::string& name) const {
    for (const baleen_dtype_t dtype : {BALEEN_I32, BALEEN_I64, BALEEN_U8})
      if (name == dtype_name(dtype)) return dtype;
    return description_.dtype();
  }

  /// The result on the top of the stack: a list of { name, tensor or number }, in the order of the outputs.
  void read_outputs(bool measured) {
    const int list = lua_gettop(L_);
    const auto count = static_cast<lua_Integer>(lua_rawlen(L_, list));
    for (lua_Integer i = 1; i <= count; ++i) {
      lua_rawgeti(L_, list, i);
      lua_rawgeti(L_, -1, 1);
      lua_rawgeti(L_, -2, 2);
      const std::string name = lua_tostring(L_, -2);
      const bool number = measured || (description_.learns() && (name == "loss" || name == "weight"));
      description_.graph().set_output(name, number ? measured_value(name) : output_value(name));
      lua_settop(L_, list);
    }
  }

  ValueId output_value(const std::string& name) {
    if (!is_tensor(L_, -1)) fail("`" + name + "` is " + describe_value(L_, -1) + "; it must be a tensor");
    return Arguments(L_, name).tensor(lua_gettop(L_), name.c_str());
  }

  /// A loss, a metric, or the weight of one.
  ValueId measured_value(const std::string& name) {
    Graph& graph = description_.graph();
    if (lua_type(L_, -1) == LUA_TNUMBER) return unwrap(graph.constant(lua_tonumber(L_, -1), description_.dtype()));
    const ValueId value = output_value(name);
    if (graph.value(value).rank() != 0)
      fail("`" + name + "` has the shape " + to_string(graph.value(value).shape) +
           "; it must be a single number, a sum over the batch (use `sum`)");
    if (graph.value(value).dtype != description_.dtype())
      fail("`" + name + "` is of type " + std::string(dtype_name(graph.value(value).dtype)) +
           "; convert it with `float`");
    return value;
  }

  void require_output(const char* name) {
    if (description_.graph().output(name) == kNone) fail(std::string("the model gives no `") + name + "`");
  }

  /// The weight is needed before the backward pass.
  void refuse_trained_weight(const std::string& what) {
    const Graph& graph = description_.graph();
    std::vector<ValueId> open{graph.output("weight")};
    std::vector<char> seen(graph.value_count(), 0);
    while (!open.empty()) {
      const ValueId value = open.back();
      open.pop_back();
      if (seen[value]++) continue;
      if (graph.value(value).role == Role::parameter)
        fail(what + " depends on the parameter `" + graph.value(value).name +
             "`; it must depend on the batch alone, as a count of targets does");
      const Op* producer = graph.producer(value);
      open.insert(open.end(), producer->inputs.begin(), producer->inputs.end());
    }
  }

  lua_State* L_;
  int job_;
  Description& description_;
};

/// Those that the script says around its forward code.
void take_micro_batches(const Description& description, Job& job) {
  const auto& [count, where] = description.micro_batches();
  if (count == 0) return;
  if (job.gradient_accumulation_steps != 1 && job.gradient_accumulation_steps != count)
    throw ScriptError(invalid("parallel.pipeline: `micro_batches` is " + std::to_string(count) +
                                  ", and the job's `gradient_accumulation_steps` " +
                                  std::to_string(job.gradient_accumulation_steps) + "; leave one of the two out",
                              where));
  job.gradient_accumulation_steps = count;
}

/// What says how it trains, beside data and graphs.
void read_training(const Fields& fields, DescribedJob& result) {
  for (const std::string& doubt : fields.texts("doubts")) result.doubts.push_back(result.job.where + ": " + doubt);
  Job& job = result.job;
  job.batch = fields.integer("batch");
  job.gradient_accumulation_steps = fields.integer("gradient_accumulation_steps");
  job.clip_grad_norm = fields.number("clip_grad_norm");
  fields.with("evaluate", [&](const Fields& given) { result.evaluate_batches = given.integer("batches"); });
  fields.with("optimizer",
              [&](const Fields& optimizer) { read_optimizer(optimizer, result.steps, job.optimizer, job.groups); });
}

void read_loop(lua_State* L, int table, DescribedJob& result) {
  for (const char* const name : {"evaluate", "generate"}) {
    lua_getfield(L, table, name);
    result.loop[name] = read_options(L, -1, name, result.job.where, result.steps).values;
    lua_pop(L, 1);
  }
}

}  // namespace

DescribedJob read_job(lua_State* L, int index, Description& description) {
  const int table = lua_absindex(L, index);
  const Fields fields(L, table);
  DescribedJob result;
  Job& job = result.job;
  GraphDescriber describer(L, table, description);
  result.steps = fields.integer("steps");
  job.where = fields.text("where");
  LuaState::of(L).job_where = job.where;
  job.goes_on_not_finite = fields.text("on_nan") == "continue";
  job.dtype = description.dtype();
  job.seed = static_cast<std::uint64_t>(fields.integer("seed"));
  fields.each("plan", [&](const Fields& strategy) {
    job.strategies.push_back(read_member(strategy, "strategy", result.steps));
  });
  if (lua_getfield(L, table, "checkpoint") != LUA_TNIL)
    result.checkpoint = read_options(L, -1, "checkpoint", job.where, result.steps).values;
  lua_pop(L, 1);
  fields.with("check", [&](const Fields& check) {
    job.check_every = check.integer("every");
    job.check_memory = check.boolean("memory");
  });
  const bool trains = fields.boolean("trains");
  if (trains) {
    read_training(fields, result);
    read_loop(L, table, result);
    lua_getfield(L, table, "data");
    result.data = data_at(L, -1, job.seed);
    lua_pop(L, 1);
    job.train() = describer.training(kTrainGraph, result.data->info(), job.batch);
    take_micro_batches(description, job);
  }
  // Those that learn first: they may add parameters.
  bool any_learns = trains;
  for (const bool learns : {true, false})
    fields.each("program_list", [&](const Fields& program) {
      if (program.boolean("learns") != learns) return;
      any_learns |= learns;
      JobGraph& graph = job.graphs[program.text("name")];
      graph = {learns ? GraphRole::learn : GraphRole::infer, program.boolean("replicated"),
               describer.program(program, !any_learns)};
      if (learns) graph.learning = read_learning(program, result.steps);
    });
  if (trains && result.data->info().rows[BALEEN_HELD_OUT] > 0)
    job.graphs["evaluate"] = {GraphRole::evaluate, false,
                              describer.training("evaluate", result.data->info(), job.batch)};
  description.check_layouts();
  job.parameters = description.parameters();
  job.annotations = description.annotations();
  return result;
}

void bind_job(lua_State* L) {
  lua_pushcfunction(L, &guarded<&new_job>);
  lua_setfield(L, -2, "new_job");
  lua_pushcfunction(L, &guarded<&tensor_or_not>);
  lua_setfield(L, -2, "is_tensor");
  luaL_newmetatable(L, kType);
  lua_pushstring(L, "job");
  lua_setfield(L, -2, "__name");
  lua_pop(L, 1);
}

bool is_job(lua_State* L, int index) {
  if (!lua_istable(L, index) || !lua_getmetatable(L, index)) return false;
  luaL_getmetatable(L, kType);
  const bool same = lua_rawequal(L, -1, -2) != 0;
  lua_pop(L, 2);
  return same;
}

}  // namespace baleen
