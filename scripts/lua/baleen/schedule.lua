--- Schedules: functions of the step (from 0) and of the job's number of steps. Any Lua function will do as well.
local core = require "baleen.core"
local options = require "baleen.options"

local Schedule = {
  __call = function(self, step, steps)
    return self.value(step, steps)
  end,
  __tostring = function(self)
    return self.name .. " " .. options.text(self.given)
  end,
}

--- Linear warm-up, peak (step + 1) / warmup, before `after`, which counts its steps from the warm-up's end.
local function warmed(given, after)
  return function(step, steps)
    if step < given.warmup then return given.peak * (step + 1) / given.warmup end
    return after(step - given.warmup, math.max(1, (given.steps or steps) - given.warmup))
  end
end

local function define(name, rules, make)
  return options.maker(name .. " { ... }", core.entry(function(given)
    local checked = options.check(name, given, rules)
    return setmetatable({ name = name, given = checked, value = make(checked) }, Schedule)
  end))
end

local peak = { type = "number", required = true }
local warmup = { type = "integer", default = 0, min = 0 }
local steps_rule = { type = "integer", min = 1 }

local schedule = {}

--- constant { value }
schedule.constant = define("constant", { value = { type = "number", required = true } }, function(given)
  return function() return given.value end
end)

--- linear { peak, warmup = 0, final = 0, steps = the job's }
schedule.linear = define("linear", {
  peak = peak, warmup = warmup, steps = steps_rule, final = { type = "number", default = 0 },
}, function(given)
  return warmed(given, function(step, steps)
    return given.peak + (given.final - given.peak) * math.min(1, step / steps)
  end)
end)

--- cosine { peak, warmup = 0, final = peak / 10, steps = the job's }
schedule.cosine = define("cosine", {
  peak = peak, warmup = warmup, steps = steps_rule, final = { type = "number" },
}, function(given)
  local final = given.final or given.peak / 10
  return warmed(given, function(step, steps)
    return final + (given.peak - final) * 0.5 * (1 + math.cos(math.pi * math.min(1, step / steps)))
  end)
end)

--- inverse_sqrt { peak, warmup }: falls with the root of the step after the warm-up (arXiv 1706.03762, section 5.3).
schedule.inverse_sqrt = define("inverse_sqrt", {
  peak = peak, warmup = { type = "integer", required = true, min = 1 },
}, function(given)
  return warmed(given, function(step)
    return given.peak * math.sqrt(given.warmup / (given.warmup + step))
  end)
end)

--- warm_up { to, warmup }: linearly up to a number or another schedule, which counts from the warm-up's end.
schedule.warm_up = define("warm_up", {
  to = { type = "number|function", required = true }, warmup = { type = "integer", required = true, min = 1 },
}, function(given)
  local to = given.to
  if type(to) == "number" then to = function() return given.to end end
  return function(step, steps)
    local rest = math.max(1, steps - given.warmup)
    if step < given.warmup then return to(0, rest) * (step + 1) / given.warmup end
    return to(step - given.warmup, rest)
  end
end)

local function check_points(points)
  options.expect_list("piecewise: `points`", points, "{ { 0, 1e-3 }, { 500, 1e-4 } }")
  if #points == 0 then core.fail("piecewise: give points, as in { { 0, 1e-3 }, { 500, 1e-4 } }") end
  for i, point in ipairs(points) do
    if type(point) ~= "table" or math.type(point[1]) ~= "integer" or type(point[2]) ~= "number" or #point > 2 then
      core.fail(("piecewise: point %d must be { step, value }"):format(i))
    elseif i > 1 and point[1] <= points[i - 1][1] then
      core.fail(("piecewise: the steps must rise, but point %d is at step %d after step %d"):format(
        i, point[1], points[i - 1][1]))
    end
  end
end

--- piecewise { points = { { step, value }, ... }, smooth = false }: the value of the last point reached; with
--- `smooth`, straight lines between the points.
schedule.piecewise = define("piecewise", {
  points = { type = "table", required = true }, smooth = { type = "boolean", default = false },
}, function(given)
  local points = given.points
  check_points(points)
  return function(step)
    local reached = 1
    while points[reached + 1] and points[reached + 1][1] <= step do reached = reached + 1 end
    local from, to = points[reached], points[reached + 1]
    if not given.smooth or not to or step < from[1] then return from[2] end
    return from[2] + (to[2] - from[2]) * (step - from[1]) / (to[1] - from[1])
  end
end)

local names = {}
for name in pairs(schedule) do names[#names + 1] = name end

return setmetatable(schedule, {
  __index = function(_, name)
    core.fail("baleen.schedule: " .. core.unknown_word("schedule", tostring(name), names))
  end,
})
