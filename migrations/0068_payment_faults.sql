-- no-transaction
-- What went wrong with the payment provider and only an operator can mend: once for each fault, however often it is met.
CREATE TABLE IF NOT EXISTS payment_faults (
  key       text PRIMARY KEY,
  sentence  text NOT NULL,
  times     integer NOT NULL DEFAULT 1,
  first_at  timestamptz NOT NULL DEFAULT now(),
  last_at   timestamptz NOT NULL DEFAULT now()
);
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS payment_faults_last ON payment_faults (last_at);
--> statement-breakpoint
-- Accounts of which the payment provider is to be told: what it knows of them has changed here.
CREATE TABLE IF NOT EXISTS customer_changes (
  user_id   uuid PRIMARY KEY REFERENCES users,
  -- Rises with each change, so that telling it ends only what was told.
  changes   integer NOT NULL DEFAULT 0,
  attempts  integer NOT NULL DEFAULT 0,
  -- While a server tells it, the end of its time for that.
  due_at    timestamptz NOT NULL DEFAULT now()
);
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS customer_changes_due ON customer_changes (due_at);
--> statement-breakpoint
-- In the transaction that changes the account, also in one of the release before. Not in payment_customers: who applies a
-- payment locks those before the account.
CREATE OR REPLACE FUNCTION note_customer_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO customer_changes (user_id)
  SELECT NEW.id WHERE EXISTS (SELECT FROM payment_customers WHERE user_id = NEW.id)
  ON CONFLICT (user_id) DO UPDATE
    SET changes = customer_changes.changes + 1, attempts = 0, due_at = least(customer_changes.due_at, now() + interval '60 seconds');
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE OR REPLACE TRIGGER users_customer_change AFTER UPDATE OF email, language, username, deleted_at ON users FOR EACH ROW
  WHEN ((OLD.email, OLD.language, OLD.username, OLD.deleted_at) IS DISTINCT FROM (NEW.email, NEW.language, NEW.username, NEW.deleted_at))
  EXECUTE FUNCTION note_customer_change();
--> statement-breakpoint
-- What has changed before this release is told once.
INSERT INTO customer_changes (user_id) SELECT DISTINCT user_id FROM payment_customers WHERE user_id IS NOT NULL
ON CONFLICT DO NOTHING;
