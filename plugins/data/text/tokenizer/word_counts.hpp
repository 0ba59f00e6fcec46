/// \file How often each word stands in a text, after normalising and cutting.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "normalizer.hpp"
#include "pre_tokenizer.hpp"
#include "trainer.hpp"

namespace baleen::text {

/// In the order of the words' bytes. Texts are cut into the parts that are encoded alone, and these counted in
/// parallel.
Result<std::map<std::string, std::int64_t>> count_words(const std::vector<TrainingText>& texts,
                                                        const Normalizers& normalizers,
                                                        const PreTokenizers& pre_tokenizers);

}  // namespace baleen::text
