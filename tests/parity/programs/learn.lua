-- One regression, trained by the job's own step (--as train) or by a program that learns from what the loop gives it
-- (--as program), and then the job is of programs alone.
local baleen = require "baleen"
local nn = baleen.nn

local count, width = baleen.arg("rows", 12), 4
local rows, x, y = {}, {}, {}
for i = 1, count do
  local row = {}
  for k = 1, width do row[k] = math.floor(256 * math.sin(i * 7 + k * 3)) / 256 end -- exact in fp32, as tables are
  x[i] = { table.unpack(row) }
  y[i] = row[1] * row[2] - row[3] + row[4]
  rows[i] = { table.unpack(row) }
  rows[i][width + 1] = y[i]
end

local model = nn.sequential { nn.linear { out = 16, axes = { "ff" } }, nn.tanh {}, nn.linear { out = 1 } }
local loss, steps = nn.mse {}, 8
local optimizer = baleen.optimizer("adamw", {
  lr = baleen.cosine { peak = 0.05, warmup = 2 }, groups = { { match = "*.bias", weight_decay = 0 } },
})

if baleen.arg("as") == "train" then
  return baleen.job {
    model = model, loss = loss, data = baleen.data.table { rows = rows, task = "regress", held_out = 0 }, batch = count,
    steps = steps, seed = 3, optimizer = optimizer, clip_grad_norm = 0.5,
    on_step = function(facts)
      print(("learnt %d loss %.15g norm %.15g"):format(facts.step, facts.loss, facts.gradient_norm))
    end,
  }
end

local batch = { shape = { count, width }, axes = { "batch", "" } }
return baleen.job {
  model = model, steps = steps, seed = 3,
  programs = {
    learn = {
      inputs = { x = batch, y = { shape = { count }, axes = { "batch" } } },
      run = function(inputs)
        local total, weight = loss(model(inputs.x), inputs.y)
        return { loss = total, weight = weight }
      end,
      optimizer = optimizer, clip_grad_norm = 0.5,
    },
    act = { inputs = { x = batch }, run = function(inputs) return { y = model(inputs.x) } end },
  },
  loop = function(job, run)
    for step = 1, job.steps do
      local out = run:run("learn", { x = x, y = y })
      print(("learnt %d loss %.15g norm %.15g"):format(step, out.loss[1] / out.weight[1], out.gradient_norm[1]))
    end
    local made = run:run("act", { x = x }).y
    print(("made %.15g %.15g"):format(made[1], made[#made]))
  end,
}
