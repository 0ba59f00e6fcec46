-- A small GPT that can learn a text that comes again and again: each letter decides the one that follows.
local baleen = require "baleen"
local nn = baleen.nn

local corpus = baleen.data.text {
  path = baleen.arg("data"), tokenizer = baleen.arg("tokenizer", "bytes"), context = 16, held_out = 0,
}

return baleen.job {
  model = nn.sequential {
    nn.embedding { vocab = corpus.vocab, dim = 24, positions = 16 },
    nn.transformer_block { dim = 24, heads = 2, causal = true },
    nn.layer_norm {},
    nn.linear { name = "head", out = corpus.vocab, bias = false },
  },
  loss = nn.cross_entropy {}, data = corpus, batch = 8, steps = 60, seed = 1,
  generate = baleen.arg("sample", false) and { prompt = "w", tokens = 13, temperature = 0 } or nil,
  optimizer = baleen.optimizer("adamw", { lr = baleen.cosine { peak = 1e-2, warmup = 5 } }),
}
