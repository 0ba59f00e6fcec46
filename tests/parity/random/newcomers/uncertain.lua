-- Three tasks on one trunk whose losses are weighted by learned scalars; one of them counts only some rows.
local baleen = require "baleen"
local common = require "common"
local init, nn, ops = baleen.init, baleen.nn, baleen.ops

local trunk = nn.sequential { name = "trunk", nn.linear { name = "up", out = 15, axes = { "ff" } }, nn.silu {},
  nn.dropout { p = 0.2 }, nn.linear { name = "down", out = 6 }, nn.rms_norm { name = "norm" } }
local kind, amount, mean = nn.linear { name = "kind", out = 4 }, nn.linear { name = "amount", out = 1 },
  nn.linear { name = "mean", out = { 2, 1 } }
local spread = common.layer("spread", function(self) return self:parameter("logs", { 3 }, { init = init.zeros }) end)
local measure = nn.cross_entropy {}

return common.job {
  light = { "*bias", "*.gain", "*.gamma" },
  model = function(x)
    local h = trunk(x)
    return { kind = kind(h), amount = amount(h), mean = mean(h), logs = spread(x) }
  end,
  loss = function(o, y, f)
    local n = y.shape[1]
    local counted = ops.float(f.counted)
    local function weighed(i, loss)
      local s = common.part(o.logs, 1, i)
      return loss * ops.exp(-s) + 0.5 * n * s
    end
    local first = measure(o.kind, f.label)
    local off = (ops.reshape(o.amount, { n }) - y) * counted
    local both = ops.reshape(o.mean, { n, 2 }) - ops.reshape(y, { n, 1 })
    return weighed(1, first) + weighed(2, ops.sum(off * off)) + weighed(3, ops.sum(ops.abs(both))), n
  end,
  metrics = { kept = function(_, _, f) return ops.sum(ops.float(f.counted)), f.counted.shape[1] end },
  input = "x", target = "y", data = common.rows("x f32 5", "label i32 < 4", "counted i32 < 2", "y f32"),
}
