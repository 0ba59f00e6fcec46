-- Rows that go through two of four experts, which a router chooses; the experts may be cut over ranks.
local baleen = require "baleen"
local init, nn, ops = baleen.init, baleen.nn, baleen.ops

local rows = {}
for i = 1, 60 do rows[i] = { math.sin(i), math.cos(3 * i), math.sin(7 * i), i % 3 } end
local points = baleen.data.table { rows = rows, held_out = 0 }
local count, chosen, hidden = 4, 2, 6

--- The weight of each expert: its share where it is among the greatest, else 0; they add up to 1.
local function gates_of(shares)
  local _, ids = ops.top_k(shares, chosen)
  local kept
  for i = 1, chosen do
    local one = ops.pointwise(function(share, id)
      return ops.select(ops.eq(ops.index(-1), id), share, 0)
    end, shares, ops.slice(ids, ids.rank, i, 1))
    kept = kept and kept + one or one
  end
  return kept / ops.sum(kept, -1, true)
end

local experts = nn.layer {
  kind = "experts",
  forward = function(self, x)
    local dim = x.shape[2]
    local function parameter(name, shape, axes, deviation)
      return self:parameter(name, shape, { axes = axes, init = init.normal(deviation) })
    end
    local router = parameter("router", { dim, count }, { "embed", "" }, 1)
    local up = parameter("up", { count, dim, hidden }, { "heads", "embed", "" }, 0.5)
    local bias = parameter("bias", { 1, count, hidden }, { "", "heads", "" }, 0.1)
    local down = parameter("down", { count, hidden, dim }, { "heads", "", "embed" }, 0.5)
    local made = ops.matmul("bef,efd->bed", ops.silu(ops.matmul("bd,edf->bef", x, up) + bias), down)
    return ops.matmul("be,bed->bd", gates_of(ops.softmax(ops.matmul("bd,de->be", x, router))), made)
  end,
}

local into, middle = nn.linear { name = "into", out = 8 }, experts { name = "experts" }
local norm, head = nn.layer_norm { name = "norm" }, nn.linear { name = "head", out = points.classes }

return baleen.job {
  model = function(x)
    local y = into(x)
    return head(norm(y + middle(y)))
  end,
  loss = nn.cross_entropy {}, data = points, batch = 12, steps = 5,
  optimizer = baleen.optimizer("adamw", { lr = 0.02 }),
}
