/// \file Parameters to and from a file, by the plugin that the file's ending chooses.
#include "frontend/checkpoint/parameter_file.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "baleen/dtype.hpp"
#include "frontend/checkpoint/tensor_files.hpp"
#include "frontend/checkpoint/tensor_writer.hpp"

namespace baleen {
namespace {

/// The widest elements first, then by name: as safetensors has them, so that the file grows from its beginning on.
std::vector<const PersistentBuffer*> parameters(const Session& session) {
  std::vector<const PersistentBuffer*> list;
  for (const PersistentBuffer& buffer : session.persistent().buffers)
    if (buffer.spec.role == Role::parameter) list.push_back(&buffer);
  std::ranges::sort(list, [](const PersistentBuffer* a, const PersistentBuffer* b) {
    const auto width_a = dtype_size(a->spec.type.dtype), width_b = dtype_size(b->spec.type.dtype);
    return width_a != width_b ? width_a > width_b : a->spec.name < b->spec.name;
  });
  return list;
}

using Take = std::function<void(const std::string& name, std::span<const std::byte> bytes)>;

/// A parameter in pieces, or as a whole where ranks have parts of it.
Status give(Session& session, const PersistentBuffer& buffer, const Take& take) {
  constexpr std::uint64_t kPiece = 4 << 20;
  const ValueType& type = buffer.spec.type;
  const std::uint64_t bytes = static_cast<std::uint64_t>(element_count(type.shape)) * dtype_size(type.dtype);
  const bool is_gathered = !buffer.spec.layout.empty();
  std::vector<std::byte> piece(is_gathered ? bytes : std::min(bytes, kPiece));
  if (is_gathered) {
    BALEEN_TRY(session.read_tensor(buffer.spec.name, piece.data(), bytes));
    take(buffer.spec.name, piece);
    return {};
  }
  for (std::uint64_t at = 0; at < bytes; at += kPiece) {
    const std::span<std::byte> part = std::span(piece).first(std::min(kPiece, bytes - at));
    BALEEN_TRY(session.read_own(buffer, at, part));
    take(buffer.spec.name, part);
  }
  return {};
}

/// What the precisions of the two allow.
Status check_dtype(const std::string& name, const ValueType& there, const ValueType& type, const std::string& path) {
  const auto is_wide = [](baleen_dtype_t dtype) { return dtype == BALEEN_F32 || dtype == BALEEN_F64; };
  if (there.dtype == type.dtype || (is_wide(there.dtype) && is_wide(type.dtype))) return {};
  return unsupported("`" + name + "` is " + std::string(dtype_name(there.dtype)) + " in the file and " +
                         std::string(dtype_name(type.dtype)) + " in the model; only fp32 and fp64 are converted",
                     path);
}

}  // namespace

bool gathers_parameters(const Session& session) {
  return std::ranges::any_of(session.persistent().buffers, [](const PersistentBuffer& each) {
    return each.spec.role == Role::parameter && !each.spec.layout.empty();
  });
}

Result<SavedFile> save_parameters(Session& session, const Registry& plugins, const std::string& path,
                                  const std::map<std::string, std::string>& facts, bool writes) {
  const std::vector<const PersistentBuffer*> list = parameters(session);
  Status written;
  std::unique_ptr<TensorWriter> writer;
  if (writes) {
    std::map<std::string, ValueType> types;
    for (const PersistentBuffer* buffer : list) types[buffer->spec.name] = buffer->spec.type;
    auto begun = TensorWriter::begin(plugins, path, types, facts);
    if (begun)
      writer = std::move(*begun);
    else
      written = begun.error();
  }
  const Take take = [&](const std::string& name, std::span<const std::byte> bytes) {
    if (writer && written) written = writer->append(name, bytes);
  };
  // Where it cannot be written, too, what others have a part of is brought together: they are at it.
  for (const PersistentBuffer* buffer : list)
    if (!buffer->spec.layout.empty() || (writer && written)) BALEEN_TRY(give(session, *buffer, take));
  if (writer && written) written = writer->commit();
  const bool is_there = !writes || written || (writer && writer->is_there());
  return SavedFile{std::move(written), is_there};
}

Status load_parameters(Session& session, const Registry& plugins, const std::string& path, const LoadParts& parts) {
  BALEEN_TRY_ASSIGN(const auto file, open_tensor_files(plugins, {path}));
  BALEEN_TRY_ASSIGN(const auto taken, match_parts(session.persistent(), file->tensors(), parts, path));
  const auto spec = [&](const LoadedTensor& one) -> const PersistentSpec& {
    return session.persistent().buffers[one.buffer].spec;
  };
  for (const LoadedTensor& one : taken)
    BALEEN_TRY(check_dtype(one.stored, file->tensors().at(one.stored), spec(one).type, path));
  for (const LoadedTensor& one : taken) {
    BALEEN_TRY_ASSIGN(HostTensor tensor, file->read(one.stored));
    BALEEN_TRY_ASSIGN(tensor, with_dtype(std::move(tensor), spec(one).type.dtype));
    BALEEN_TRY(session.write_tensor(spec(one).name, tensor.bytes.data(), tensor.bytes.size()));
  }
  return {};
}

}  // namespace baleen
