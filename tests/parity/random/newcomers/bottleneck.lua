-- Time is halved twice by reshapes, and grows back.
local baleen = require "baleen"
local common = require "common"
local nn, ops = baleen.nn, baleen.ops

local data = common.rows("x f32 time=16 x 3")
local down = nn.linear { name = "down", out = 10, over = 2, axes = { "ff" } }
local mid = nn.linear { name = "mid", out = 4 }
local up = nn.linear { name = "up", out = { 4, 3 } }
return common.job { model = function(x)
    local b = x.shape[1]
    local y = ops.reshape(x, { b, 4, 4, 3 })
    return ops.reshape(up(mid(ops.relu(down(y)))), { b, 16, 3 })
  end, loss = nn.mse {}, data = data }
