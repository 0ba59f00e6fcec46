/// \file Digests of pieces, compared on rank 0 through the launcher's store.
#include "frontend/engine/copy_check.hpp"

#define XXH_STATIC_LINKING_ONLY  // the state's size
#include <xxhash.h>
#ifdef BALEEN_XXHASH_DISPATCHES
#include <xxh_x86dispatch.h>
#endif

#include <algorithm>
#include <map>
#include <sstream>
#include <utility>

#include "core/runtime/count.hpp"
#include "frontend/checkpoint/digests.hpp"

namespace baleen::app {
namespace {

constexpr std::uint64_t kBlock = 4096;       ///< bytes; how exactly a difference is placed
constexpr std::uint64_t kRead = 8ull << 20;  ///< bytes that are brought to the host at a time; whole blocks

std::string number_of(const CopiedPiece& piece, const PersistentLayout& persistent) {
  return std::to_string(piece.buffer - persistent.buffers.data()) + ":" + piece.group;
}

struct Told {
  std::int64_t rank;
  std::string digest;
};

/// The digest that most ranks have; of equally many that of the first rank.
std::string most_frequent(const std::vector<Told>& copies) {
  std::string best;
  std::ptrdiff_t most = 0;
  for (const Told& one : copies) {
    const auto count = std::ranges::count(copies, one.digest, &Told::digest);
    if (count > most) std::tie(most, best) = std::pair(count, one.digest);
  }
  return best;
}

/// One line.
std::string text_of(const std::map<std::string, std::uint64_t>& digests) {
  std::string line;
  for (const auto& [name, digest] : digests) line += digest_text(digest) + ' ' + name + '\t';
  return line;
}

/// How far a training is in what it goes by, as one line.
std::string place_of(const Session& session) {
  std::string line = "row " + std::to_string(session.position()) + " of the data";
  for (const auto& [name, runs] : session.runs()) line += ", run " + std::to_string(runs) + " of `" + name + "`";
  return line;
}

/// Of a verdict "schedule 2 lr": the rank and the name, which may have blanks.
std::pair<std::string, std::string> rank_and_name(const std::string& told) {
  std::istringstream words(told);
  std::string word, rank, name;
  std::getline(words >> word >> rank >> std::ws, name);
  return {rank, name};
}

/// The first name for which two lines have other digests.
std::string unlike_name(const std::string& one, const std::string& two) {
  std::istringstream first(one), second(two);
  for (std::string a, b; std::getline(first, a, '\t') && std::getline(second, b, '\t');)
    if (a != b) return a.substr(a.find(' ') + 1);
  return "of another number";
}

/// Cuts off the first line.
std::string take_line(std::string& text) {
  const std::size_t end = text.find('\n');
  std::string line = text.substr(0, end);
  text.erase(0, end + 1);
  return line;
}

}  // namespace

std::vector<CopiedPiece> copied_pieces(const PersistentLayout& persistent, const Mesh& mesh, const Coordinates& at) {
  std::vector<CopiedPiece> pieces;
  for (const PersistentBuffer& buffer : persistent.buffers) {
    const Layout& layout = buffer.spec.layout;
    CopiedPiece piece{&buffer, {}};
    std::int64_t copies = 1;
    for (std::size_t axis = 0; axis < mesh.axes.size(); ++axis) {
      const bool is_copied = layout.empty() || layout[axis].kind == Placement::Kind::replicate;
      if (is_copied) copies *= mesh.axes[axis].size;
      piece.group += is_copied ? "-" : std::to_string(at[axis]);
      piece.group += ',';
    }
    if (copies > 1 && buffer.bytes > 0) pieces.push_back(std::move(piece));
  }
  return pieces;
}

std::optional<OddCopy> find_odd_copy(const std::vector<std::string>& told) {
  std::map<std::pair<std::int64_t, std::string>, std::vector<Told>> pieces;  // by number, then group
  for (std::size_t rank = 0; rank < told.size(); ++rank) {
    std::istringstream lines(told[rank]);
    for (std::string piece, digest; lines >> piece >> digest;)
      pieces[{std::stoll(piece), piece}].push_back({static_cast<std::int64_t>(rank), digest});
  }
  for (const auto& [piece, copies] : pieces) {
    const std::string good = most_frequent(copies);
    const auto odd = std::ranges::find_if(copies, [&](const Told& one) { return one.digest != good; });
    if (odd == copies.end()) continue;
    return OddCopy{std::ranges::find(copies, good, &Told::digest)->rank, odd->rank,
                   std::ranges::count(copies, good, &Told::digest), std::ssize(copies), piece.second};
  }
  return std::nullopt;
}

CopyCheck::CopyCheck(Session& session, RankLink& link, const Mesh& mesh, const Coordinates& at, std::int64_t every,
                     std::string processor)
    : session_(session),
      link_(link),
      pieces_(copied_pieces(session.persistent(), mesh, at)),
      every_(every),
      compared_(session.updates()),
      processor_(std::move(processor)) {}

/// Whether an N-th update lies behind the last look.
bool CopyCheck::is_due() const { return every_ > 0 && session_.updates() / every_ != compared_ / every_; }

Status CopyCheck::after_step() {
  return is_due() || session_.steps_done() == session_.steps() ? compare(every_ > 0) : Status();
}

Status CopyCheck::after_run() { return is_due() ? compare(true) : Status(); }

Status CopyCheck::before_save() { return session_.updates() == compared_ ? Status() : compare(every_ > 0); }

/// "step 5"; where there was none, "run 5" of programs that learn.
std::string CopyCheck::when() const {
  return (session_.steps_done() > 0 ? "step " : "run ") + std::to_string(session_.progress());
}

std::string CopyCheck::key(const std::string& what) const { return "copies/" + std::to_string(round_) + "/" + what; }

/// Of this rank's piece; `blocks` gets the digest of each block of it.
Result<std::uint64_t> CopyCheck::digest(const PersistentBuffer& buffer, std::vector<std::string>* blocks) {
  std::vector<std::byte> part;
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  for (std::uint64_t at = 0; at < buffer.bytes; at += kRead) {
    part.resize(std::min(kRead, buffer.bytes - at));
    BALEEN_TRY(session_.read_own(buffer, at, part));
    XXH3_64bits_update(&state, part.data(), part.size());
    for (std::uint64_t block = 0; blocks && block < part.size(); block += kBlock)
      blocks->push_back(digest_text(XXH3_64bits(part.data() + block, std::min(kBlock, part.size() - block))));
  }
  return XXH3_64bits_digest(&state);
}

/// What rank 0 says of this round: nothing, "processors", "schedule" or "inputs" with rank and name, "place" with rank
/// and both lines, or the odd copy.
Result<std::string> CopyCheck::verdict() {
  const Place& place = link_.place();
  if (place.rank != 0) return link_.get(key("verdict"));
  std::vector<std::string> told;
  bool is_alike = true;
  std::ostringstream text;
  const std::string schedules = text_of(session_.schedule_digests()), here = place_of(session_),
                    inputs = text_of(session_.input_digests());
  for (int rank = 0; rank < place.ranks; ++rank) {
    BALEEN_TRY_ASSIGN(std::string of_rank, link_.get(key(std::to_string(rank))));
    const bool is_same = take_line(of_rank) == processor_;
    is_alike &= is_same;
    const std::string own = take_line(of_rank);
    const std::string there = take_line(of_rank), given = take_line(of_rank);
    // At another place schedules give other values.
    if (there != here && text.str().empty()) text << "place " << rank << '\n' << there << '\n' << here;
    if (own != schedules && text.str().empty()) text << "schedule " << rank << ' ' << unlike_name(schedules, own);
    // Other processors round otherwise what inputs may be made of.
    if (is_same && given != inputs && text.str().empty())
      text << "inputs " << rank << ' ' << unlike_name(inputs, given);
    told.push_back(std::move(of_rank));
  }
  if (const auto odd = text.str().empty() ? find_odd_copy(told) : std::nullopt) {
    if (is_alike)
      text << odd->reference << ' ' << odd->odd << ' ' << odd->agreeing << ' ' << odd->copies << ' ' << odd->piece;
    else
      text << "processors";
  }
  BALEEN_TRY(link_.put(key("verdict"), text.str()));
  return text.str();
}

Status CopyCheck::compare(bool with_copies) {
  ++round_;
  compared_ = session_.updates();
  std::string text = processor_ + '\n' + text_of(session_.schedule_digests()) + '\n' + place_of(session_) + '\n' +
                     text_of(session_.input_digests()) + '\n';
  for (const CopiedPiece& piece : pieces_) {
    if (!with_copies || ends_) break;
    BALEEN_TRY_ASSIGN(const std::uint64_t found, digest(*piece.buffer, nullptr));
    text += number_of(piece, session_.persistent()) + ' ' + digest_text(found) + '\n';
  }
  BALEEN_TRY(link_.put(key(std::to_string(link_.place().rank)), text));
  BALEEN_TRY_ASSIGN(const std::string said, verdict());
  if (said.empty()) return {};
  if (said.starts_with("schedule ")) return explain_schedule(said);
  if (said.starts_with("place ")) return explain_place(said);
  if (said.starts_with("inputs ")) return explain_inputs(said);
  if (said != "processors") return explain(said);
  ends_ = true;
  if (link_.place().rank == 0)
    session_.note(
        "ranks compute on different processors, and their copies of parameters or states differ; these are "
        "not compared any more");
  return {};
}

Status CopyCheck::explain_schedule(const std::string& told) const {
  const auto [rank, name] = rank_and_name(told);
  return Error{BALEEN_DAMAGED,
               "schedule `" + name + "` gave other values on rank " + rank + " than on rank 0 by " + when() +
                   ", so they did not train one model: their scripts differ, or the schedule depends on what is not "
                   "the same on all ranks (the time, random numbers, a file, what a callback has seen)",
               {}};
}

Status CopyCheck::explain_inputs(const std::string& told) const {
  const auto [rank, name] = rank_and_name(told);
  return Error{BALEEN_DAMAGED,
               "program `" + name + "` was given other inputs on rank " + rank + " than on rank 0 by " + when() +
                   ", so they did not run one program: all ranks give it the whole of the same inputs, and here these "
                   "depend on what is not the same on all ranks (the time, an address, a file)",
               {}};
}

Status CopyCheck::explain_place(std::string told) const {
  const std::string rank = take_line(told).substr(std::string_view("place ").size()), there = take_line(told);
  return Error{BALEEN_DAMAGED,
               "rank " + rank + " is at " + there + " after " + when() + " where rank 0 is at " + told +
                   ", so they do not train on the rows of one batch" + kLostBit,
               {}};
}

Status CopyCheck::explain(const std::string& told) {
  OddCopy odd;
  std::istringstream(told) >> odd.reference >> odd.odd >> odd.agreeing >> odd.copies >> odd.piece;
  const std::int64_t rank = link_.place().rank;
  if (rank == odd.reference || rank == odd.odd) {
    const auto own = std::ranges::find_if(
        pieces_, [&](const CopiedPiece& piece) { return number_of(piece, session_.persistent()) == odd.piece; });
    if (own == pieces_.end()) return internal("rank " + std::to_string(rank) + " holds no copy as it said");
    std::vector<std::string> blocks;
    BALEEN_TRY(digest(*own->buffer, &blocks));
    std::string text;
    for (const std::string& block : blocks) text += block + '\n';
    BALEEN_TRY(link_.put(key("blocks " + std::to_string(rank)), text));
  }
  BALEEN_TRY_ASSIGN(const std::string one, link_.get(key("blocks " + std::to_string(odd.reference))));
  BALEEN_TRY_ASSIGN(const std::string two, link_.get(key("blocks " + std::to_string(odd.odd))));
  const std::size_t first = static_cast<std::size_t>(std::ranges::mismatch(one, two).in1 - one.begin()) / 17 * kBlock;
  const std::string& name = session_.persistent().buffers[static_cast<std::size_t>(std::stoll(odd.piece))].spec.name;
  const std::string which = odd.agreeing * 2 > odd.copies
                                ? "rank " + std::to_string(odd.odd) + " differs from rank " +
                                      std::to_string(odd.reference) + " and " + std::to_string(odd.agreeing - 1) +
                                      " other of " + std::to_string(odd.copies)
                                : "ranks " + std::to_string(odd.reference) + " and " + std::to_string(odd.odd) +
                                      " differ, and which of them is right cannot be told";
  return Error{BALEEN_DAMAGED,
               "copies of `" + name + "` are no longer the same after " + when() + ": " + which +
                   "; the first difference is in bytes " + std::to_string(first) + " to " +
                   std::to_string(first + kBlock - 1) +
                   " of the piece. Memory has lost a bit or a processor computes wrong (or a strategy does); go on "
                   "from the last checkpoint, without that machine",
               {}};
}

}  // namespace baleen::app
