-- Guesses each byte from the one before: so small that a test computes its held-out loss itself.
local baleen = require "baleen"
local nn, data = baleen.nn, baleen.data

local corpus = data.text {
  path = baleen.arg("data"), held_out_path = baleen.arg("held_out"), tokenizer = "bytes", context = 12,
}

return baleen.job {
  model = nn.sequential {
    nn.embedding { name = "table", vocab = corpus.vocab, dim = 8 },
    nn.linear { name = "head", out = corpus.vocab, bias = false },
  },
  loss = nn.cross_entropy { ignore_index = 101 }, metrics = { accuracy = nn.accuracy { ignore_index = 101 } },
  data = corpus, batch = 8, steps = 4, gradient_accumulation_steps = baleen.arg("accumulate", 1),
  optimizer = baleen.optimizer("adamw", { lr = 0.3 }), evaluate = { every = 2, batches = baleen.arg("batches", 0) },
}
