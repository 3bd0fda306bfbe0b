-- How long the register outlives the last grant, in ms: a clock that is set back by less cannot rewind tokens.
local guard = '60000'

-- A Lua number would be printed with 14 digits; a token has 16. ('%.0f' does the same, at five times the cost.)
local function digits(token)
  return string.format('%d', token)
end

-- Issues the next tokens, `count` in a row, and answers the first: the clock, or one more than the register when the clock stands,
-- went back, or was outrun by reservations. An error table when Redis refuses.
local function issue(count)
  local last = redis.pcall('SET', KEYS[1], digits(now + count - 1), 'PX', guard, 'GET')
  if type(last) == 'table' then
    return nil, last
  end
  local token = now
  if last and tonumber(last) >= now then
    token = last + 1
    redis.call('SET', KEYS[1], digits(token + count - 1), 'PX', guard)
  end
  return token
end

-- Whoever has a token of this lock may use those behind it up to the register: every later grant gets a larger one.
local function raise_register(top)
  local last = tonumber(redis.call('GET', KEYS[1]) or 0)
  if last >= top then
    return last
  end
  redis.call('SET', KEYS[1], digits(top), 'PX', guard)
  return top
end
