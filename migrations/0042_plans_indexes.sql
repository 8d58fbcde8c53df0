-- no-transaction
-- Which subscriptions the reconciler looks at next, and who has a plan. Then the conditions of the migration before, for all rows.
CREATE INDEX CONCURRENTLY IF NOT EXISTS subscriptions_check ON subscriptions (check_at) WHERE check_at IS NOT NULL;
--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS subscriptions_plan ON subscriptions (plan);
--> statement-breakpoint
ALTER TABLE users VALIDATE CONSTRAINT users_credits_check;
--> statement-breakpoint
ALTER TABLE credit_ledger VALIDATE CONSTRAINT credit_ledger_kind_check;
--> statement-breakpoint
ALTER TABLE credit_ledger VALIDATE CONSTRAINT credit_ledger_check;
