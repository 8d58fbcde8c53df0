-- no-transaction
-- The first that wait of each model, of whatever kinds. Its condition means "queued" in words that only the claim uses, so
-- that no planner takes this index for another one's question, or another index for this one's.
CREATE INDEX CONCURRENTLY IF NOT EXISTS generations_queue_of_model ON generations (lane, filename, seq)
  WHERE worker IS NULL AND error IS NULL;
