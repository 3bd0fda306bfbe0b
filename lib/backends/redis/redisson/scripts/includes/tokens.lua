-- include: lock.lua

-- Issues a token and reserves some behind it. Returns it, and the last one.
local function issue_here(reserve)
  if fenced then
    local last = redis.pcall('INCRBY', counter_key, 1 + reserve)
    local refused = type(last) == 'table' and last.err
    if refused and not (string.find(refused, 'not an integer') or string.find(refused, 'overflow')) then
      error(last)
    elseif refused or last <= reserve or last > largest then
      -- A field with a negative token is not read again.
      error(used_up(counter_key))
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
  if last > largest then
    return token
  elseif last < top then
    redis.call('SET', counter_key, digits(top))
  end
  return math.max(last, top)
end
