-- Guesses each letter from the one before, over the letters of its text: a sequence in, a sequence out.
local baleen = require "baleen"
local nn = baleen.nn
local corpus = baleen.data.text { path = baleen.arg("data"), tokenizer = "chars", context = 8, held_out = 0.2 }

return baleen.job {
  model = nn.sequential {
    nn.embedding { name = "table", vocab = corpus.vocab, dim = 6 },
    nn.linear { name = "head", out = corpus.vocab, bias = false },
  },
  loss = nn.cross_entropy {}, data = corpus, batch = 4, steps = 30, optimizer = baleen.optimizer("adamw", { lr = 0.1 }),
}
