--[[
Tells who holds a lock and who waits for it.

KEYS  1 register, 2 record, 3 queue, 4 waiters (includes/layout.lua)
ARGV  1 how many waiters to tell of at most
REPLY {kind, or '' when nobody holds,
       limit of permits, else 0,
       holders: {claim, token, µs since its grant, rest of its lease in ms, full | provisional | kept, permits} each,
       waiters that are alive, in order: {claim, µs since it came, kind, permits} each} or 'failed <error>'
INVARIANT  Changes nothing.
]]
-- include: layout.lua
-- include: clock.lua
-- include: version.lua
-- include: register.lua
-- include: record.lua
-- include: sharer.lua
-- include: sharing.lua

-- Of the readers, or of those with permits. `look` would end what is over.
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
  -- The token is the clock at the grant, or a little more where it was outrun.
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
  -- The claim of a provisional grant stands in the queue, too.
  local queue = redis.call('ZRANGE', queue_key, 0, most - 1 + #holders, 'WITHSCORES')
  for entry = 1, #queue, 2 do
    local claim, came = queue[entry], tonumber(queue[entry + 1])
    local alive_until, _, _, _, demand = read_waiter(claim)
    if alive_until and alive_until >= now_ms and not holding[claim] and #waiters < most then
      local wanted, permits = parse(demand)
      waiters[#waiters + 1] = {claim, math.max(0, now - came), wanted, permits}
    end
  end
  return reply
end

choose(1)
return isolated(inspect, tonumber(ARGV[1]))
