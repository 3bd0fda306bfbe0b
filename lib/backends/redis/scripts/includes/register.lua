-- include: clock.lua

-- How long (ms) the register outlives the last grant: a clock that is set back by less cannot rewind tokens. It is ahead of the clock by no
-- more than the grants of one command, some ten microseconds.
local guard = '60000'

-- Lua would print a number with 14 digits; a token has 16. ('%.0f' does the same, at five times the cost.)
local function digits(token)
  return string.format('%d', token)
end

-- Larger numbers are rounded, here and in JavaScript. The clock is there in the year 2255: another program has written the key.
local largest = 9007199254740991

local function used_up(key)
  return {err = 'TOKENS ' .. key}
end

-- Issues tokens in a row, at least `least` and at most `wanted`, and returns the first and how many there are. An error table when Redis
-- refuses. Tokens beyond the least are between the register and the clock, never ahead of the clock: after a loss of all data tokens come
-- from the clock, and must be larger than those before.
local function issue(least, wanted)
  local before = redis.pcall('SET', KEYS[1], digits(now), 'PX', guard, 'GET')
  if type(before) == 'table' then
    return nil, before
  end
  local last = tonumber(before or nil)
  if last and last + wanted <= now then
    return now - wanted + 1, wanted
  end
  -- Without a register the clock is past all tokens. Else the clock stands, went back, or has not advanced far enough.
  local first = last and last + 1 or now
  local top = math.max(now, first - 1 + least)
  if top > largest then
    redis.call('SET', KEYS[1], before, 'PX', guard)
    return nil, used_up(KEYS[1])
  elseif top > now then
    redis.call('SET', KEYS[1], digits(top), 'PX', guard)
  end
  return first, top - first + 1
end

-- Reserves tokens behind one that was issued, and returns the last one: a holder of this lock may use those up to the register, since each
-- later grant gets a larger one. `least`: reserved in any case, even if the clock is behind (a token of another server).
local function reserve_behind(token, reserve, least)
  local last = tonumber(redis.call('GET', KEYS[1]) or 0)
  local top = math.max(least, math.min(token + reserve, now))
  if last > largest then
    return token
  elseif math.max(last, token) >= top then
    return math.max(last, token)
  end
  redis.call('SET', KEYS[1], digits(top), 'PX', guard)
  return top
end
