-- record    string '<claim> <token> <expiry ms> <full|provisional|kept> v<layout>', expires with the lease: it exists = the lock is held
--           kept: given up by its holder, but nobody else gets it before its expiry (minHold)
--           or, of readers and of permits in use, a sorted set of claims, score: expiry ms; who is past it holds no more
-- queue     sorted set of claims in order of arrival (score: µs since 1970, or one more than the last); the claim of a provisional
--           exclusive grant stays in it until it is confirmed
-- waiters   hash: claim -> '<alive until ms> <lease ms> <reserve> <heard|asked|deaf>', what was known of it when last looked at:
--           heard: its client listened; asked: it asked though its client did not listen; deaf: not reached since it asked
--           behind that, unless it wants the lock for itself: ' <shared|permits> <permits> <limit>'
--           '=' and a claim of the sorted set -> '<token> <full|provisional|kept> <permits> <place>', place: the score with which it
--           stands in the queue again when its grant lapses unconfirmed, or 0
--           '' -> '<shared|permits> <limit> <readers, or permits in use>', as long as the record is a sorted set
-- register  string: the largest token issued or reserved on this server; its expiry proves that the clock is past it
-- KEYS are the register, then all records, all queues, all waiters: each in the order of the claims.
local names = (#KEYS - 1) / 3
local record_key, queue_key, waiters_key

-- What the functions below work on: the name of the script's n-th claim.
local function choose(position)
  record_key, queue_key, waiters_key = KEYS[1 + position], KEYS[1 + names + position], KEYS[1 + 2 * names + position]
end

-- What is wrong with one name (a foreign type on its key) is no matter of the others.
local function isolated(work, ...)
  local ok, result = pcall(work, ...)
  if ok then
    return result
  end
  return 'failed ' .. tostring(type(result) == 'table' and result.err or result)
end
