-- Products beyond those of linear layers: one that adds to a third operand, ops.matmul(spec, a, b, c), and one of two
-- weights, of which one is also multiplied by activations.
local baleen = require "baleen"
local nn, ops = baleen.nn, baleen.ops

local rows = {}
for i = 1, 97 do
  rows[i] = {}
  for k = 1, 12 do rows[i][k] = math.random() - 0.5 end
  rows[i][13] = i % 5
end
local points = baleen.data.table { rows = rows, held_out = 0.3 }

local residual = nn.layer {
  kind = "residual",
  forward = function(self, x)
    local dim, init = x.shape[2], baleen.init.normal(0.3)
    local up = self:parameter("up", { dim, 20 }, { init = init, axes = { "", "ff" } })
    local down = self:parameter("down", { 20, dim }, { init = init, axes = { "ff", "" } })
    return ops.matmul("bf,fd->bd", ops.matmul("bd,df->bf", x, up):tanh(), down, x)
  end,
}

local mixing = nn.layer {
  kind = "mixing",
  forward = function(self, x)
    local dim, init = x.shape[2], baleen.init.normal(0.3)
    local a, b = self:parameter("a", { dim, dim }, { init = init }), self:parameter("b", { dim, dim }, { init = init })
    return ops.matmul("bd,de->be", x, a) + ops.matmul("bd,de->be", x, ops.matmul("ij,jk->ik", a, b))
  end,
}

return baleen.job {
  model = nn.sequential {
    nn.linear { out = 12 }, residual {}, mixing {}, residual {}, nn.linear { out = points.classes },
  },
  loss = nn.cross_entropy {}, data = points, batch = 15, steps = 20,
  gradient_accumulation_steps = baleen.arg("accumulate", 1),
  optimizer = baleen.optimizer("adamw", { lr = 0.02 }),
}
