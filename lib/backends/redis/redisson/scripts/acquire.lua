--[[
Requests the lock for each of some claims. Grants it when it is free, else rejects the claim, or tells it to wait for a message. No claim is
in a queue: the first that asks after a release has the lock. Safe to send again: a claim that holds gets the same grant.

KEYS  as in includes/lock.lua
ARGV  1 latest server time in µs at which the sender still wants the reply
      2 terms of the locks (includes/lock.lua)
      3 not used
      4 the claims, with a space between two
      5 their terms, with a comma between two (one for all when they are the same): '<lease> <reserve> <patience>'
          as for scripts/acquire.lua of the native format; patience 0: do not wait
REPLY {now µs, then for each claim one of
        'granted <token> <lease ms> <last reserved token> <releases that it leaves to others>'
        'contended <rest of the holder's lease in ms, or - when it never ends><holder>'
        'queued <ms, or -> <listening | yielding | polling><holder>'
            polling: the server knows of no subscription of this client; yielding: a client of this library holds the lock, and one of
            Redisson waits for it
            holder: ' <claim> <token> <ms since the grant>'; for a holder of Redisson ' <field> - -'; '-' for a time that is not known
        'mismatch shared'                               the name is a read or write lock of Redisson
        'mismatch fair'                                 threads wait for it as a fair lock of Redisson
        'failed <error>'                                nothing was granted to this claim
      } or {now µs, 'late'}
INVARIANT  At most one holder, whatever wrote it. The lock always has a lifetime. 'late' changed nothing.
]]
local terms = ARGV[2]
-- include: clock.lua
if now > tonumber(ARGV[1]) then
  return {now, 'late'}
end
-- include: tokens.lua

local function grant(claim, lease, reserve)
  -- Before the first write: the user may lack the permission to ask.
  local others = owed()
  local token, last = issue_here(reserve)
  local field = field_of(claim, token)
  redis.call('HSET', lock_key, field, 1)
  local expires = redis.pcall('PEXPIRE', lock_key, lease)
  if expires ~= 1 then
    -- The user has lost the permission. A lock without a lifetime would never be free.
    redis.call('HDEL', lock_key, field)
    error(expires)
  end
  return 'granted ' .. digits(token) .. ' ' .. lease .. ' ' .. digits(last) .. ' ' .. others
end

local function described(field)
  local claim, token = read(field)
  if not claim then
    return ' ' .. field .. ' - -'
  end
  local age = age_of(token)
  return ' ' .. claim .. ' ' .. digits(token) .. ' ' .. (age == '-' and age or digits(math.floor(age / 1000)))
end

-- Those waiters have an order, and listen to channels of their own.
local function waits_for_fair_lock()
  return redis.call('ZCOUNT', fair_key, now / 1000, '+inf') > 0
end

local function ask(claim, lease, reserve, patience)
  local present = fields()
  if not present[1] then
    return waits_for_fair_lock() and 'mismatch fair' or grant(claim, lease, reserve)
  end
  local rest = redis.call('PTTL', lock_key)
  for _, field in ipairs(present) do
    local holder, token, kept = read(field)
    if field == 'mode' then
      return 'mismatch shared'
    elseif holder == claim and not kept then
      -- Written even where nothing changes: replicas confirm writes.
      redis.call('PEXPIRE', lock_key, rest < 0 and lease or rest)
      return 'granted ' .. digits(token) .. ' ' .. (rest < 0 and lease or rest) .. ' ' .. digits(reserve_here(token, reserve, 0)) .. ' ' .. owed()
    end
  end
  if waits_for_fair_lock() then
    return 'mismatch fair'
  end
  local ends = rest < 0 and '-' or digits(rest)
  if patience == 0 then
    return 'contended ' .. ends .. described(present[1])
  end
  local _, heard, theirs = listeners()
  local standing = heard and (theirs and read(present[1]) and 'yielding' or 'listening') or 'polling'
  return 'queued ' .. ends .. ' ' .. standing .. described(present[1])
end

local next_terms = string.gmatch(ARGV[5], '(%d+) (%d+) (%d+)')
local lease, reserve, patience
local reply = {now}
for claim in string.gmatch(ARGV[4], '%S+') do
  local new_lease, new_reserve, new_patience = next_terms()
  if new_lease then
    lease, reserve, patience = tonumber(new_lease), tonumber(new_reserve), tonumber(new_patience)
  end
  choose(#reply)
  reply[#reply + 1] = isolated(ask, claim, lease, reserve, patience)
end
return reply
