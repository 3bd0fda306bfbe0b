export SALE_GUARD=lock LEASE_MS=3000
PAYMENT_MS=8000 PORT=3001 node dist/sample/sample/src/main.js & slow=$!
PORT=3002 node dist/sample/sample/src/main.js & quick=$!
until curl -so /dev/null localhost:3001 && curl -so /dev/null localhost:3002; do sleep 0.1; done
curl -s -X PUT localhost:3002/events/gig -H 'content-type: application/json' -d '{"capacity": 3}'

# The slow one takes the lock, and 8 seconds for the payment.
curl -s -w '\n%{http_code}\n' -X POST localhost:3001/events/gig/tickets & late=$!
until redis-cli -u "${REDIS_URL:-redis://127.0.0.1:6379}" exists 'lock:{event:gig}' | grep -q 1; do sleep 0.1; done
curl -so /dev/null localhost:3001/events/gig     # its next answer: by now it knows of the lock

kill -STOP $slow     # it stands still, and its lease is not renewed
curl -s -w '\n%{http_code}\n' -X POST localhost:3002/events/gig/tickets     # 201: has the lock after 3 seconds at most, and buys
kill -CONT $slow     # it wakes up, believes that it holds the lock, and writes …
wait $late           # 409: … and is refused
kill $slow $quick
