/// \file The proposal, then what only this transport says.
#include "letter.hpp"

#include "baleen/proposal_codec.hpp"

namespace baleen::shm {

using namespace sdk;

namespace {

template <class Stream, class L>
void walk(Stream& stream, L& letter) {
  walk_proposal(stream, letter.proposal);
  stream.list(letter.places, [&](auto& place) {
    for (auto* location : {&place.first, &place.second}) {
      stream.number(location->arena);
      stream.number(location->offset);
      stream.number(location->exists);
    }
  });
  stream.list(letter.news, [&](auto& news) {
    stream.number(news.arena);
    stream.number(news.bytes);
  });
  stream.number(letter.memory_bytes);
}

}  // namespace

std::string encode(const Letter& letter) {
  ProposalWriter writer;
  walk(writer, letter);
  return std::move(writer.bytes);
}

Result<Letter> decode(const std::string& bytes) {
  Letter letter;
  ProposalReader reader{bytes};
  walk(reader, letter);
  const auto& collective = letter.proposal.collective;
  if (!reader.complete() || letter.places.size() != (collective ? collective->entries.size() : 0))
    return internal("shm: a letter from another rank makes no sense; do all ranks run the same version?");
  return letter;
}

}  // namespace baleen::shm
