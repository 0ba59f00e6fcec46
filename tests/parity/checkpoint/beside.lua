-- A model that is trained, and a program that learns beside it: `--order behind` each step, `before` it, `often` before
-- it, `once` before them all, or `evaluated`: behind each evaluation, and what is there then goes to the file `--own`.
local baleen = require "baleen"
local nn = baleen.nn
local order = baleen.arg("order", "behind")
local own = baleen.arg("own", "")
local rows = baleen.data.synthetic { features = 6, rows = 64, held_out = 8 }
local body, head = nn.linear { name = "body", out = 8 }, nn.linear { name = "head", out = 1 }
local function loss(x) return baleen.ops.sum(x * x) end

local function learn(run)
  local x = {}
  for i = 1, 24 do x[i] = math.sin(i * (run.step_count + 1)) end
  run:run("learn", { x = x })
end

local function runs_before(times)
  return function(job, run)
    while run.step_count < job.steps do
      for _ = 1, times do learn(run) end
      run:step()
    end
  end
end

local function runs_once(job, run)
  if run.step_count == 0 then learn(run) end
  while run.step_count < job.steps do run:step() end
end

return baleen.job {
  model = function(x) return head(nn.dropout { p = 0.2 } (body(x))) end,
  loss = function(output, _, fields) return loss(output), fields.features.shape[1] end,
  data = rows, batch = 8, steps = 6, evaluate = { every = 4 },
  optimizer = baleen.optimizer("adamw", { lr = 1e-2 }),
  programs = { learn = {
    inputs = { x = { shape = { 4, 6 }, axes = { "batch" } } },
    run = function(inputs) return { loss = loss(head(body(inputs.x)) - 1), weight = baleen.ops.constant(4) } end,
    optimizer = baleen.optimizer("adamw", { lr = 1e-2 }), parameters = { "head.*" },
  } },
  on_step = order == "behind" and function(_, run) learn(run) end or nil,
  on_evaluate = order == "evaluated" and function(_, run)
    learn(run)
    if own ~= "" then run:save(own) end
  end or nil,
  loop = order == "before" and runs_before(1) or order == "often" and runs_before(3)
    or order == "once" and runs_once or nil,
}
