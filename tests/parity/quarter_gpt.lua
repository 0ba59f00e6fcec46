-- A quarter of examples/02_gpt, by parameters: width 64 in place of 128. What 16 bits and compressed gradients cost is
-- measured on it.
local baleen = require "baleen"
local nn, data = baleen.nn, baleen.data

local corpus = data.text { path = baleen.arg("data"), tokenizer = "bytes", context = 128, held_out_every = 20 }

local heads = baleen.arg("heads", 2)

return baleen.job {
  model = nn.sequential {
    nn.embedding { vocab = corpus.vocab, dim = 64, positions = 128 },
    nn.repeated(4, function() return nn.transformer_block { dim = 64, heads = heads, causal = true } end),
    nn.layer_norm {},
    nn.linear { name = "head", out = corpus.vocab, bias = false, axes = { "vocab" } },
  },
  loss = nn.cross_entropy {}, data = corpus, batch = 16, steps = 1000, clip_grad_norm = 1.0,
  optimizer = baleen.optimizer("adamw", {
    lr = baleen.cosine { peak = 1e-3, warmup = 100 }, weight_decay = 0.1, beta1 = baleen.arg("beta1", 0.9),
    variance_steps = baleen.arg("variance-steps", 0),
    groups = { { match = { "*.bias", "*.gamma", "*.beta" }, weight_decay = 0 } },
  }),
  evaluate = { every = baleen.arg("every", 0), batches = 64 },
}
