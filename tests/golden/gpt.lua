-- The small GPT of the ten golden losses (gpt_losses.txt): the model, recipe and rows of tests/golden/gpt_losses.py.
local baleen = require "baleen"
local nn, data = baleen.nn, baleen.data

local corpus = data.text {
  path = baleen.arg("data"), tokenizer = "bytes", context = 32, held_out = 0, shuffle = false, vocab = 256,
}

local model = nn.sequential {
  nn.embedding { vocab = corpus.vocab, dim = 64, positions = 32 },
  nn.repeated(2, function() return nn.transformer_block { dim = 64, heads = 2, causal = true } end),
  nn.layer_norm {},
  nn.linear { name = "head", out = corpus.vocab, bias = false, axes = { "vocab" } },
}

return baleen.job {
  model = model, loss = nn.cross_entropy {}, data = corpus,
  batch = 4, steps = 10, clip_grad_norm = 1.0,
  optimizer = baleen.optimizer("adamw", {
    lr = baleen.cosine { peak = 1e-2, warmup = 3 }, weight_decay = 0.1,
    groups = { { match = { "*.bias", "*.gamma", "*.beta" }, weight_decay = 0 } },
  }),
}
