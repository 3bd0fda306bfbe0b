curl -X PUT localhost:3000/events/gig -H 'content-type: application/json' -d '{"capacity": 3}'
curl -X POST localhost:3000/events/gig/tickets -H 'content-type: application/json' -d '{"buyer": "Ann"}'
curl localhost:3000/events/gig     # capacity, left, sold, orders
