--[[
Lengthens leases, any number at once. The first renewal of a pushed grant makes it a full one.

KEYS  1 register, then the records, the queues, the waiters of the holds' names (includes/layout.lua)
ARGV  1 for each hold '<claim> <token> <lease ms> <reserve>', with a space between two: its token or a later one of its block, and
        tokens to reserve behind that
REPLY {now µs, then for each hold 'lost', 'failed <error>', or '<rest of its lease in ms> <last reserved token> <waiters>'}
INVARIANT  Never shortens a lease, never touches a record of another claim or of another grant of the same claim. What is wrong
           with one hold is no matter of the others; a foreign value on its key is a loss.
]]
-- include: layout.lua
-- include: clock.lua
-- include: version.lua
-- include: register.lua
-- include: sharer.lua

local function renew_sharer(claim, known_token, lease, reserve)
  local ends = redis.pcall('ZSCORE', record_key, claim)
  ends = type(ends) == 'string' and tonumber(ends)
  if not ends or ends < now_ms then
    return 'lost'
  end
  local token, state, permits = read_sharer(claim)
  if token ~= known_token or state == 'kept' then
    return 'lost'
  end
  ends = math.max(ends, now_ms + lease)
  if state == 'provisional' then
    redis.call('HDEL', waiters_key, claim)
  end
  prolong(claim, ends, token, 'full', permits)
  if reserve == 0 then
    return (ends - now_ms) .. ' 0 0'
  end
  return (ends - now_ms) .. ' ' .. digits(raise_register(token + reserve)) .. ' ' .. redis.call('ZCARD', queue_key)
end

local own_record = '^(%S+) (%d+) (%d+) (%l+)' .. version .. '$'

local function renew(claim, known_token, lease, reserve)
  local record = redis.pcall('GET', record_key)
  if type(record) == 'table' then
    return renew_sharer(claim, known_token, lease, reserve)
  end
  local text = type(record) == 'string' and record or ''
  local holder, token, expiry, state = string.match(text, own_record)
  token = tonumber(token)
  -- A later token of the block is below the register, or below the clock when that has expired: nobody can raise the register beyond.
  if holder ~= claim or state == 'kept' or token > known_token or (token < known_token and known_token > math.max(now, tonumber(redis.call('GET', KEYS[1]) or 0))) then
    return 'lost'
  end
  expiry = math.max(tonumber(expiry), now_ms + lease)
  if state == 'provisional' then
    redis.call('ZREM', queue_key, claim)
    redis.call('HDEL', waiters_key, claim)
  end
  local until_ms = string.format('%d', expiry)
  local written = redis.pcall('SET', record_key, claim .. ' ' .. digits(token) .. ' ' .. until_ms .. ' full' .. version, 'PXAT', until_ms)
  if written.err then
    -- Redis is out of memory. Who holds shall not lose by it: the key's own expiry is what counts, and takes no memory. (PEXPIRE counts
    -- from when the script began, not later than `now`; PEXPIREAT would be one more permission, for this alone.)
    redis.call('PEXPIRE', record_key, expiry - now_ms + 1)
    return (expiry - now_ms) .. ' 0 0'
  end
  if reserve == 0 then
    return (expiry - now_ms) .. ' 0 0'
  end
  return (expiry - now_ms) .. ' ' .. digits(raise_register(known_token + reserve)) .. ' ' .. redis.call('ZCARD', queue_key)
end

local reply = {now}
for claim, token, lease, reserve in string.gmatch(ARGV[1], '(%S+) (%d+) (%d+) (%d+)') do
  choose(#reply)
  reply[#reply + 1] = isolated(renew, claim, tonumber(token), tonumber(lease), tonumber(reserve))
end
return reply
