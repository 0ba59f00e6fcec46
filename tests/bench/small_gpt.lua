-- The small GPT of the throughput benchmark (throughput.py): 6 layers, 384 wide, 6 heads, context 256, batch 8, 65 characters.
local baleen = require "baleen"
local nn, data = baleen.nn, baleen.data

local corpus = data.text { path = baleen.arg("data"), tokenizer = "chars", context = 256, held_out = 0 }

local model = nn.sequential {
  nn.embedding { vocab = corpus.vocab, dim = 384, positions = 256 },
  nn.repeated(6, function() return nn.transformer_block { dim = 384, heads = 6, causal = true } end),
  nn.layer_norm {},
  nn.linear { out = corpus.vocab, bias = false, axes = { "vocab" } },
}

return baleen.job {
  model = model, loss = nn.cross_entropy {}, data = corpus,
  batch = 8, steps = 1000, clip = 1.0, accumulate = baleen.arg("accumulate", 1),
  optimizer = baleen.optimizer("adamw", {
    lr = baleen.cosine { peak = 1e-3, warmup = 100 }, weight_decay = 0.1,
    groups = { { match = { "*.bias", "*.gamma", "*.beta" }, weight_decay = 0 } },
  }),
}
