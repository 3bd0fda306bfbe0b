--[[
Lengthens leases, any number at once. The first renewal of a pushed grant makes it a full one.

KEYS  three for each hold: record, queue, waiters
ARGV  three for each hold: claim, token, lease in ms
REPLY {now µs, then for each hold the rest of its lease in ms, or 'lost'}
INVARIANT  Never shortens a lease, never touches a record of another claim or of another grant of the same claim.
]]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local now_ms = math.floor(now / 1000)
local reply = {now}
for hold = 1, #KEYS / 3 do
  local record_key, queue_key, waiters_key = KEYS[hold * 3 - 2], KEYS[hold * 3 - 1], KEYS[hold * 3]
  local claim, known_token, lease = ARGV[hold * 3 - 2], ARGV[hold * 3 - 1], tonumber(ARGV[hold * 3])
  local record = redis.call('GET', record_key)
  local holder, token, expiry, state = string.match(record or '', '^(%S+) (%d+) (%d+) (%l+)$')
  if holder == claim and token == known_token then
    expiry = math.max(tonumber(expiry), now_ms + lease)
    if state == 'provisional' then
      redis.call('ZREM', queue_key, claim)
      redis.call('HDEL', waiters_key, claim)
    end
    redis.call('SET', record_key, claim .. ' ' .. token .. ' ' .. expiry .. ' full', 'PXAT', expiry)
    reply[hold + 1] = expiry - now_ms
  else
    reply[hold + 1] = 'lost'
  end
end
return reply
