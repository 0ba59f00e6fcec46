--- program(name, given): checks one of a job's named programs, and gives it as the core reads it.
local core = require "baleen.core"
local options = require "baleen.options"

local rules = {
  inputs = { type = "table", required = true },       -- by name: { dtype, shape, axes }
  run = { type = "function", required = true },       -- (inputs) -> outputs by name; describes the graph
  replicated = { type = "boolean", default = false }, -- every rank computes all of it
  optimizer = { type = "any" },                       -- then each run updates parameters by its output `loss`
  parameters = { type = "table" },                    -- with an optimizer: patterns of those; all unless given
  clip_grad_norm = { type = "number", min = 0 },      -- with an optimizer: global norm of the gradient; 0: none
}

local input_rules = {
  dtype = { type = "string", default = "fp32", choices = { "fp32", "int32", "int64", "uint8" } },
  shape = { type = "table", required = true },
  axes = { type = "table", default = {} }, -- a logical axis per dimension, "" where none
}

--- Names that the core and the library give themselves.
local taken = { initialize = true, train = true, evaluate = true }

local function check_input(what, name, given)
  if type(name) ~= "string" or name == "" then
    core.fail(what .. ": `inputs` are given by name, as in { tokens = { dtype = \"int32\", shape = { 1, 8 } } }")
  end
  what = ("%s: input `%s`"):format(what, name)
  local input = options.check(what, given, input_rules)
  options.expect_list(what .. ": `shape`", input.shape, "{ 1, 8 }")
  options.expect_list(what .. ": `axes`", input.axes, '{ "batch", "" }')
  for i, extent in ipairs(input.shape) do
    if math.type(extent) ~= "integer" or extent < 1 then
      core.fail(("%s: `shape`: extent %d is %s; it must be an integer of at least 1"):format(what, i,
        core.describe(extent)))
    end
  end
  for i, axis in ipairs(input.axes) do options.expect(("%s: axis %d"):format(what, i), axis, "string") end
  local axes = {}
  for i = 1, #input.shape do axes[i] = input.axes[i] or "" end
  if #input.axes > #input.shape then
    core.fail(("%s: there are %d axes for %d dimensions"):format(what, #input.axes, #input.shape))
  end
  return { name = name, dtype = input.dtype, shape = input.shape, axes = axes }
end

--- What only a program that learns has, and what such a one lacks.
local function check_learning(what, program)
  if not program.optimizer then
    for _, option in ipairs { "parameters", "clip_grad_norm" } do
      if program[option] then core.fail(("%s: `%s` is for programs with an `optimizer`"):format(what, option)) end
    end
    return
  end
  if type(program.optimizer) ~= "table" or not program.optimizer.where then
    core.fail(("%s: `optimizer` is %s; make it with baleen.optimizer(name, { ... })"):format(what,
      core.describe(program.optimizer)))
  end
  if program.replicated then
    core.fail(what .. ": it has an `optimizer`, so its ranks share the work; `replicated = true` is for the others")
  end
  program.parameters, program.clip_grad_norm = program.parameters or {}, program.clip_grad_norm or 0
  options.expect_list(what .. ": `parameters`", program.parameters, '{ "head.*" }')
  for i, pattern in ipairs(program.parameters) do
    options.expect(("%s: `parameters`: pattern %d"):format(what, i), pattern, "string")
  end
end

return function(name, given)
  if type(name) ~= "string" or not name:match("^[%a_][%w_%-]*$") then
    core.fail("job: a program's name is " .. core.describe(name)
      .. "; it must begin with a letter and hold letters, digits, `_` and `-`")
  end
  local what = ("job: program `%s`"):format(name)
  if taken[name] then core.fail(what .. ": the name is the library's own; choose another") end
  local program = options.check(what, given, rules)
  local inputs = {}
  for input, type in pairs(program.inputs) do inputs[#inputs + 1] = check_input(what, input, type) end
  check_learning(what, program)
  program.name, program.inputs, program.learns = name, inputs, program.optimizer ~= nil
  return program
end
