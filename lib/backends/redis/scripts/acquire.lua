--[[
Requests an exclusive lock for each of some claims. Grants it when it is free and no live claim is ahead, else puts the claim into the
queue, or rejects it. Any number of names. Safe to send again: a claim that holds gets the same grant, a claim that waits keeps its place.

KEYS  1 register, then the records, the queues, the waiters of the claims' names (includes/layout.lua)
ARGV  1 latest server time in µs at which the sender still wants the reply
      2 prefix of the clients' channels
      3 how many tokens all claims together need if each is granted: 1 + what it reserves
      4 the claims, with a space between two
      5 their terms, with a comma between two (one for all when they are the same): '<lease> <reserve> <patience>'
          lease     in ms
          reserve   tokens to reserve behind the granted one, for local hand-offs
          patience  ms after which a waiter that did not ask again counts as dead; 0: do not join the queue
REPLY {now µs, then for each claim one of
        <token>                                                                       granted with these terms; no other claim waits
        'granted <token> <lease ms> <last reserved token> <1 when others wait, else 0>'
        'contended <rest of the holders' leases in ms><holder>'
        'queued <ms> <listening | polling><holder>'
            ms: until a lease may end that keeps it out; polling: no client listens on its channel
            holder: ' <claim> <token> <ms since the grant>', of several the earliest; empty for a record of another layout, and when the
            lock is free and another claim is next
        'mismatch permits'                                                            the name is used with permits
        'failed <error>'                                                              nothing was granted to this claim
      } or {now µs, 'late'}
INVARIANT  At most one holder, and none beside readers. No live claim is overtaken by a later one. 'late' changed nothing.
]]
local channel_prefix = ARGV[2]
-- include: clock.lua
-- include: version.lua
if now > tonumber(ARGV[1]) then
  return {now, 'late'}
end
-- include: register.lua

local names, position = (#KEYS - 1) / 3, 0
local next_terms = string.gmatch(ARGV[5], '(%d+) (%d+) (%d+)')
local lease, reserve, patience, expiry
local next_token, spare
local reply, rest = {now}, nil
-- Names without holders and waiters are granted before the functions below are defined: most calls end here. The register is written once
-- for all of them. What fails, or is not free, is left to the part below.
local free = redis.call('EXISTS', unpack(KEYS, 2, 1 + 2 * names)) == 0
for claim in string.gmatch(ARGV[4], '%S+') do
  position = position + 1
  local new_lease, new_reserve, new_patience = next_terms()
  if new_lease then
    lease, reserve, patience = new_lease, new_reserve, new_patience
    expiry = digits(now_ms + lease)
  end
  local granted
  if free or names > 1 and redis.call('EXISTS', KEYS[1 + position], KEYS[1 + names + position]) == 0 then
    if not next_token then
      local count
      next_token, count = issue(names, tonumber(ARGV[3]))
      spare = next_token and count - names
    end
    if next_token then
      local record = claim .. ' ' .. digits(next_token) .. ' ' .. expiry .. ' full' .. version
      -- NX: the same name may be in this command twice.
      local written = redis.pcall('SET', KEYS[1 + position], record, 'NX', 'PXAT', expiry)
      granted = written and not written.err
    end
  end
  if granted then
    local reserved = math.min(reserve, spare)
    reply[1 + position] = next_token
    if reserved < tonumber(reserve) then
      reply[1 + position] = 'granted ' .. digits(next_token) .. ' ' .. lease .. ' ' .. digits(next_token + reserved) .. ' 0'
    end
    spare = spare - reserved
    next_token = next_token + 1 + reserved
  else
    rest = rest or {}
    rest[#rest + 1] = {position, claim, tonumber(lease), tonumber(reserve), tonumber(patience), ''}
  end
end
if not rest then
  return reply
end

-- include: ask.lua

for _, asked in ipairs(rest) do
  choose(asked[1])
  reply[1 + asked[1]] = isolated(ask, unpack(asked, 2))
end
return reply
