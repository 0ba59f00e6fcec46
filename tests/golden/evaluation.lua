-- The small GPT of the golden held-out losses (evaluation.txt), as in tests/golden/evaluation.py.
-- `-- --batches N` of the held-out part are used, 0 is all; targets of the id `-- --ignored N` do not count.
local baleen = require "baleen"
local nn, data = baleen.nn, baleen.data

local ignored = baleen.arg("ignored", -1)
local corpus = data.text {
  path = baleen.arg("data"), tokenizer = "bytes", context = 32, held_out = 0.3, shuffle = false, vocab = 256,
}

local model = nn.sequential {
  nn.embedding { vocab = corpus.vocab, dim = 64, positions = 32 },
  nn.repeated(2, function() return nn.transformer_block { dim = 64, heads = 2, causal = true } end),
  nn.layer_norm {},
  nn.linear { name = "head", out = corpus.vocab, bias = false, axes = { "vocab" } },
}

return baleen.job {
  model = model, loss = nn.cross_entropy { ignore_index = ignored >= 0 and ignored or nil }, data = corpus,
  batch = 5, steps = 10, clip_grad_norm = 1.0,
  optimizer = baleen.optimizer("adamw", {
    lr = baleen.cosine { peak = 1e-2, warmup = 3 }, weight_decay = 0.1,
    groups = { { match = { "*.bias", "*.gamma", "*.beta" }, weight_decay = 0 } },
  }),
  evaluate = { every = 5, batches = baleen.arg("batches", 0) },
}
