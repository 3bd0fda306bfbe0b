--[[
Tells who holds a lock and who waits for it.

KEYS  1 register, 2 record, 3 queue, 4 waiters (includes/layout.lua)
ARGV  1 how many waiters to tell of at most
REPLY {kind, or '' when nobody holds,
       limit of permits, else 0,
       holders: {claim, token, µs since its grant, rest of its lease in ms, full | provisional | kept, permits} each,
       waiters that are alive, in order: {claim, µs since it came} each} or 'failed <error>'
INVARIANT  Changes nothing.
]]
-- include: layout.lua
-- include: clock.lua
-- include: version.lua
-- include: record.lua

local function holders_of()
  local record = redis.call('GET', record_key)
  if not record then
    return {}
  end
  local claim, token, expiry, state = read(record)
  if not claim then
    return {{'', '0', 0, math.max(0, expiry - now_ms), 'full', 1}}
  end
  -- The token is the clock at the grant, or a little more where it was outrun.
  return {{claim, token, math.max(0, now - tonumber(token)), math.max(0, expiry - now_ms), state, 1}}
end

local function inspect(most)
  local holders, holding = holders_of(), {}
  for _, holder in ipairs(holders) do
    holding[holder[1]] = true
  end
  local waiters = {}
  local reply = {holders[1] and 'exclusive' or '', 0, holders, waiters}
  if most == 0 then
    return reply
  end
  -- The claim of a provisional grant stands in the queue, too.
  local queue = redis.call('ZRANGE', queue_key, 0, most - 1 + #holders, 'WITHSCORES')
  for entry = 1, #queue, 2 do
    local claim, came = queue[entry], tonumber(queue[entry + 1])
    local alive_until = read_waiter(claim)
    if alive_until and alive_until >= now_ms and not holding[claim] and #waiters < most then
      waiters[#waiters + 1] = {claim, math.max(0, now - came)}
    end
  end
  return reply
end

choose(1)
return isolated(inspect, tonumber(ARGV[1]))
