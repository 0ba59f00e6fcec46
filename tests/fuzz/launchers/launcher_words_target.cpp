/// \file A fuzz target: any bytes as what hosts say before they know each other: the first host's hello, who another
/// one says it is, and the word that starts one. What is taken is written the same.
#include <string>

#include "fuzz/require.hpp"
#include "hello.hpp"
#include "secret.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace baleen::launchers;
  using baleen::fuzz::require;
  const std::string_view text = baleen::fuzz::text_of(data, size);
  if (const auto job = job_of(text)) require(hello_of(*job) == text && text.size() == kHelloBytes);
  if (const auto host = host_from(text)) require(*host >= 0 && host_from(identity_of(*host)) == host);
  if (const auto word = StartWord::from(text)) {
    require(word->port > 0 && word->secret.text().size() >= Secret::kShortest);
    const std::string line = word->line();
    const auto again = StartWord::from(std::string_view(line).substr(0, line.size() - 1));
    require(again && again->port == word->port && again->secret.text() == word->secret.text());
  }
  return 0;
}
