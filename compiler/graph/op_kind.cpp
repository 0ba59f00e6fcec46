/// \file The registry of kinds.
#include "compiler/graph/op_kind.hpp"

namespace baleen {

Status OpRegistry::add(OpKind kind) {
  const std::string name = kind.name;
  if (!kinds_.emplace(name, std::move(kind)).second) return internal("op kind `" + name + "` is registered twice");
  return {};
}

const OpKind* OpRegistry::find(const std::string& name) const {
  auto it = kinds_.find(name);
  return it == kinds_.end() ? nullptr : &it->second;
}

std::vector<const OpKind*> OpRegistry::all() const {
  std::vector<const OpKind*> result;
  for (const auto& [name, kind] : kinds_) result.push_back(&kind);
  return result;
}

}  // namespace baleen
