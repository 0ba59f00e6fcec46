-- Statistics of the whole batch in training and learned ones beside, mixed rows (mixup), and dropped paths.
local baleen = require "baleen"
local common = require "common"
local init, nn, ops = baleen.init, baleen.nn, baleen.ops

local norm = nn.layer { kind = "batch_norm", forward = function(self, x)
  local d = x.shape[2]
  local gain, bias = self:parameter("gain", { d }, { init = init.ones }),
    self:parameter("bias", { d }, { init = init.zeros })
  local mean = ops.mean(x, 1, true)
  local var = ops.mean(x * x, 1, true) - mean * mean
  return (x - mean) * ops.rsqrt(ops.relu(var) + 1e-2) * gain + bias
end }
local a, b, c = nn.linear { name = "a", out = 12, axes = { "ff" } }, nn.linear { name = "b", out = 8 },
  nn.linear { name = "c", out = 8 }
local one, two, head = norm { name = "one" }, norm { name = "two" }, nn.linear { name = "head", out = 3 }

return common.job {
  light = { "*bias", "*.gain", "*.gamma" },
  model = function(x)
    local n = x.shape[1]
    if baleen.training() then
      local share = ops.uniform { n, 1 }
      local other = n > 1 and ops.concat({ ops.slice(x, 1, n, 1), ops.slice(x, 1, 1, n - 1) }, 1) or x
      x = x * share + (1 - share) * other
    end
    local h = two(b(ops.relu(one(a(x)))))
    if baleen.training() then h = h + c(h) * ops.lt(ops.uniform { n, 1 }, 0.8) / 0.8 else h = h + c(h) end
    return head(h)
  end,
  loss = nn.cross_entropy {}, data = common.rows("x f32 6", "y i32 < 3"),
}
