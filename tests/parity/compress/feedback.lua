-- A small language model under plain descent at a constant rate, too small to change what the next steps compute.
local baleen = require "baleen"
local nn = baleen.nn
local corpus = baleen.data.text { path = baleen.arg("data"), tokenizer = "bytes", context = 16, held_out = 0.2 }

return baleen.job {
  model = nn.sequential {
    nn.embedding { vocab = corpus.vocab, dim = 32, positions = 16 },
    nn.repeated(2, function() return nn.transformer_block { dim = 32, heads = 4, causal = true } end),
    nn.layer_norm {},
    nn.linear { name = "head", out = corpus.vocab, bias = false, axes = { "vocab" } },
  },
  loss = nn.cross_entropy {}, data = corpus, batch = 8, steps = 30,
  gradient_accumulation_steps = baleen.arg("accumulate", 1), optimizer = baleen.optimizer("sgd", { lr = 1e-4 }),
}
