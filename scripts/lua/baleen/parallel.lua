--- parallel: layouts by hand. They change where things lie, never what is computed; a mesh axis that a run lacks
--- changes nothing, so one script runs on any ranks.
---   split { axis = "tensor", dim = "heads" } (f, ...): f(...), a layer or a function; parameters and values made
---     inside that have the logical axis `dim` are cut along the mesh axis
---   replicate { axis = "tensor" } (f, ...): what is made inside is whole
---   layout { name = "blocks.*.mlp.up.weight", axis = "tensor", placement = "shard", dim = 2 }: of parameters and
---     inputs by name, or of a layer's result by its path; `dim` counts from 1, -1 is the last, or is a logical axis
---   pipeline { micro_batches = 8 } (f, ...): each step's batch is cut into as many micro-batches, which go through the
---     stages inside in turn (the strategy of a mesh axis `pipeline` has the schedule)
---   stage {} (f, ...): what is made inside is a stage, the next one, or stage { index = 2 }; stages send to later ones
--- The innermost wins, `layout` stands above the others (the first that matches), and all stand above strategies.
local core = require "baleen.core"
local options = require "baleen.options"

local axis_rule = { type = "string", required = true }

local function check(what, given, rules)
  local chosen = options.check(what, given, rules)
  if not chosen.axis:match("^[%w_%-%.]+$") then
    core.fail(("%s: `axis` is %q; it must be the name of a mesh axis, as in axis = \"tensor\""):format(
      what, chosen.axis))
  end
  if chosen.dim == "" then
    core.fail(("%s: `dim` is %q; it must be a logical axis, as in dim = \"heads\""):format(what, chosen.dim))
  end
  return chosen
end

local Leaving = { __close = function(scope) core.leave(scope.mark) end }

local function check_body(what, body, example)
  if not options.callable(body) then
    core.fail(("%s: what it is put around is %s; it must be a function or a layer, as in "
      .. "%s (function() ... end)"):format(what, core.describe(body), example))
  end
  if core.graph_name() == "" then
    core.fail(what .. ": it stands around forward code, which runs only while the job's model is described; put it "
      .. "inside a layer's or the model's function")
  end
end

local function around(kind, rules)
  local what = "parallel." .. kind
  return core.entry(function(given)
    local chosen, where = check(what, given, rules), core.where()
    return core.entry(function(body, ...)
      check_body(what, body, what .. " { ... }")
      local mark = core.begin_annotation(kind, chosen.axis, chosen.dim or "", where)
      local _scope <close> = setmetatable({ mark = mark }, Leaving)
      local results = table.pack(body(...))
      core.end_annotation(mark)
      return table.unpack(results, 1, results.n)
    end)
  end)
end

local layout_rules = {
  name = { type = "string|table", required = true },
  axis = axis_rule,
  placement = { type = "string", required = true, choices = { "shard", "replicate" } },
  dim = { type = "integer|string" },
}

local function dimension_of(chosen)
  if chosen.placement == "replicate" then
    if chosen.dim then
      core.fail("parallel.layout: `dim` says what to cut; take it away from placement = \"replicate\"")
    end
    return 0
  end
  if chosen.dim == nil or chosen.dim == 0 then
    core.fail(("parallel.layout: `dim` is %s; placement = \"shard\" needs a dimension from 1, -1 for the last, or a "
      .. "logical axis"):format(core.describe(chosen.dim)))
  end
  return chosen.dim
end

local function layout(given)
  local chosen = check("parallel.layout", given, layout_rules)
  if core.graph_name() ~= "" then
    core.fail("parallel.layout: it stands beside the model, not in its functions: they run once per graph")
  end
  local dim, names = dimension_of(chosen), chosen.name
  if type(names) == "string" then names = { names } end
  options.expect_list("parallel.layout: `name`", names, '{ "a.weight", "b.weight" }')
  if #names == 0 then
    core.fail("parallel.layout: `name` is empty; it must be a pattern of names, or a list of them")
  end
  for i, name in ipairs(names) do
    options.expect(("parallel.layout: name %d"):format(i), name, "string")
    core.layout(name, chosen.axis, dim, core.where())
  end
end

local stages = { graph = "", next = 1, open = nil, pipeline = nil }  -- of the graph that is being described

local function of_graph()
  if stages.graph ~= core.graph_name() then
    stages.graph, stages.next, stages.open, stages.pipeline = core.graph_name(), 1, nil, nil
  end
  return stages
end

local Closing = { __close = function() stages.open = nil end }

--- One stage: ops made inside carry its number, for the strategy that has the stages.
local function stage(given)
  local chosen = options.check("parallel.stage", given, { index = { type = "integer", min = 1 } })
  local where = core.where()
  return core.entry(function(body, ...)
    check_body("parallel.stage", body, "parallel.stage {}")
    local now = of_graph()
    if now.open then
      core.fail(("parallel.stage: it stands inside the stage of %s; stages follow each other"):format(now.open), where)
    end
    local index = chosen.index or now.next
    now.next = math.max(now.next, index + 1)
    now.open = where
    local _stage <close> = setmetatable({}, Closing)
    local tags = { stage = tostring(index), stage_where = where }
    local _scope <close> = setmetatable({ mark = core.enter(core.path(), where, tags) }, Leaving)
    return body(...)
  end)
end

--- Says into how many micro-batches a step is cut, around the stages.
local function pipeline(given)
  local rules = { micro_batches = { type = "integer", required = true, min = 1 } }
  local chosen = options.check("parallel.pipeline", given, rules)
  local where = core.where()
  return core.entry(function(body, ...)
    check_body("parallel.pipeline", body, "parallel.pipeline { micro_batches = 8 }")
    local now = of_graph()
    if now.pipeline then
      core.fail(("parallel.pipeline: there is one at %s already; a model has one"):format(now.pipeline), where)
    end
    now.pipeline = where
    if core.graph_name() == "train" then core.micro_batches(chosen.micro_batches, where) end
    return body(...)
  end)
end

local parallel = {
  pipeline = core.entry(pipeline),
  stage = core.entry(stage),
  split = around("split", { axis = axis_rule, dim = { type = "string", required = true } }),
  replicate = around("replicate", { axis = axis_rule }),
  layout = core.entry(layout),
}

return setmetatable(parallel, {
  __index = function(_, name)
    core.fail("baleen.parallel: " .. core.unknown_word("function", tostring(name),
      { "layout", "pipeline", "replicate", "split", "stage" }))
  end,
})
