/// \file What went wrong with a request, in words.
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <cstring>

#include "mover.hpp"

namespace baleen::nvme {
namespace {

std::string seconds_text(double seconds) {
  std::string text = std::to_string(seconds);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text + " s";
}

}  // namespace

/// "FOLDER, swap file offset N".
std::string Mover::location(const Piece& piece, std::uint64_t block) const {
  return parts_.files.path(piece.place.number) + ", offset " + std::to_string(piece.place.offset + block * kBlock) +
         " of the swap file";
}

Error Mover::no_answer() {
  return {BALEEN_TIMEOUT, "the disk of the swap file has stopped to answer, as an operation before has told", {}};
}

Error Mover::failed_by(const Piece& piece, int code) const {
  if (code == ETIMEDOUT)
    return {
        BALEEN_TIMEOUT,
        "no answer from the disk within " + seconds_text(parts_.timeout) +
            " (option `timeout`); it hangs, or it is slower than that: raise `timeout`, or lower `depth` or `request`",
        location(piece, 0)};
  Error error = {BALEEN_IO, std::strerror(code), location(piece, 0)};
  if (code == ENOSPC || code == EDQUOT) {
    struct statvfs about {};
    const bool knows = ::fstatvfs(parts_.files.file(piece.place.number), &about) == 0;
    error.message +=
        ": " + std::to_string(piece.bytes - piece.moved) + " bytes were to be written" +
        (knows ? ", " + std::to_string(std::uint64_t{about.f_bavail} * about.f_frsize) + " are free" : "") +
        ", although the room was reserved; free some, or name a folder of another disk in `path`";
  } else if (code == EIO) {
    error.message += ": the disk failed; see the kernel's log, and name a folder of another disk in `path`";
  }
  return error;
}

Error Mover::cut_short(const Piece& piece) const {
  struct stat about {};
  const bool knows = ::fstat(parts_.files.file(piece.place.number), &about) == 0;
  return {BALEEN_IO,
          "the swap file ends before " + std::to_string(piece.place.offset + piece.bytes) +
              (knows ? ": it has " + std::to_string(about.st_size) + " bytes" : "") +
              "; somebody has cut it, and what lay in it is lost",
          location(piece, 0)};
}

Error Mover::damaged(const Piece& piece, std::uint64_t block) const {
  return {
      BALEEN_DAMAGED,
      "block " + std::to_string((piece.offset + jobs_[piece.job].operation->transfer.offset) / kBlock + block) + " (" +
          std::to_string(kBlock) +
          " bytes each) is not what was put there: its checksum differs. A bit was flipped, or the file was written "
          "by somebody else; the slot is lost: begin again from the last checkpoint, and check the disk",
      location(piece, block)};
}

}  // namespace baleen::nvme
