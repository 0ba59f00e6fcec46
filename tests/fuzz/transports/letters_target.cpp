/// \file A fuzz target: any bytes as what ranks of a transport write to each other at plan time. What is taken is
/// compared with others of its kind as the transports do, and is written and read again the same.
#include <string>

#include "baleen/proposal_codec.hpp"
#include "fuzz/require.hpp"
#include "nccl/attendance.hpp"
#include "nccl/ballot.hpp"
#include "nccl/letter.hpp"
#include "shm/letter.hpp"

namespace {

using namespace baleen;
using namespace baleen::sdk;
using fuzz::require;

void use(const Proposal& mine) {
  (void)mine.text();
  Proposal other = mine;
  other.rank = mine.rank ^ 1;  // another one, whatever the bytes say
  if (!mine.collective) {
    (void)agree({mine, other});
    return;
  }
  const Collective& c = *mine.collective;
  (void)collective_bytes(c);
  for (const CollectiveEntry& entry : c.entries) (void)(c.input_count(entry) + c.output_count(entry));
  other.collective->place = (c.place + 1) % c.members;
  (void)agree({mine, other});
  if (is_pairwise(c.op)) other.collective->op = c.op == BALEEN_SEND ? BALEEN_RECEIVE : BALEEN_SEND;
  (void)agree({other, mine});
}

std::string encoded(const Proposal& proposal) {
  ProposalWriter writer;
  walk_proposal(writer, proposal);
  return writer.bytes;
}

void read_proposal(const std::string& bytes) {
  Proposal proposal, again;
  ProposalReader reader{bytes};
  walk_proposal(reader, proposal);
  if (!reader.complete()) return;
  use(proposal);
  const std::string written = encoded(proposal);
  ProposalReader second{written};
  walk_proposal(second, again);
  require(second.complete() && encoded(again) == written);
}

void read_shm(const std::string& bytes) {
  const auto letter = shm::decode(bytes);
  if (!letter) return;
  require(letter->places.size() == (letter->proposal.collective ? letter->proposal.collective->entries.size() : 0));
  const std::string written = shm::encode(*letter);
  const auto again = shm::decode(written);
  require(again && shm::encode(*again) == written);
}

template <class Value>
void read_nccl(const std::string& bytes, Result<Value> (*read)(const std::string&, std::int32_t)) {
  const auto value = read(bytes, 1);
  if (!value) return;
  const std::string written = nccl::encode(*value);
  const auto again = read(written, 1);
  require(again && nccl::encode(*again) == written);
}

void hear_nccl(const std::string& bytes) {
  const std::string text = "all_reduce of 4 fp32";
  nccl::Attendance attendance(0);
  attendance.open("group 1", {0, 1});
  (void)attendance.start("group 1", {&text, false});
  (void)attendance.heard_barrier(1, bytes);
  (void)attendance.start("group 1", {&text, true});
  (void)attendance.heard_farewell(1, bytes);
  (void)attendance.start("group 1", {&text, false});
  attendance.close("group 1");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(fuzz::text_of(data, size));
  read_proposal(bytes);
  read_shm(bytes);
  read_nccl(bytes, &nccl::letter_from);
  read_nccl(bytes, &nccl::verdict_from);
  read_nccl(bytes, &nccl::ballot_from);
  read_nccl(bytes, &nccl::outcome_from);
  if (const auto ballot = nccl::ballot_from(bytes, 0)) (void)nccl::outcome_of({*ballot, *ballot});
  hear_nccl(bytes);
  return 0;
}
