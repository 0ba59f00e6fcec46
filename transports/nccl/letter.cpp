/// \file The proposal, then what only this transport says.
#include "letter.hpp"

#include "baleen/proposal_codec.hpp"

namespace baleen::nccl {

using namespace sdk;

namespace {

template <class Stream, class L>
void walk(Stream& stream, L& letter) {
  walk_proposal(stream, letter.proposal);
  stream.text(letter.device);
  stream.text(letter.layout);
  stream.number(letter.needs_communicator);
}

Error senseless(const std::string& what, std::int32_t from) {
  return internal("nccl: " + what + " of rank " + std::to_string(from) +
                  " makes no sense; do all ranks run the same version?");
}

}  // namespace

std::string encode(const Letter& letter) {
  ProposalWriter writer;
  walk(writer, letter);
  return std::move(writer.bytes);
}

std::string encode(const Result<Verdict>& verdict) {
  const Verdict said = verdict ? *verdict : Verdict{};
  ProposalWriter writer;
  writer.number(verdict ? BALEEN_OK : verdict.error().code);
  writer.text(verdict ? "" : verdict.error().text());
  writer.number(said.number);
  writer.number(said.has_id);
  writer.number(said.alike);
  writer.text({said.id.internal, sizeof said.id.internal});
  return std::move(writer.bytes);
}

Result<Letter> letter_from(const std::string& bytes, std::int32_t from) {
  Letter letter;
  ProposalReader reader{bytes};
  walk(reader, letter);
  if (!reader.complete()) return senseless("a letter", from);
  return letter;
}

Result<Verdict> verdict_from(const std::string& bytes, std::int32_t from) {
  ProposalReader reader{bytes};
  baleen_status_t code = BALEEN_OK;
  std::string text, id;
  Verdict heard;
  reader.number(code);
  reader.text(text);
  reader.number(heard.number);
  reader.number(heard.has_id);
  reader.number(heard.alike);
  reader.text(id);
  if (!reader.complete() || id.size() != sizeof heard.id.internal) return senseless("a verdict", from);
  if (code != BALEEN_OK) return Error{code, text, {}};
  id.copy(heard.id.internal, sizeof heard.id.internal);
  return heard;
}

}  // namespace baleen::nccl
