/// \file A file of token ids beside the text that they were made of: mapped when it is read, and never half there.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "file_bytes.hpp"
#include "stream.hpp"
#include "tokenizer/trained_tokenizer.hpp"

namespace baleen::text {

/// Layout, little endian: "BALEENTK", u32 version 1, u32 bytes of an id (2 or 4), u128 key, u64 runs, u64 ids, u64 XXH3
/// of the ids, u64 XXH3 of all before this and of the table; then the table, u64 ids of each run; then the ids.
struct TokenCacheHeader {
  char magic[8];
  std::uint32_t version, width;
  Digest key;
  std::uint64_t runs, ids, ids_hash, head_hash;
};
static_assert(sizeof(TokenCacheHeader) == 64);

/// Immutable. Owns the mapping.
class TokenCache {
 public:
  /// Checks everything, the ids' hash included. NOT_FOUND where there is no file; INVALID, saying what is wrong, where
  /// it is damaged or of another key.
  static Result<TokenCache> open(const std::string& path, const Digest& key, std::size_t runs);
  /// The same of bytes in memory, which must stay: the runs that they hold.
  static Result<std::vector<Run>> read(std::span<const std::byte> bytes, const Digest& key, std::size_t runs,
                                       const std::string& where);

  const std::vector<Run>& runs() const { return runs_; }

 private:
  FileBytes file_;
  std::vector<Run> runs_;
};

/// Writes a cache in one pass. Until `commit` the file has another name; a writer that goes without it leaves nothing.
class TokenCacheWriter {
 public:
  /// `width`: 2 or 4. Fails, with path and reason, where the file cannot be made.
  static Result<TokenCacheWriter> create(const std::string& path, const Digest& key, std::size_t runs, int width);
  TokenCacheWriter(TokenCacheWriter&& other) noexcept;
  TokenCacheWriter& operator=(TokenCacheWriter&&) = delete;
  ~TokenCacheWriter();

  /// Appends ids of run `run`; runs come in order.
  Status append(std::size_t run, std::span<const std::uint32_t> ids);
  /// Header, fsync of the file, rename, fsync of the folder.
  Status commit();

 private:
  struct Hash;
  TokenCacheWriter();
  Error failed(const std::string& what) const;
  Status write(const void* data, std::size_t bytes, std::uint64_t at);
  Status flush();

  std::string path_, temporary_;
  int file_ = -1;
  std::uint64_t at_ = 0;
  TokenCacheHeader header_{};
  std::vector<std::uint64_t> table_;
  std::vector<std::byte> buffer_;
  std::unique_ptr<Hash> hash_;
};

/// The right to make a file, of one process or thread at a time on a host (flock of `<path>.lock`).
class MakerLock {
 public:
  /// Waits for who has it, as long as that one shows signs of life (`touch`) every two minutes. `waiting` is called
  /// about every ten seconds.
  static Result<MakerLock> take(const std::string& path, const std::function<void()>& waiting);
  MakerLock(MakerLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  MakerLock& operator=(MakerLock&&) = delete;
  ~MakerLock();
  /// A sign of life.
  void touch() const;

 private:
  explicit MakerLock(int file) : file_(file) {}
  int file_;
};

}  // namespace baleen::text
