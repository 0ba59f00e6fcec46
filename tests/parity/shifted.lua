-- A convolution over the sequence, of shifted copies that every rank makes as a whole: each term of its gradient is
-- kept by one of the ranks that made it.
local baleen = require "baleen"
local nn, ops = baleen.nn, baleen.ops

local convolution = nn.layer {
  kind = "convolution",
  forward = function(self, x)
    local taps, y = self:parameter("weight", { 3, 12 }, { init = baleen.init.normal(0.3) }), nil
    for i = 1, 3 do
      local shifted = i == 1 and x or ops.slice(ops.pad(x, 2, i - 1, 0), 2, 1, x.shape[2])
      local term = shifted * ops.reshape(ops.slice(taps, 1, i, 1), { 12 })
      y = y and y + term or term
    end
    return y
  end,
}

return baleen.job {
  model = nn.sequential {
    nn.embedding { vocab = 17, dim = 12 }, convolution {}, nn.linear { name = "head", out = 17 },
  },
  loss = nn.cross_entropy {}, data = baleen.data.synthetic { context = 12, vocab = 17, rows = 64, held_out = 8 },
  batch = 8, steps = 6, gradient_accumulation_steps = 4, optimizer = baleen.optimizer("sgd", { lr = 0.1 }),
}
