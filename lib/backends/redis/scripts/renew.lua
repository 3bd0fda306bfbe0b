--[[
Lengthens leases, any number at once. The first renewal of a pushed grant makes it a full one.

KEYS  1 register, then three for each hold: record, queue, waiters (includes/layout.lua)
ARGV  four for each hold: claim, its token (or a later one of its block), lease in ms, tokens to reserve behind that token
REPLY {now µs, then for each hold 'lost' or {rest of its lease in ms, last reserved token, waiters}}
INVARIANT  Never shortens a lease, never touches a record of another claim or of another grant of the same claim. What is wrong
           with one hold (a foreign type on its key) is no matter of the others.
]]
-- include: layout.lua
-- include: clock.lua
-- include: register.lua
local reply = {now}
for hold = 1, #ARGV / 4 do
  choose(hold)
  local claim, known_token, lease, reserve = ARGV[hold * 4 - 3], tonumber(ARGV[hold * 4 - 2]), tonumber(ARGV[hold * 4 - 1]), tonumber(ARGV[hold * 4])
  local record = redis.pcall('GET', record_key)
  local holder, token, expiry, state = string.match(type(record) == 'string' and record or '', '^(%S+) (%d+) (%d+) (%l+)$')
  if holder == claim and tonumber(token) <= known_token then
    expiry = math.max(tonumber(expiry), now_ms + lease)
    if state == 'provisional' then
      redis.call('ZREM', queue_key, claim)
      redis.call('HDEL', waiters_key, claim)
    end
    redis.call('SET', record_key, claim .. ' ' .. token .. ' ' .. expiry .. ' full', 'PXAT', expiry)
    if reserve > 0 then
      reply[hold + 1] = {expiry - now_ms, raise_register(known_token + reserve), redis.call('ZCARD', queue_key)}
    else
      reply[hold + 1] = {expiry - now_ms, 0, 0}
    end
  else
    reply[hold + 1] = 'lost'
  end
end
return reply
