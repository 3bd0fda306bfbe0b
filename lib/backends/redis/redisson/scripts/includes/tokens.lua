-- include: lock.lua

-- Issues a token and reserves some behind it. Returns it, and the last one.
local function issue_here(reserve)
  if fenced then
    local last = redis.call('INCRBY', counter_key, 1 + reserve)
    -- Larger numbers are rounded here and in the client, and a field with a negative one is not read again: its lock could not be released.
    if last <= reserve or last > 9007199254740991 then
      error({err = 'ERR the counter of fencing tokens is out of range'})
    end
    return last - reserve, last
  end
  local first, count = issue(1, 1 + reserve)
  if not first then
    error(count)
  end
  return first, first + count - 1
end

-- Reserves tokens behind one that was issued to the present holder, and returns the last one.
local function reserve_here(token, reserve, least)
  if not fenced then
    return reserve_behind(token, reserve, least)
  end
  local last = tonumber(redis.call('GET', counter_key) or 0)
  local top = math.max(least, token + reserve)
  if last < top then
    redis.call('SET', counter_key, digits(top))
  end
  return math.max(last, top)
end
