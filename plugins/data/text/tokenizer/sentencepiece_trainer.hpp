/// \file Training through SentencePiece's library.
#pragma once
#include <string>
#include <vector>

#include "trainer.hpp"
#include "training_options.hpp"

namespace baleen::text {

/// The bytes of a .model. A line is a sentence for it.
Result<std::string> train_sentencepiece(std::int64_t vocabulary, TrainingOptions options,
                                        const std::vector<TrainingText>& texts, const TrainingLog& log);

}  // namespace baleen::text
