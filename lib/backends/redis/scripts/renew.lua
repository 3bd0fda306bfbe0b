--[[
Extends leases, any number at once. The first renewal of a pushed grant makes it a full one.

KEYS  1 register, then the records, the queues, the waiters of the holds' names (includes/layout.lua)
ARGV  1 for each hold '<claim> <token> <lease ms> <reserve> <least>', with a space between two: its token or a later one of its block,
        tokens to reserve behind that where the clock allows, and up to which one in any case (0: none)
REPLY {now µs, then for each hold 'lost', 'failed <error>', or '<rest of its lease in ms> <last reserved token> <1 when others wait, else 0>'}
INVARIANT  Never shortens a lease, never touches a record of another claim or of another grant of the same claim. An error
           with one hold does not affect the others; a foreign value on its key is a loss.
]]
-- include: clock.lua
-- include: version.lua
-- include: sharer.lua

local function renew_sharer(claim, known_token, lease, reserve, least)
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
    leave_queue(claim)
  end
  prolong(claim, ends, token, 'full', permits)
  if reserve == 0 and least == 0 then
    return (ends - now_ms) .. ' 0 0'
  end
  return (ends - now_ms) .. ' ' .. digits(reserve_behind(token, reserve, least)) .. ' ' .. others_wait()
end

local own_record = '^(%S+) (%d+) (%d+) (%l+)' .. version .. '$'

local function renew(claim, known_token, lease, reserve, least)
  local record = redis.pcall('GET', record_key)
  if type(record) == 'table' then
    return renew_sharer(claim, known_token, lease, reserve, least)
  end
  local text = type(record) == 'string' and record or ''
  local holder, token, expiry, state = string.match(text, own_record)
  token = tonumber(token)
  -- A later token of the block is below the register, or below the clock when the register has expired.
  if holder ~= claim or state == 'kept' or token > known_token or (token < known_token and known_token > math.max(now, tonumber(redis.call('GET', KEYS[1]) or 0))) then
    return 'lost'
  end
  -- As in `read`: an earlier renewal may have found no memory.
  expiry = math.max(expiry, now_ms + lease, now_ms + redis.call('PTTL', record_key))
  if state == 'provisional' then
    leave_queue(claim)
  end
  local until_ms = string.format('%d', expiry)
  local written = redis.pcall('SET', record_key, claim .. ' ' .. digits(token) .. ' ' .. until_ms .. ' full' .. version, 'PXAT', until_ms)
  if written.err then
    -- Redis is out of memory. The holder must not lose the lock: the key's own expiry counts, and needs no memory. (PEXPIRE counts from the
    -- start of the script, not later than `now`; PEXPIREAT would need one more permission, for this alone.)
    redis.call('PEXPIRE', record_key, expiry - now_ms + 1)
    return (expiry - now_ms) .. ' 0 0'
  end
  if reserve == 0 and least == 0 then
    return (expiry - now_ms) .. ' 0 0'
  end
  return (expiry - now_ms) .. ' ' .. digits(reserve_behind(known_token, reserve, least)) .. ' ' .. others_wait()
end

local reply = {now}
for claim, token, lease, reserve, least in string.gmatch(ARGV[1], '(%S+) (%d+) (%d+) (%d+) (%d+)') do
  choose(#reply)
  reply[#reply + 1] = isolated(renew, claim, tonumber(token), tonumber(lease), tonumber(reserve), tonumber(least))
end
return reply
