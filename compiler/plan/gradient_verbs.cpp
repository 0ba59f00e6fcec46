/// \file Checks what strategies say about gradients and keeps it.
#include "compiler/plan/strategy_verbs.hpp"

#include "baleen/dtype.hpp"
#include "baleen/plugin.hpp"
#include "baleen/sized.hpp"

namespace baleen {

GradientVerbs::GradientVerbs(Graph& graph, const Job& job, std::string member, LossGradients& gradients)
    : graph_(graph), job_(job), member_(std::move(member)), gradients_(gradients) {
  for (std::size_t i = 0; i < gradients.all.size(); ++i)
    if (gradients.all[i].gradient != kNone) trained_.push_back(i);
  table_.seed = gradients.seed;
  table_.dtype = job.dtype;
  table_.count = [](void* p) { return static_cast<std::uint64_t>(self(p).trained_.size()); };
  table_.read = [](void* p, std::uint64_t number, baleen_gradient_t* out) {
    return self(p).run([&] { return self(p).read(number, *out); });
  };
  table_.replace = [](void* p, std::uint64_t number, ValueId gradient, ValueId value) {
    return self(p).run([&] { return self(p).replace(number, gradient, value); });
  };
  table_.norm = [](void* p, ValueId* out) {
    return self(p).run([&]() -> Status {
      BALEEN_TRY_ASSIGN(*out, append_norm(self(p).graph_, self(p).job_, self(p).gradients_));
      return {};
    });
  };
  table_.apply = [](void* p, ValueId condition) { return self(p).run([&] { return self(p).apply(condition); }); };
  table_.show = [](void* p, baleen_string_t name, ValueId scalar) {
    return self(p).run([&] { return self(p).show(std::string(view(name)), scalar); });
  };
  table_.stop = [](void* p, ValueId condition, baleen_string_t text) {
    return self(p).run([&] { return self(p).stop(condition, std::string(view(text))); });
  };
  table_.add_terms = [](void* p, baleen_string_t name, baleen_dtype_t dtype, std::uint32_t rank,
                        const std::int64_t* shape, double initial, ValueId* out) {
    return self(p).run([&]() -> Status {
      BALEEN_TRY_ASSIGN(*out, self(p).add_state(std::string(view(name)), {dtype, {shape, shape + rank}, {}}, initial));
      self(p).gradients_.states.back().spec.has_terms = true;
      return {};
    });
  };
  table_.approximate = [](void* p, std::uint64_t number, double share) {
    return self(p).run([&] { return self(p).approximate(number, share); });
  };
  // A caller of a program that learns decides when it does.
  table_.delay_update = [](void* p) {
    return self(p).run([&]() -> Status {
      self(p).gradients_.is_late = self(p).job_.states_prefix.empty();
      return {};
    });
  };
}

Status GradientVerbs::read(std::uint64_t number, baleen_gradient_t& out) const {
  if (number >= trained_.size()) return invalid("there is no gradient number " + std::to_string(number));
  const std::size_t at = trained_[number];
  const LossGradients::One& one = gradients_.all[at];
  const ParameterSpec& parameter = job_.parameters[at];
  BALEEN_TRY_ASSIGN(const ValueId value, graph_.parameter(parameter.name, parameter.type));
  const baleen_gradient_t found{sizeof(found), abi(parameter.name), value, one.gradient, one.value, 0};
  return copy_out(&out, found) ? Status() : no_size("read");
}

Status GradientVerbs::replace(std::uint64_t number, ValueId gradient, ValueId value) {
  if (number >= trained_.size()) return invalid("there is no gradient number " + std::to_string(number));
  if (gradients_.norm != kNone) return invalid("a gradient is replaced after the norm of all was asked for");
  const std::size_t at = trained_[number];
  const ValueType& type = job_.parameters[at].type;
  for (ValueId v : {gradient, value})
    if (v >= graph_.value_count() || graph_.value(v).shape != type.shape)
      return invalid("the gradient of `" + job_.parameters[at].name + "` must have its shape, " +
                     to_string(type.shape));
  if (graph_.value(value).dtype != type.dtype)
    return invalid("what updates `" + job_.parameters[at].name + "` must be " + std::string(dtype_name(type.dtype)));
  Value& summed = graph_.value(gradient);
  if (summed.role == Role::activation) summed.role = Role::gradient;
  graph_.fill_in_axes(gradient, type.axes);
  if (Value& before = graph_.value(gradients_.all[at].gradient); before.id != gradient && before.role == Role::gradient)
    before.role = Role::activation;
  gradients_.all[at] = {gradient, value};
  return {};
}

Status GradientVerbs::check_scalar(ValueId value, const char* what) const {
  if (value >= graph_.value_count()) return invalid(std::string(what) + ": no such value");
  if (graph_.value(value).rank() == 0 && is_floating(graph_.value(value).dtype)) return {};
  return invalid(std::string(what) + " takes a floating scalar, not one of shape " +
                 to_string(graph_.value(value).shape));
}

Status GradientVerbs::apply(ValueId condition) {
  BALEEN_TRY(check_scalar(condition, "apply"));
  if (gradients_.condition != kNone) {
    BALEEN_TRY_ASSIGN(condition, graph_.binary(BALEEN_X_MUL, gradients_.condition, condition));
  }
  gradients_.condition = condition;
  return {};
}

Status GradientVerbs::show(const std::string& name, ValueId scalar) {
  BALEEN_TRY(check_scalar(scalar, "show"));
  const std::string output = kFactPrefix + name;
  if (graph_.output(output) != kNone) return invalid("two strategies show `" + name + "`");
  graph_.set_output(output, scalar);
  return {};
}

Status GradientVerbs::stop(ValueId condition, std::string text) {
  BALEEN_TRY(check_scalar(condition, "stop"));
  const std::string output = "stop." + std::to_string(gradients_.stops.size());
  graph_.set_output(output, condition);
  gradients_.stops.push_back({output, std::move(text)});
  return {};
}

Status GradientVerbs::approximate(std::uint64_t number, double share) {
  if (number >= trained_.size()) return invalid("there is no gradient number " + std::to_string(number));
  if (!(share > 0)) return invalid("approximate: a share of " + std::to_string(share) + "; it is more than 0");
  gradients_.approximated[job_.parameters[trained_[number]].name] += share;
  return {};
}

Result<ValueId> GradientVerbs::add_state(const std::string& name, const ValueType& type, double initial) {
  const std::string own = job_.states_prefix + member_ + "." + name;
  PersistentSpec spec{own, type, Role::state, type.shape.empty() ? "control" : "optimizer"};
  spec.is_of_strategy = true;
  gradients_.states.push_back({std::move(spec), initial});
  return graph_.state(own, type);
}

}  // namespace baleen
