-- record    string '<claim> <token> <expiry ms> <full|provisional>', expires with the lease: it exists = the lock is held
-- queue     sorted set of claims in order of arrival; the claim of a provisional grant stays in it until it is confirmed
-- waiters   hash: claim -> '<alive until ms> <lease ms> <reserve> <heard|asked|deaf>', what was known of it when last looked at:
--           heard: its client listened; asked: it asked though its client did not listen; deaf: not reached since it asked
-- register  string: the largest token issued or reserved on this server; its expiry proves that the clock is past it
local record_key, queue_key, waiters_key, register_key = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
