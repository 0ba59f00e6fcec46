/// \file A checkpoint format: one file of named tensors with a checksum behind them, for files with the ending
/// `.plain`.
///
/// All numbers are little-endian and have eight bytes; a text is its length and its bytes:
///   "PLAIN 1\n" | size of the header | header | the tensors' bytes, one after another | checksum of all before it
/// The header: the number of facts, each a name and a text; the number of tensors, each a name, dtype, rank and
/// extents.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "baleen/checkpoint.hpp"
#include "baleen/dtype.hpp"
#include "baleen/file_handle.hpp"
#include "baleen/process_mark.hpp"

// The ending of the files is the format's name.
BALEEN_DESCRIPTOR("checkpoint", "plain", "1.0.0", "Apache-2.0", "Tensors in a plain file, an example", 0, "plain",
                  BALEEN_NO_OPTIONS);

namespace {

using namespace baleen;
using namespace baleen::sdk;

constexpr std::string_view kMagic = "PLAIN 1\n";
constexpr std::uint64_t kNumber = 8, kBegin = 16;  // bytes of a number; of what is before the header
constexpr std::size_t kPiece = 1 << 20;

Error failed(const std::string& what, const std::string& path) {
  const int reason = errno;
  return {reason == ENOENT ? BALEEN_NOT_FOUND : BALEEN_IO, what + ": " + std::strerror(reason), path};
}
Error damaged(const std::string& path) {
  return {BALEEN_IO, "the file is cut short, damaged, or of another format", path};
}

/// FNV-1a: enough to see what a disk or a copy has damaged.
class Checksum {
 public:
  void add(const void* data, std::size_t bytes) {
    const auto* at = static_cast<const unsigned char*>(data);
    for (const auto* end = at + bytes; at != end; ++at) hash_ = (hash_ ^ *at) * 0x100000001b3;
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

void put(std::string& bytes, std::uint64_t number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}
void put(std::string& bytes, std::string_view text) {
  put(bytes, text.size());
  bytes += text;
}

/// Reads what `put` wrote. What is not there reads as 0 or empty, and `whole` is false then.
struct Cursor {
  std::string_view left;
  bool whole = true;

  std::string_view take(std::uint64_t bytes) {
    whole = whole && bytes <= left.size();
    const std::string_view taken = left.substr(0, whole ? bytes : 0);
    left.remove_prefix(taken.size());
    return taken;
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    const std::string_view bytes = take(sizeof value);
    if (whole) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  std::string text() { return std::string(take(number())); }
};

/// The bytes of a tensor, or -1 where the dtype is not known or the product is no number.
std::uint64_t bytes_of(baleen_dtype_t dtype, const std::vector<std::int64_t>& shape) {
  std::uint64_t bytes = dtype_size(dtype) == 0 ? UINT64_MAX : dtype_size(dtype);
  for (const std::int64_t extent : shape)
    if (extent < 0 || __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes)) return UINT64_MAX;
  return bytes;
}

class Reader final : public CheckpointReader {
 public:
  /// All is read once and compared with the checksum, so that nothing later can be found to be damaged.
  static Result<std::unique_ptr<CheckpointReader>> open(const std::string& path) {
    auto reader = std::make_unique<Reader>();
    reader->path_ = path;
    reader->file_ = FileHandle(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat about = {};
    if (!reader->file_ || ::fstat(reader->file_.get(), &about) != 0) return failed("cannot be opened", path);
    BALEEN_TRY(reader->check(static_cast<std::uint64_t>(about.st_size)));
    return std::unique_ptr<CheckpointReader>(std::move(reader));
  }
  const std::vector<StoredTensor>& tensors() const override { return tensors_; }
  const Facts& facts() const override { return facts_; }
  Status read(std::size_t number, std::span<std::byte> out) const override {
    return read_at(places_[number], out.data(), out.size());
  }

 private:
  Status read_at(std::uint64_t at, void* to, std::uint64_t bytes) const {
    auto* out = static_cast<char*>(to);
    while (bytes > 0) {
      const ssize_t got = ::pread(file_.get(), out, bytes, static_cast<off_t>(at));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return failed("cannot be read", path_);
      if (got == 0) return damaged(path_);
      out += got;
      at += static_cast<std::uint64_t>(got);
      bytes -= static_cast<std::uint64_t>(got);
    }
    return {};
  }
  Status check(std::uint64_t size) {
    if (size < kBegin + kNumber) return damaged(path_);
    const std::uint64_t end = size - kNumber;
    std::string piece;
    Checksum sum;
    for (std::uint64_t at = 0; at < end; at += piece.size()) {
      piece.resize(std::min<std::uint64_t>(kPiece, end - at));
      BALEEN_TRY(read_at(at, piece.data(), piece.size()));
      sum.add(piece.data(), piece.size());
    }
    std::uint64_t told = 0, header_size = 0;
    BALEEN_TRY(read_at(end, &told, sizeof told));
    piece.resize(kMagic.size());
    BALEEN_TRY(read_at(0, piece.data(), piece.size()));
    BALEEN_TRY(read_at(kMagic.size(), &header_size, sizeof header_size));
    if (told != sum.value() || piece != kMagic || header_size > end - kBegin) return damaged(path_);
    std::string header(header_size, '\0');
    BALEEN_TRY(read_at(kBegin, header.data(), header.size()));
    return parse({header}, kBegin + header_size) == end ? Status() : damaged(path_);
  }
  /// Where the last tensor ends; 0 where the header makes no sense.
  std::uint64_t parse(Cursor header, std::uint64_t at) {
    for (std::uint64_t left = header.number(); left > 0 && header.whole; --left) {
      std::string name = header.text();
      facts_.emplace_back(std::move(name), header.text());
    }
    for (std::uint64_t left = header.number(); left > 0 && header.whole; --left) {
      StoredTensor tensor{header.text(), static_cast<baleen_dtype_t>(header.number()), {}, 0};
      const std::uint64_t rank = header.number();
      if (rank > BALEEN_MAX_RANK) return 0;
      for (std::uint64_t d = 0; d < rank; ++d) tensor.shape.push_back(static_cast<std::int64_t>(header.number()));
      tensor.bytes = bytes_of(tensor.dtype, tensor.shape);
      places_.push_back(at);
      if (__builtin_add_overflow(at, tensor.bytes, &at)) return 0;
      tensors_.push_back(std::move(tensor));
    }
    return header.whole && header.left.empty() ? at : 0;
  }

  std::string path_;
  FileHandle file_;
  std::vector<StoredTensor> tensors_;
  std::vector<std::uint64_t> places_;  // of the tensors' bytes in the file
  Facts facts_;
};

/// Writes beside the place and renames: whoever looks finds the old file or the new one, never a half.
class Writer {
 public:
  explicit Writer(std::string path) : path_(std::move(path)), beside_(partial_of(path_)) {}
  Writer(const Writer&) = delete;
  ~Writer() {
    if (file_) ::unlink(beside_.c_str());
  }

  Status open() {
    remove_left_partials(path_);  // of runs that were killed
    file_ = FileHandle(::open(beside_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    return file_ ? Status() : failed("cannot be written", path_);
  }
  Status write(const void* data, std::uint64_t bytes) {
    sum_.add(data, bytes);
    const auto* at = static_cast<const char*>(data);
    while (bytes > 0) {
      const ssize_t written = ::write(file_.get(), at, bytes);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return failed("cannot be written", path_);
      at += written;
      bytes -= static_cast<std::uint64_t>(written);
    }
    return {};
  }
  /// The file is on the disk before it has its name, and its folder after: a power cut takes neither away.
  Status finish() {
    const std::uint64_t sum = sum_.value();
    BALEEN_TRY(write(&sum, sizeof sum));
    if (::fsync(file_.get()) != 0) return failed("cannot be synced", path_);
    if (::rename(beside_.c_str(), path_.c_str()) != 0) return failed("cannot be replaced", path_);
    file_.close();
    const std::string folder = std::filesystem::path(path_).parent_path().string();
    const FileHandle opened(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return opened && ::fsync(opened.get()) == 0 ? Status() : failed("is whole, but its folder cannot be synced", path_);
  }

 private:
  std::string path_, beside_;
  FileHandle file_;
  Checksum sum_;
};

struct Plain {
  static Status write(const Host&, std::string_view path, std::span<const baleen_named_tensor_t> tensors,
                      const Facts& facts) {
    std::string header;
    put(header, facts.size());
    for (const auto& [name, text] : facts) {
      put(header, name);
      put(header, text);
    }
    put(header, tensors.size());
    std::set<std::string_view> names;
    for (const baleen_named_tensor_t& tensor : tensors) {
      if (!names.insert(view(tensor.name)).second)
        return invalid("two tensors are named `" + std::string(view(tensor.name)) + "`");
      put(header, view(tensor.name));
      put(header, static_cast<std::uint64_t>(tensor.dtype));
      put(header, tensor.rank);
      for (std::uint32_t d = 0; d < tensor.rank; ++d) put(header, static_cast<std::uint64_t>(tensor.shape[d]));
    }
    std::string begin(kMagic);
    put(begin, header);  // its size, and itself
    Writer file{std::string(path)};
    BALEEN_TRY(file.open());
    BALEEN_TRY(file.write(begin.data(), begin.size()));
    for (const baleen_named_tensor_t& tensor : tensors) BALEEN_TRY(file.write(tensor.data, tensor.bytes));
    return file.finish();
  }
  static Result<std::unique_ptr<CheckpointReader>> open(const Host&, std::string_view path) {
    return Reader::open(std::string(path));
  }
};

}  // namespace

BALEEN_CHECKPOINT(Plain);
