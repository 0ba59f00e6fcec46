-- What a row comes to depends on its batch, unless `apart` is given.
local baleen = require "baleen"
local nn, ops = baleen.nn, baleen.ops

local into, out = nn.linear { name = "into", out = 7 }, nn.linear { name = "out", out = 3 }

local function centred(x)
  local c = x - ops.mean(x, 1, true)
  return c * ops.rsqrt(ops.mean(c * c, 1, true) + 1e-5)
end

return baleen.job {
  model = function(x)
    local h = into(x)
    return out(ops.tanh(baleen.arg("apart", false) and h or centred(h)))
  end,
  loss = nn.cross_entropy {},
  data = baleen.data.synthetic { fields = { "x f32 6", "y i32 < 3" }, rows = 64, held_out = baleen.arg("held_out", 8) },
  batch = 8, steps = 2, optimizer = baleen.optimizer("sgd", { lr = 0.1 }),
  evaluate = { every = 2, batches = baleen.arg("batches", 0) },
}
