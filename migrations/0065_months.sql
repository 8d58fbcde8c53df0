-- no-transaction
-- Null: the row is in its live table. Otherwise the first day of the month of its generation's submit, whose table it has moved to.
ALTER TABLE generations ADD COLUMN IF NOT EXISTS month date;
--> statement-breakpoint
ALTER TABLE images ADD COLUMN IF NOT EXISTS month date;
--> statement-breakpoint
ALTER TABLE credit_ledger ADD COLUMN IF NOT EXISTS month date;
--> statement-breakpoint
ALTER TABLE usage ADD COLUMN IF NOT EXISTS month date;
--> statement-breakpoint
ALTER TABLE put_back_attempts ADD COLUMN IF NOT EXISTS month date;
--> statement-breakpoint
-- new column: month. With these conditions, which are checked here while all goes on, the next file need not read the tables.
ALTER TABLE generations DROP CONSTRAINT IF EXISTS is_live, ADD CONSTRAINT is_live CHECK (month IS NULL) NOT VALID;
--> statement-breakpoint
-- new column: month.
ALTER TABLE images DROP CONSTRAINT IF EXISTS is_live, ADD CONSTRAINT is_live CHECK (month IS NULL) NOT VALID;
--> statement-breakpoint
-- new column: month.
ALTER TABLE credit_ledger DROP CONSTRAINT IF EXISTS is_live, ADD CONSTRAINT is_live CHECK (month IS NULL) NOT VALID;
--> statement-breakpoint
-- new column: month.
ALTER TABLE usage DROP CONSTRAINT IF EXISTS is_live, ADD CONSTRAINT is_live CHECK (month IS NULL) NOT VALID;
--> statement-breakpoint
-- new column: month.
ALTER TABLE put_back_attempts DROP CONSTRAINT IF EXISTS is_live, ADD CONSTRAINT is_live CHECK (month IS NULL) NOT VALID;
--> statement-breakpoint
ALTER TABLE generations VALIDATE CONSTRAINT is_live;
--> statement-breakpoint
ALTER TABLE images VALIDATE CONSTRAINT is_live;
--> statement-breakpoint
ALTER TABLE credit_ledger VALIDATE CONSTRAINT is_live;
--> statement-breakpoint
ALTER TABLE usage VALIDATE CONSTRAINT is_live;
--> statement-breakpoint
ALTER TABLE put_back_attempts VALIDATE CONSTRAINT is_live;
