-- A small transformer that learns to write this file.
local baleen = require "baleen"
local nn = baleen.nn

local text = baleen.data.text { path = "tokens.lua", tokenizer = "bytes", context = 12, held_out = 0.2 }
local block = { dim = 24, heads = 4, hidden = 48, causal = true }

return baleen.job {
  model = nn.sequential {
    nn.embedding { vocab = text.vocab, dim = 24, positions = 12 },
    nn.repeated(2, function() return nn.transformer_block(block) end),
    nn.layer_norm {},
    nn.linear { name = "head", out = text.vocab, bias = false, axes = { "vocab" } },
  },
  loss = nn.cross_entropy {}, data = text, batch = 8, steps = 5, seed = 1, clip_grad_norm = 1.0,
  gradient_accumulation_steps = baleen.arg("accumulate", 1),
  optimizer = baleen.optimizer("adamw", { lr = 0.01 }),
}
