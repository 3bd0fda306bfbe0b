-- #region column
ALTER TABLE product ADD COLUMN fence bigint NOT NULL DEFAULT 0;
-- #endregion

-- #region steps
-- 1. Before reading: shut out every earlier holder.
UPDATE product SET fence = :token WHERE id = :id AND fence <= :token;   -- 0 rows: too late, stop

-- 2. Read, and work.
SELECT stock FROM product WHERE id = :id;

-- 3. Write.
UPDATE product SET stock = :stock, fence = :token WHERE id = :id AND fence <= :token;   -- 0 rows: too late, stop
-- #endregion
