-- no-transaction
-- What an account has made in a time, and what it cost, from the index alone. It has all rows; its condition keeps it from
-- statements that do not repeat it: a planner that knows nothing of an account would take it for any list of the account's.
CREATE INDEX CONCURRENTLY IF NOT EXISTS generations_usage ON generations (user_id, created_at)
  INCLUDE (api_key_id, model_version_id, status, batch_size, cost) WHERE cost >= 0;
--> statement-breakpoint
-- Credits that moved without a generation: few beside the charges.
CREATE INDEX CONCURRENTLY IF NOT EXISTS credit_ledger_moved ON credit_ledger (created_at) WHERE generation_id IS NULL;
