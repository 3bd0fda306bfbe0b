-- How a record of this layout ends. Records and the register stand on the same keys in every layout (docs/adr/0079): so no two versions of
-- this library hold one lock at once, and an older one that reads what a newer one wrote knows that it is a lock.
local version = ' v1'
