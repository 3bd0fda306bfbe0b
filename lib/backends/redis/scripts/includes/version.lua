-- The end of a record of this layout. Records and the register have the same keys in each layout (docs/inside/adr/0079): so no two versions of
-- this library hold one lock at once, and an older one recognizes the record of a newer one as a lock.
local version = ' v1'
