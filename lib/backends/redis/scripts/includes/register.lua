-- How long the register outlives the last grant, in ms: a clock that is set back by less cannot rewind tokens.
local guard = '60000'

-- A Lua number would be printed with 14 digits; a token has 16. ('%.0f' does the same, at five times the cost.)
local function digits(token)
  return string.format('%d', token)
end

-- Whoever has a token of this lock may use those behind it up to the register: every later grant gets a larger one.
local function raise_register(top)
  local last = tonumber(redis.call('GET', register_key) or 0)
  if last >= top then
    return last
  end
  redis.call('SET', register_key, digits(top), 'PX', guard)
  return top
end
