-- A transformer with dropout and micro-batches.
local baleen = require "baleen"
local nn = baleen.nn
local data = baleen.data.synthetic { context = 8, vocab = 19, rows = 60, held_out = 8 }
local blocks = nn.repeated(2, function()
  return nn.transformer_block { dim = 16, heads = 2, dropout = 0.3 }
end, { name = "blocks" })

return baleen.job {
  model = nn.sequential {
    nn.embedding { name = "emb", vocab = 19, dim = 16, positions = 8 }, nn.dropout { name = "drop", p = 0.2 }, blocks,
    nn.layer_norm { name = "n" }, nn.linear { name = "head", out = 19, axes = { "vocab" } },
  },
  loss = nn.cross_entropy {}, data = data, batch = 8, steps = 6, gradient_accumulation_steps = 2, clip_grad_norm = 1,
  optimizer = baleen.optimizer("adamw", { lr = 3e-3 }),
}
