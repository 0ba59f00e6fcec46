/// \file Counting over threads.
#include "word_counts.hpp"

#include <mutex>
#include <unordered_map>

#include "parallel.hpp"
#include "text_parts.hpp"
#include "unicode.hpp"

namespace baleen::text {

Result<std::map<std::string, std::int64_t>> count_words(const std::vector<TrainingText>& texts,
                                                        const Normalizers& normalizers,
                                                        const PreTokenizers& pre_tokenizers) {
  std::vector<std::pair<std::size_t, std::string_view>> parts;
  for (std::size_t i = 0; i < texts.size(); ++i)
    for (const std::string_view part : parts_of_text(texts[i].text)) parts.emplace_back(i, part);
  std::mutex mutex;
  std::map<std::string, std::int64_t> all;
  BALEEN_TRY(for_each_part(parts.size(), usable_processors(), [&](std::size_t number) -> Status {
    const auto& [file, text] = parts[number];
    if (const std::size_t end = end_of_utf8(text); end < text.size())
      return invalid("not UTF-8 at byte " +
                         std::to_string(text.data() - texts[file].text.data() + static_cast<std::ptrdiff_t>(end)),
                     texts[file].path);
    Pieces pieces(1);
    pieces.front() = {std::string(text), true};
    BALEEN_TRY(normalize(normalizers, pieces.front().text));
    BALEEN_TRY(pre_tokenize(pre_tokenizers, pieces));
    std::unordered_map<std::string, std::int64_t> counts;
    for (Piece& piece : pieces) ++counts[std::move(piece.text)];
    const std::lock_guard lock(mutex);
    for (const auto& [word, count] : counts)
      if (!word.empty()) all[word] += count;
    return {};
  }));
  return all;
}

}  // namespace baleen::text
