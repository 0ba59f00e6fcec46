/// \file Opening: refuse what is no safetensors file, then check the header before anything else is read.
#include "reader.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <bit>

#include "hash.hpp"

namespace baleen::safetensors {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little endian");

Status read_at(const FileHandle& file, std::span<std::byte> out, std::uint64_t from, const std::string& path) {
  while (!out.empty()) {
    const ssize_t got = ::pread(file.get(), out.data(), out.size(), static_cast<off_t>(from));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error("cannot read", path);
    if (got == 0) return Error{BALEEN_IO, "the file shrank while it was read", path};
    out = out.subspan(static_cast<std::size_t>(got));
    from += static_cast<std::uint64_t>(got);
  }
  return {};
}

/// PyTorch's files are zip archives ("PK") or bare pickles (0x80, protocol).
bool is_pickle(std::string_view path, const std::array<std::byte, 8>& head) {
  const bool zip = head[0] == std::byte{'P'} && head[1] == std::byte{'K'};
  const bool pickle = head[0] == std::byte{0x80} && head[1] >= std::byte{2} && head[1] <= std::byte{5};
  const auto endings = {".bin", ".pt", ".pth", ".ckpt", ".pkl"};
  const bool named = std::any_of(endings.begin(), endings.end(), [&](const char* end) { return path.ends_with(end); });
  return zip || (named && pickle);
}

Error refuse_pickle(const std::string& path) {
  return unsupported(
      "is a pickle file, which can run any code when it is read and is never opened; convert it in Python: "
      "safetensors.torch.save_file(torch.load(path, weights_only=True), \"model.safetensors\")",
      path);
}

Error at(const std::string& path, Error error) {
  error.where = path;
  return error;
}

}  // namespace

Result<std::unique_ptr<CheckpointReader>> Reader::open(const Host& host, std::string_view path) {
  auto reader = std::make_unique<Reader>();
  reader->path_ = path;
  // O_NONBLOCK: a pipe is refused below, without waiting for who might write to it.
  reader->file_ = FileHandle(::open(reader->path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!reader->file_) return system_error("cannot open", reader->path_);
  struct stat facts {};
  if (::fstat(reader->file_.get(), &facts) != 0) return system_error("cannot stat", reader->path_);
  if (!S_ISREG(facts.st_mode)) return invalid("is not a regular file", reader->path_);
  const auto size = static_cast<std::uint64_t>(facts.st_size);

  std::array<std::byte, 8> head{};
  if (size < head.size())
    return invalid("has " + std::to_string(size) + " bytes; a safetensors file has at least 8", reader->path_);
  BALEEN_TRY(read_at(reader->file_, head, 0, reader->path_));
  if (is_pickle(reader->path_, head)) return refuse_pickle(reader->path_);
  const auto length = std::bit_cast<std::uint64_t>(head);
  if (length > kMaxHeader || length > size - head.size())
    return invalid("the first 8 bytes give a header of " + std::to_string(length) + " bytes, but the file has " +
                       std::to_string(size) +
                       " and the format allows 100000000; it is no safetensors file, or cut short",
                   reader->path_);
  std::string json(length, '\0');
  BALEEN_TRY(read_at(reader->file_, std::as_writable_bytes(std::span(json)), head.size(), reader->path_));
  reader->header_checksum_ = XXH3_64bits_withSeed(json.data(), json.size(), length);
  const std::uint64_t buffer = head.size() + length;
  auto header = parse_header(json, size - buffer);
  if (!header) return at(reader->path_, header.error());
  reader->list(host, *std::move(header), buffer);
  return std::unique_ptr<CheckpointReader>(std::move(reader));
}

void Reader::list(const Host& host, Header header, std::uint64_t buffer) {
  for (Entry& entry : header.entries) {
    const baleen_dtype_t dtype = to_dtype(entry.dtype);
    if (dtype == 0) {
      host.log(BALEEN_WARNING, path_ + ": tensor `" + entry.name + "` is left out: its dtype " + entry.dtype +
                                   " has no counterpart here");
      continue;
    }
    StoredTensor tensor{std::move(entry.name), dtype, {}, entry.end - entry.begin};
    tensor.shape.assign(entry.shape.begin(), entry.shape.end());
    tensors_.push_back(std::move(tensor));
    places_.push_back(buffer + entry.begin);
  }
  facts_ = std::move(header.metadata);
}

Status Reader::read_part(std::size_t number, std::uint64_t from, std::span<std::byte> out) const {
  return read_at(file_, out, places_[number] + from, path_);
}

}  // namespace baleen::safetensors
