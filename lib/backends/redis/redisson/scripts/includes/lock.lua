-- include: clock.lua
-- include: register.lua

-- lock      hash, as Redisson's RLock has it: one field for the holder, its value how often it took the lock, its lifetime the lease
--           of ours: '<claim>@<token>', always 1; '<claim>@<token>@kept' when it was released, but is not free before its end (minHold)
--           of Redisson: '<uuid>:<thread>'. A field `mode` makes it a read or write lock, which has other rules
--           A hash with any other field belongs to another program, which may have such a name for it: it is no lock
-- register  string: the largest token issued or reserved on this server; its expiry proves that the clock is past it
-- counter   string: the last token of the lock, where tokens are shared with Redisson's RFencedLock
-- fair      sorted set: the waiters of Redisson's fair lock, each with the ms since 1970 from which on it counts as gone
-- KEYS are the register, then all locks, all `fair`, and, for shared tokens, all counters: each in the order of the claims.
-- `terms` is '<PUBLISH, or SPUBLISH in a cluster> <prefix of the locks' channels> <own | fenced> <for each claim 1 when its client listens
-- itself>'.
local publish, channel_prefix, tokens, listening = string.match(terms, '^(%u+) (%S+) (%l+) (%d*)$')
-- Before Redis 7, which sets the number, there are no sharded messages.
local sharded = publish == 'SPUBLISH' and redis.REDIS_VERSION_NUM ~= nil
local fenced = tokens == 'fenced'
local names = #listening
local position, lock_key, fair_key, counter_key

-- Selects the name of the script's n-th claim: the functions below work on it.
local function choose(n)
  position, lock_key, fair_key, counter_key = n, KEYS[1 + n], KEYS[1 + names + n], KEYS[1 + 2 * names + n]
end

-- An error with one name (a foreign type on its key) does not affect the others.
local function isolated(work, ...)
  local ok, result = pcall(work, ...)
  if ok then
    return result
  end
  return 'failed ' .. tostring(type(result) == 'table' and result.err or result)
end

local function channel_with(prefix)
  return prefix .. (string.find(lock_key, '{', 1, true) and lock_key or '{' .. lock_key .. '}')
end

local function subscribers(kind, channel)
  return redis.call('PUBSUB', kind, channel)[2]
end

-- In a cluster Redisson listens in one of two ways, and clients of this library in both. A plain message is sent to all nodes: only where
-- more clients hear those.
local function tell(channel, message)
  if sharded then
    redis.call('SPUBLISH', channel, message)
  end
  if not sharded or subscribers('NUMSUB', channel) > subscribers('SHARDNUMSUB', channel) then
    redis.call('PUBLISH', channel, message)
  end
end

-- Waiters ask when they hear this: Redisson's, too.
local function wake()
  tell(channel_with(channel_prefix), '0')
end

-- How many clients listen for the releases of the lock, and how many of those are of this library: they listen to a second channel, on which
-- nothing is published.
local function count(kind)
  local counts = redis.call('PUBSUB', kind, channel_with(channel_prefix), channel_with('nestjs-redis-lock:waiters:'))
  return counts[2], counts[4]
end

-- How many other clients listen, whether this one is heard of, and whether one of Redisson listens.
local function listeners()
  local own = string.sub(listening, position, position) == '1'
  local plain, plain_here = count('NUMSUB')
  local shard, shard_here = plain, plain_here
  if sharded then
    shard, shard_here = count('SHARDNUMSUB')
  end
  local heard = own and math.min(plain, shard) > 0
  return math.max(plain, shard) - (own and 1 or 0), heard, plain > plain_here or shard > shard_here
end

-- How many releases this client leaves to others after its turn: its own. Redisson has each second turn while it waits, so the clients of this
-- library share the rest: then also one for each of them.
local function owed()
  local others, _, theirs = listeners()
  return theirs and others or math.min(1, math.max(0, others))
end

-- The claim and the token of a field, and true when it is kept; nothing for a field of Redisson.
local function read(field)
  local claim, token, kept = string.match(field, '^([%w_.$-]+:[%w_.$:%%-]+)@(%d+)(@?k?e?p?t?)$')
  -- A longer number is no token: Lua would round it.
  if claim and #token <= 16 then
    return claim, tonumber(token), kept ~= ''
  end
end

-- µs since the grant, by a token of ours: the server's time. '-' for a token of Redisson's counter, which counts from 1, or from what an
-- operator has set.
local function age_of(token)
  return not fenced and token > 1e15 and math.max(0, now - token) or '-'
end

local function field_of(claim, token)
  return claim .. '@' .. digits(token)
end

-- A lock has one field, and a read lock of Redisson one for each reader. A larger hash is no lock: to read it could block Redis for seconds.
local most_fields = 1000

-- '<uuid>:<thread>', and ':write' behind it for a writer. A thread of a reactive client may have a negative number.
local four = '%x%x%x%x'
local redissons = '^' .. table.concat({four .. four, four, four, four, four .. four .. four}, '%-') .. ':%-?%d+(.*)$'

local function is_redissons(field)
  if field == 'mode' then
    local mode = redis.call('HGET', lock_key, field)
    return mode == 'read' or mode == 'write'
  end
  local rest = string.match(field, redissons)
  return rest == '' or rest == ':write'
end

-- The fields of the lock: none when it is free. An error when the hash is no lock.
local function fields()
  local count = redis.call('HLEN', lock_key)
  if count == 0 then
    return {}
  elseif count > most_fields then
    error({err = 'FOREIGN value: a hash of ' .. count .. ' fields'})
  end
  local present = redis.call('HKEYS', lock_key)
  for _, field in ipairs(present) do
    if not read(field) and not is_redissons(field) then
      error({err = 'FOREIGN value: a hash with other fields'})
    end
  end
  return present
end

-- A mode is no holder, unless it is all that is left: it keeps others out, and an operator can take it away.
local function is_holder(field, present)
  return field ~= 'mode' or #present == 1
end

-- The field of a claim, its token, and true when it is kept.
local function find(wanted)
  for _, field in ipairs(redis.call('HKEYS', lock_key)) do
    local claim, token, kept = read(field)
    if claim == wanted then
      return field, token, kept
    end
  end
end

-- Ends a holder. Another field is there when a read lock of Redisson was taken on the same name: it stays.
local function drop(field)
  redis.call('HDEL', lock_key, field)
  wake()
end

-- True for the token of the hold, or a later one of its block.
local function covers(token, known)
  if token >= known then
    return token == known
  end
  local last = tonumber(redis.call('GET', fenced and counter_key or KEYS[1]) or 0)
  return known <= (fenced and last or math.max(now, last))
end
