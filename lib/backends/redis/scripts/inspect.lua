--[[
Returns the holders and waiters of a lock.

KEYS  1 register, 2 record, 3 queue, 4 waiters (includes/layout.lua)
ARGV  1 how many waiters to return at most, of those that can be reached and of the others
      2 prefix of the clients' channels; not used
REPLY {kind, or '' when the lock is free,
       limit of permits, else 0,
       holders: {claim, token, µs since its grant, rest of its lease in ms, full | provisional | kept, permits} each,
       waiters that are alive: {claim, µs since it came, kind, permits, 1 | 0 (unreachable)} each} or 'failed <error>'
INVARIANT  Changes nothing.
]]
-- include: sharing.lua

-- The sharers. `look` is not used: it would end holds whose time is up.
local function sharers_of()
  local what, top = string.match(redis.call('HGET', waiters_key, '') or '', '^(%l+) (%d+) ')
  local found, holders = redis.call('ZRANGEBYSCORE', record_key, digits(now_ms), '+inf', 'WITHSCORES'), {}
  for entry = 1, #found, 2 do
    local claim, ends = found[entry], tonumber(found[entry + 1])
    local token, state, permits = read_sharer(claim)
    if what and token then
      holders[#holders + 1] = {claim, digits(token), math.max(0, now - token), ends - now_ms, state, permits}
    else
      -- Of another layout.
      holders[#holders + 1] = {'', '0', 0, ends - now_ms, 'full', 1}
    end
  end
  return holders, holders[1] and (what or 'shared') or '', tonumber(top or 0)
end

local function holders_of()
  local record = redis.pcall('GET', record_key)
  if not record then
    return {}, '', 0
  elseif type(record) == 'table' then
    return sharers_of()
  end
  local claim, token, expiry, state = read(record)
  if not claim then
    return {{'', '0', 0, math.max(0, expiry - now_ms), 'full', 1}}, 'exclusive', 0
  end
  -- The token is the clock at the grant, or a little more when tokens were issued faster.
  return {{claim, token, math.max(0, now - tonumber(token)), math.max(0, expiry - now_ms), state, 1}}, 'exclusive', 0
end

local function inspect(most)
  local holders, what, top = holders_of()
  local holding = {}
  for _, holder in ipairs(holders) do
    holding[holder[1]] = true
  end
  local waiters = {}
  local reply = {what, top, holders, waiters}
  if most == 0 then
    return reply
  end
  local function tell(range, reachable)
    for _, claim in ipairs(range) do
      local alive_until, _, _, _, _, place, demand = read_waiter(redis.call('HGET', waiters_key, claim))
      -- The claim of a provisional grant is in the queue, too.
      if alive_until and alive_until >= now_ms and not holding[claim] then
        local wanted, permits = parse(demand)
        waiters[#waiters + 1] = {claim, math.max(0, now - place), wanted, permits, reachable}
      end
    end
  end
  tell(first_waiters(most), 1)
  tell(redis.call('ZRANGEBYSCORE', queue_key, '-inf', '(0', 'LIMIT', 0, most + #holders), 0)
  return reply
end

choose(1)
return isolated(inspect, tonumber(ARGV[1]))
