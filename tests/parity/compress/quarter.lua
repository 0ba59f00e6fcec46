-- The main job (examples/02_gpt) at half its width: a quarter of its parameters, and of the work of a step.
local baleen = require "baleen"
local nn, data = baleen.nn, baleen.data

local corpus = data.text {
  path = baleen.arg("data", "/usr/include/c++"), context = 128, held_out_every = 20,
}

local model = nn.sequential {
  nn.embedding { vocab = corpus.vocab, dim = 64, positions = 128 },
  nn.repeated(4, function() return nn.transformer_block { dim = 64, heads = 4, causal = true } end),
  nn.layer_norm {},
  nn.linear { name = "head", out = corpus.vocab, bias = false, axes = { "vocab" } },
}

return baleen.job {
  model = model, loss = nn.cross_entropy {}, data = corpus,
  batch = 16, steps = 1000, clip_grad_norm = 1.0,
  optimizer = baleen.optimizer("adamw", {
    lr = baleen.cosine { peak = 1e-3, warmup = 100 }, weight_decay = 0.1,
    groups = { { match = { "*.bias", "*.gamma", "*.beta" }, weight_decay = 0 } },
  }),
  evaluate = { every = 500, batches = 64 },
}
