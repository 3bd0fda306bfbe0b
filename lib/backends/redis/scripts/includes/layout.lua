-- include: clock.lua

-- record    string '<claim> <token> <expiry ms> <full|provisional|kept> v<layout>', expires with the lease: it exists = the lock is held
--           kept: released by its holder, but not free before its expiry (minHold)
--           or, for readers and permits in use, a sorted set of claims, score: expiry ms; after it a claim does not hold any more
-- queue     sorted set of waiting claims
--           score > 0: in order of arrival, µs since 1970, or one more than the last
--           score < 0: unreachable, -<alive until ms>. It was its turn, but it was not reached, or has not confirmed the grant yet. It
--           gets its place back when it asks
-- waiters   hash: claim -> '<alive until ms> <asked at ms> <asks at ms> <lease ms> <reserve> <listening|polling> <place>', as of its last
--           request: asks at: when it asks again, at the latest; listening: its client listened for messages; polling: it
--           did not; place: its score by arrival
--           behind that, unless it is exclusive: ' <shared|permits> <permits> <limit>'
--           '~' and a client -> '<called at ms> <until ms>': a grant was pushed to it, lapses at the second time, and is not confirmed
--           '=' and a claim of the sorted set -> '<token> <full|provisional|kept> <permits>'
--           '' -> '<shared|permits> <limit> <readers, or permits in use>', as long as the record is a sorted set
-- register  string: the largest token issued or reserved on this server; its expiry proves that the clock is past it
-- KEYS are the register, then all records, all queues, all waiters: each in the order of the claims.
local names = (#KEYS - 1) / 3
local record_key, queue_key, waiters_key

-- Selects the name of the script's n-th claim: the functions below work on it.
local function choose(position)
  record_key, queue_key, waiters_key = KEYS[1 + position], KEYS[1 + names + position], KEYS[1 + 2 * names + position]
end

-- An error with one name (a foreign type on its key) does not affect the others.
local function isolated(work, ...)
  local ok, result = pcall(work, ...)
  if ok then
    return result
  end
  return 'failed ' .. tostring(type(result) == 'table' and result.err or result)
end

local function client_of(claim)
  return string.match(claim, '^[^:]+')
end

-- The claim's client was heard of, and the claim does not wait any more. Returns true when it was in the queue.
local function leave_queue(claim)
  redis.call('HDEL', waiters_key, claim, '~' .. client_of(claim))
  return redis.call('ZREM', queue_key, claim) == 1
end

-- Removes a waiter whose time is up. The mark that its client let a grant lapse stays for as long as a claim may wait that asked before.
local function bury(claim)
  local mark = '~' .. client_of(claim)
  local entry = redis.call('HMGET', waiters_key, claim, mark)
  local alive_until, asked_at = string.match(entry[1] or '', '^(%d+) (%d+)')
  local called_at = tonumber(string.match(entry[2] or '', '^%d+') or nil)
  if called_at and (not asked_at or called_at + alive_until - asked_at < now_ms) then
    redis.call('HDEL', waiters_key, mark)
  end
  redis.call('HDEL', waiters_key, claim)
  redis.call('ZREM', queue_key, claim)
end

-- The waiters that can be reached, as far as known: the first ones in order of arrival.
local function first_waiters(count)
  return redis.call('ZRANGEBYSCORE', queue_key, 0, '+inf', 'LIMIT', 0, count)
end

-- 1 when others wait, else 0.
local function others_wait()
  return #first_waiters(1)
end
