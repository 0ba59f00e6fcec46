-- Convolutions by shifted windows side by side, norms over the whole batch, pools.
local baleen = require "baleen"
local common = require "common"
local init, nn, ops = baleen.init, baleen.nn, baleen.ops

local data = common.rows("image f32 2 x height=8 x width=8", "label i32 < 4")
local conv = nn.layer { kind = "conv", options = { out = { type = "integer", required = true } },
  forward = function(self, x) -- [b, h, w, c]
    local h, w, c = x.shape[2], x.shape[3], x.shape[4]
    local weight = self:parameter("weight", { 9 * c, self.out }, { init = init.fan_in(), inputs = 9 * c })
    local padded = ops.pad(ops.pad(x, 2, 1, 1), 3, 1, 1)
    local parts = {}
    for i = 1, 3 do for j = 1, 3 do parts[#parts + 1] = ops.slice(ops.slice(padded, 2, i, h), 3, j, w) end end
    return ops.matmul("bhwc,co->bhwo", ops.concat(parts, 4), weight)
  end }
local bn = nn.layer { kind = "bn", forward = function(self, x)
  local c = x.shape[4]
  local gamma = self:parameter("gamma", { c }, { init = init.ones })
  local beta = self:parameter("beta", { c }, { init = init.zeros })
  local mean = ops.mean(x, { 1, 2, 3 }, true)
  local var = ops.mean((x - mean) * (x - mean), { 1, 2, 3 }, true)
  return (x - mean) * ops.rsqrt(var + 1e-5) * gamma + beta
end }
local c1, b1, c2, b2, head = conv { name = "c1", out = 6 }, bn { name = "b1" }, conv { name = "c2", out = 8 },
  bn { name = "b2" }, nn.linear { name = "head", out = 4 }
local function pool(x) -- 2x2 max
  local s = x.shape
  return ops.amax(ops.reshape(x, { s[1], s[2] // 2, 2, s[3] // 2, 2, s[4] }), { 3, 5 })
end
return common.job {
  model = function(img)
    local x = ops.transpose(img, { 1, 3, 4, 2 })
    x = pool(ops.relu(b1(c1(x))))
    x = pool(ops.relu(b2(c2(x))))
    return head(ops.reshape(x, { x.shape[1], -1 }))
  end,
  loss = nn.cross_entropy {}, metrics = { acc = nn.accuracy {} }, data = data,

}
