/// \file Writing: a temporary file, fsync, rename; and who may do it.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <thread>

#include "token_cache.hpp"

namespace baleen::text {
namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 22;
constexpr std::time_t kSilence = 120;

}  // namespace

struct TokenCacheWriter::Hash {
  Hash() { XXH3_64bits_reset(state.get()); }
  std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state{XXH3_createState(), &XXH3_freeState};
};

TokenCacheWriter::TokenCacheWriter() : hash_(std::make_unique<Hash>()) {}
TokenCacheWriter::TokenCacheWriter(TokenCacheWriter&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      file_(std::exchange(other.file_, -1)),
      at_(other.at_),
      header_(other.header_),
      table_(std::move(other.table_)),
      buffer_(std::move(other.buffer_)),
      hash_(std::move(other.hash_)) {}

TokenCacheWriter::~TokenCacheWriter() {
  if (file_ < 0) return;
  ::close(file_);
  ::unlink(temporary_.c_str());
}

Error TokenCacheWriter::failed(const std::string& what) const {
  return {BALEEN_IO, what + ": " + std::strerror(errno) + "; give another folder as `cache`, or \"none\"", temporary_};
}

Result<TokenCacheWriter> TokenCacheWriter::create(const std::string& path, const Digest& key, std::size_t runs,
                                                  int width) {
  TokenCacheWriter writer;
  writer.path_ = path;
  writer.temporary_ = path + ".tmp";
  std::memcpy(writer.header_.magic, "BALEENTK", 8);
  writer.header_.version = 1;
  writer.header_.width = static_cast<std::uint32_t>(width);
  writer.header_.key = key;
  writer.header_.runs = runs;
  writer.table_.resize(runs);
  writer.at_ = sizeof(TokenCacheHeader) + 8 * runs;
  writer.file_ = ::open(writer.temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (writer.file_ < 0) return writer.failed("cannot make the token cache");
  return writer;
}

Status TokenCacheWriter::write(const void* data, std::size_t bytes, std::uint64_t at) {
  const auto* rest = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::pwrite(file_, rest, bytes, static_cast<off_t>(at));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0)
      return failed("cannot write " + std::to_string(bytes) + " bytes of the token cache at byte " +
                    std::to_string(at));
    rest += written;
    bytes -= static_cast<std::size_t>(written);
    at += static_cast<std::uint64_t>(written);
  }
  return {};
}

Status TokenCacheWriter::flush() {
  XXH3_64bits_update(hash_->state.get(), buffer_.data(), buffer_.size());
  BALEEN_TRY(write(buffer_.data(), buffer_.size(), at_));
  at_ += buffer_.size();
  buffer_.clear();
  return {};
}

Status TokenCacheWriter::append(std::size_t run, std::span<const std::uint32_t> ids) {
  table_[run] += ids.size();
  header_.ids += ids.size();
  while (!ids.empty()) {
    const std::size_t count = std::min(ids.size(), kBuffer / header_.width), old = buffer_.size();
    buffer_.resize(old + count * header_.width);
    for (std::size_t i = 0; i < count; ++i)
      std::memcpy(buffer_.data() + old + i * header_.width, &ids[i], header_.width);  // little endian
    if (buffer_.size() >= kBuffer) BALEEN_TRY(flush());
    ids = ids.subspan(count);
  }
  return {};
}

Status TokenCacheWriter::commit() {
  BALEEN_TRY(flush());
  header_.ids_hash = XXH3_64bits_digest(hash_->state.get());
  header_.head_hash = 0;
  header_.head_hash = XXH3_64bits_withSeed(table_.data(), 8 * table_.size(), XXH3_64bits(&header_, sizeof(header_)));
  BALEEN_TRY(write(&header_, sizeof(header_), 0));
  BALEEN_TRY(write(table_.data(), 8 * table_.size(), sizeof(header_)));
  if (::fsync(file_) != 0) return failed("cannot fsync the token cache of " + std::to_string(at_) + " bytes");
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return failed("cannot rename the token cache to " + path_);
  ::close(std::exchange(file_, -1));
  const std::string folder = std::filesystem::path(path_).parent_path().string();
  const int handle = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = handle >= 0 && ::fsync(handle) == 0;
  const int reason = errno;
  if (handle >= 0) ::close(handle);
  errno = reason;
  return synced ? Status() : Status(failed("cannot fsync the folder of the token cache"));
}

Result<MakerLock> MakerLock::take(const std::string& path, const std::function<void()>& waiting) {
  const std::string name = path + ".lock";
  MakerLock lock(::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  const auto failed = [&](const char* what) {
    return Error{BALEEN_IO,
                 std::string(what) + ": " + std::strerror(errno) + "; give another folder as `cache`, or \"none\"",
                 name};
  };
  if (lock.file_ < 0) return failed("cannot make the lock of the token cache");
  for (int tries = 0;; ++tries) {
    if (::flock(lock.file_, LOCK_EX | LOCK_NB) == 0) break;
    if (errno != EWOULDBLOCK && errno != EINTR) return failed("cannot lock the token cache");
    struct stat facts {};
    if (tries > 600 && ::fstat(lock.file_, &facts) == 0 && std::time(nullptr) - facts.st_mtime > kSilence)
      return Error{BALEEN_TIMEOUT,
                   "another process makes the token cache and has shown no progress for two minutes; end it, or give "
                   "another folder as `cache`",
                   name};
    if (tries % 100 == 99 && waiting) waiting();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  lock.touch();
  return lock;
}

void MakerLock::touch() const { ::futimens(file_, nullptr); }

MakerLock::~MakerLock() {
  if (file_ >= 0) ::close(file_);
}

}  // namespace baleen::text
