--- job { model, loss, data, batch, steps, optimizer, ... }, or job { programs, ... }: checks what a script returns.
local core = require "baleen.core"
local generate = require "baleen.generate"
local options = require "baleen.options"
local predict = require "baleen.predict"
local program = require "baleen.program"
local target = require "baleen.target"

--- After a step or a run of a program that learns whose loss or gradient is NaN or infinite.
local on_nan = { type = "string", default = "stop", choices = { "stop", "continue" } }

local rules = {
  model = { type = "function", required = true },  -- a layer, or a function of the input (and of all fields)
  loss = { type = "function", required = true },   -- (output, target, fields) -> sum over the batch, weight
  metrics = { type = "table", default = {} },      -- by name: (output, target, fields) -> sum, weight
  data = { type = "any", required = true },
  input = { type = "string" },                     -- the field that the model is given; the first unless named
  target = { type = "string" },                    -- the field that the loss is given; the last unless named
  batch = { type = "integer", required = true, min = 1 },
  steps = { type = "integer", required = true, min = 0 },
  seed = { type = "integer", default = 0 },        -- of first values, dropout, the data's order, and math.random
  gradient_accumulation_steps = { type = "integer", default = 1, min = 1, earlier = "accumulate" },
  clip_grad_norm = { type = "number", default = 0, min = 0, earlier = "clip" },
  check = { type = "table", default = {} },        -- that memory keeps bits, and ranks the same ones
  on_nan = on_nan,
  optimizer = { type = "any", required = true },
  plan = { type = "table", default = {} },
  evaluate = { type = "table" },
  checkpoint = { type = "table" },                 -- saves the run as it goes: { every = 200, keep = 3, ... }
  generate = { type = "table" },                   -- a language model writes at the end: adds a program `generate`
  programs = { type = "table", default = {} },     -- by name: { inputs, run }, for run:run(name, inputs)
  loop = { type = "function" },
  on_step = { type = "function" },
  on_evaluate = { type = "function" },
}

--- A job without a loss has programs alone.
local programs_rules = {
  programs = { type = "table", required = true },
  model = { type = "function" }, -- names its parameters as a job that trains it does
  steps = { type = "integer", default = 0, min = 0 }, -- of schedules that are given no steps of their own
  seed = { type = "integer", default = 0 },
  plan = { type = "table", default = {} },
  check = { type = "table", default = {} },
  checkpoint = { type = "table" },
  loop = { type = "function" },
  on_nan = on_nan,
}

local evaluate_rules = {
  every = { type = "integer", default = 0, min = 0 },    -- steps between evaluations; 0: only at the end
  batches = { type = "integer", default = 0, min = 0 },  -- 0: the whole held-out part
}

local check_rules = {
  every = { type = "integer", default = 100, min = 0 },  -- updates between two looks, the last step is one; 0: none
  memory = { type = "boolean", default = true },         -- each update compares what it reads with what the last wrote
}

local generate_rules = {
  prompt = { type = "string", default = "\n" },
  tokens = { type = "integer", default = 200, min = 1 },
  temperature = { type = "number", default = 0.8, min = 0 },
  top_k = { type = "integer", default = 0, min = 0 },          -- of the likeliest tokens; 0: of all
  top_p = { type = "number", default = 1, min = 0, max = 1 },  -- of the fewest whose probabilities add up to it
  stop = { type = "string", default = "" },                    -- a text to end behind
}

local function check_made_by(name, value, maker)
  local is_made = type(value) == "table" and value.where and (value.groups ~= nil) == (name == "optimizer")
  if not is_made then core.fail(("job: `%s` is %s; make it with %s"):format(name, core.describe(value), maker)) end
end

local function check_fields(job)
  if type(job.data) ~= "userdata" then
    core.fail("job: `data` is " .. core.describe(job.data) .. "; make it with baleen.data.<plugin> { ... }")
  end
  local fields, names = job.data.fields, {}
  for i, field in ipairs(fields) do names[i] = field.name end
  job.input, job.target = job.input or names[1], job.target or names[#names]
  for _, option in ipairs { "input", "target" } do
    local found = false
    for _, name in ipairs(names) do found = found or name == job[option] end
    if not found then
      core.fail(("job: `%s`: %s"):format(option, core.unknown_word("field", job[option], names)))
    end
  end
end

local function check_programs(job)
  local programs, list = {}, {}
  for name, given in pairs(job.programs) do programs[name] = program(name, given) end
  if job.generate or core.generate then
    if programs.generate then
      core.fail("job: program `generate`: `generate = {}` and `baleen generate` make one of this name; choose another")
    end
    programs.generate = program("generate", generate.program(job))
    if job.generate then generate.check(job) end
  end
  if core.predict then
    if programs.predict then
      core.fail("job: program `predict`: `baleen predict` makes one of this name; choose another")
    end
    programs.predict = program("predict", predict.program(job))
  end
  for _, one in pairs(programs) do list[#list + 1] = one end
  job.programs, job.program_list = programs, list
end

--- The names that a run gives itself are known where it is planned.
local function check_metric(name, metric)
  options.expect_made(("job: the metric `%s`"):format(tostring(name)), metric)
  if type(name) ~= "string" or not options.callable(metric) then
    core.fail("job: `metrics` must give each a name and a function, as in { accuracy = baleen.nn.accuracy {} }")
  end
  if not name:find("^[%a_][%w_-]*$") then
    core.fail(("job: the metric `%s` has a name that is none; one has letters, digits, `_` and `-`, and begins with a "
      .. "letter or `_`"):format(core.presentable(name)))
  end
end

local function check_training(job)
  local asked = job.evaluate and "evaluate" or job.on_evaluate and "on_evaluate"
  job.evaluate = options.check("job: evaluate", job.evaluate, evaluate_rules)
  job.generate = job.generate and options.check("job: generate", job.generate, generate_rules)
  check_fields(job)
  check_made_by("optimizer", job.optimizer, "baleen.optimizer(name, { ... })")
  job.doubts = target.doubts(job, asked)
  for name, metric in pairs(job.metrics) do check_metric(name, metric) end
end

return core.entry(function(given)
  local trains = type(given) ~= "table" or given.loss ~= nil or given.programs == nil
  local job = options.check(trains and "job" or "job (of programs alone: it has no `loss`)", given,
    trains and rules or programs_rules)
  job.where, job.trains = core.where(), trains
  job.steps, job.seed = core.steps or job.steps, core.seed or job.seed
  job.check = options.check("job: check", job.check, check_rules)
  if trains then
    check_training(job)
  elseif next(job.programs) == nil then
    core.fail("job: it has neither a `loss` to train by nor programs to run")
  elseif core.generate then
    core.fail("job: it has no `loss` and no data, so it cannot generate text", job.where)
  elseif core.predict then
    core.fail("job: it has no `loss` and no data, so there are no rows to predict; run a program: baleen infer",
      job.where)
  end
  check_programs(job)
  options.expect_list("job: `plan`", job.plan, "plan = { baleen.strategy(name, { ... }) }")
  for _, strategy in ipairs(job.plan) do
    check_made_by("plan", strategy, "baleen.strategy(name, { ... })")
  end
  return core.new_job(job)
end)
