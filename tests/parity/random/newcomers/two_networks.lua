-- A policy beside a slow copy of it: the copy is trained towards the policy by a program of its own, as a moving
-- average.
local baleen = require "baleen"
local common = require "common"
local nn, ops = baleen.nn, baleen.ops

local function net(name)
  return nn.sequential { name = name, nn.linear { name = "up", out = 8, axes = { "ff" } }, nn.relu {},
  nn.linear { name = "down", out = 3 } } end
local policy, slow = net("policy"), net("slow")
local rows = 4

return common.job {
  model = function(x, f)
    local next_best = ops.amax(slow(f.next), -1, true)
    return { value = policy(x), wanted = next_best * 0.9 }
  end,
  loss = function(o, action, f)
    local taken = ops.eq(ops.index({ action.shape[1], 3 }, 2), ops.reshape(ops.float(action), { action.shape[1], 1 }))
    local off = ops.sum(o.value * taken, 2) - ops.reshape(o.wanted, { action.shape[1] }) - f.reward
    local size = ops.abs(off)
    return ops.sum(ops.select(ops.lt(size, 1), 0.5 * off * off, size - 0.5)), action.shape[1]
  end,
  input = "x", target = "action", data = common.rows("x f32 5", "next f32 5", "reward f32", "action i32 < 3"),
  groups = { { match = "slow.*", frozen = true } },
  programs = { follow = {
    inputs = { x = { shape = { rows, 5 }, axes = { "batch" } } },
    run = function(i)
      local off = policy(i.x) - slow(i.x)
      return { loss = ops.sum(off * off), weight = ops.constant(rows) }
    end,
    optimizer = baleen.optimizer("sgd", { lr = 0.1 }), parameters = { "slow.*" },
  } },
  on_step = function(facts, run)
    local x = {}
    for i = 1, 5 * rows do x[i] = math.sin(i * (facts.step + 1)) end
    run:run("follow", { x = x })
  end,
}
