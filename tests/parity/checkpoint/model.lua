-- A small language model with dropout, that is saved and resumed. `--save now`: it saves at once and trains no step.
local baleen = require "baleen"
local nn = baleen.nn
local corpus = baleen.data.text { path = baleen.arg("data"), tokenizer = "bytes", context = 16, held_out = 0.2 }
local dim = baleen.arg("dim", 24)
local saves_now = baleen.arg("save", "") == "now"

return baleen.job {
  model = nn.sequential {
    nn.embedding { vocab = corpus.vocab, dim = dim, positions = 16 },
    nn.repeated(baleen.arg("layers", 2), function()
      return nn.transformer_block { dim = dim, heads = 4, causal = true, dropout = 0.1 }
    end),
    nn.layer_norm {},
    nn.linear { name = "head", out = corpus.vocab, bias = false, axes = { "vocab" } },
  },
  loss = nn.cross_entropy {}, data = corpus, batch = 8, steps = 12, clip_grad_norm = 1.0,
  gradient_accumulation_steps = baleen.arg("accumulate", 1),
  optimizer = baleen.optimizer(baleen.arg("optimizer", "adamw"), {
    lr = baleen.cosine { peak = baleen.arg("peak", 1e-2), warmup = 3 },
  }),
  evaluate = { every = baleen.arg("evaluate", 6) },
  loop = saves_now and function(_, run) run:checkpoint() end or nil,
}
