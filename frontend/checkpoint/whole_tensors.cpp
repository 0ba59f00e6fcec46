/// \file Whole tensors out of shards.
#include "frontend/checkpoint/whole_tensors.hpp"

#include <nlohmann/json.hpp>
#include <set>

#include "baleen/dtype.hpp"
#include "frontend/checkpoint/digests.hpp"
#include "frontend/checkpoint/owned_part.hpp"

namespace baleen {
namespace {

OwnedPart whole_of(const ValueType& type) {
  OwnedPart part{0, piece_of(type.shape, {}, {}, {}), {}};
  part.elements = {0, part.piece.elements()};
  return part;
}

PersistentSpec spec_of(const std::string& name, const ValueType& type) { return {name, type, Role::parameter, ""}; }

nlohmann::json json_fact(const ShardFolder& folder, const std::string& name) {
  const auto found = folder.facts().find(name);
  return found == folder.facts().end() ? nlohmann::json() : nlohmann::json::parse(found->second, nullptr, false);
}

}  // namespace

Result<HostTensor> read_whole(const ShardFolder& folder, const std::string& name) {
  const ValueType& type = folder.tensors().at(name);
  const OwnedPart part = whole_of(type);
  HostTensor tensor{type.dtype, type.shape,
                    std::vector<std::byte>(static_cast<std::size_t>(part.count()) * dtype_size(type.dtype))};
  if (part.count() > 0) BALEEN_TRY(folder.read(ShardOf(spec_of(name, type), part, tensor.bytes.data()).get()));
  return tensor;
}

std::vector<std::string> parameter_names(const ShardFolder& folder) {
  const nlohmann::json said = json_fact(folder, "parameters");
  std::set<std::string> known;
  for (const auto& name : said)
    if (name.is_string()) known.insert(name.get<std::string>());
  std::vector<std::string> names;
  for (const auto& [name, type] : folder.tensors())
    if (!said.is_array() || known.contains(name)) names.push_back(name);
  return names;
}

Status verify_checkpoint(const ShardFormat& format, const std::filesystem::path& path) {
  BALEEN_TRY(format.verify(path.string()));
  BALEEN_TRY_ASSIGN(const auto folder, format.open(path.string()));
  const nlohmann::json digests = json_fact(*folder, "digests");
  if (!digests.is_object()) return {};
  for (const auto& [name, type] : folder->tensors()) {
    BALEEN_TRY_ASSIGN(const HostTensor tensor, read_whole(*folder, name));
    if (digests.value(name, "") != digest_text(digest_of(spec_of(name, type), whole_of(type), tensor.bytes)))
      return Error{BALEEN_IO, "`" + name + "` is not what the run saved: its digest differs", path.string()};
  }
  return {};
}

}  // namespace baleen
