-- no-transaction
-- What an account is told of its credits and its subscription: as webhooks, and by mail. Each row is written in the
-- transaction that causes it, also in one of the release before.
CREATE TABLE IF NOT EXISTS notices (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  user_id     uuid NOT NULL REFERENCES users,
  kind        text NOT NULL,
  -- The `data` of its webhook.
  data        jsonb NOT NULL,
  -- When its mail is tried next; null: it is sent, or there is none.
  mail_at     timestamptz DEFAULT now(),
  tries       integer NOT NULL DEFAULT 0,
  created_at  timestamptz NOT NULL DEFAULT now()
);
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS notices_mail ON notices (mail_at) WHERE mail_at IS NOT NULL;
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS notices_old ON notices (created_at);
--> statement-breakpoint
ALTER TABLE users
  -- When the credits fall below it, a notice is due; null: none is until credits come in.
  ADD COLUMN IF NOT EXISTS notice_below bigint,
  -- The mails that the owner has turned off.
  ADD COLUMN IF NOT EXISTS mails_off text[] NOT NULL DEFAULT '{}';
--> statement-breakpoint
-- When it is over, until that is noticed.
ALTER TABLE subscriptions ADD COLUMN IF NOT EXISTS notice_at timestamptz;
--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS subscriptions_notice ON subscriptions (notice_at) WHERE notice_at IS NOT NULL;
--> statement-breakpoint
-- Of an event that is about no generation.
ALTER TABLE webhook_deliveries ADD COLUMN IF NOT EXISTS data jsonb;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION deliver_notice() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  event text := 'evt_' || replace(gen_random_uuid()::text, '-', '');
  delivery bigint;
BEGIN
  FOR delivery IN
    INSERT INTO webhook_deliveries (endpoint_id, event_id, type, url, data)
    SELECT id, event, NEW.kind, url, NEW.data FROM webhook_endpoints
     WHERE user_id = NEW.user_id AND kind = 'account' AND deleted_at IS NULL AND disabled_at IS NULL
       AND NEW.kind = ANY (events)
    RETURNING seq
  LOOP
    PERFORM pg_notify('webhook_due', delivery::text);
  END LOOP;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE OR REPLACE TRIGGER notices_added AFTER INSERT ON notices FOR EACH ROW EXECUTE FUNCTION deliver_notice();
--> statement-breakpoint
-- After each grant and purchase: below a fifth of what the account then has, or below 2 credits.
CREATE OR REPLACE FUNCTION expect_low_credits() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE users SET notice_below = CASE WHEN NEW.balance > 0 THEN greatest(ceil(NEW.balance / 5.0), 2) END
   WHERE id = NEW.user_id;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE OR REPLACE TRIGGER credit_ledger_added AFTER INSERT ON credit_ledger FOR EACH ROW
  WHEN (NEW.kind IN ('grant', 'purchase')) EXECUTE FUNCTION expect_low_credits();
--> statement-breakpoint
-- Once below that number, and once at 0. At the end of the transaction, since it may also grant what follows.
CREATE OR REPLACE FUNCTION note_low_credits() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  held bigint;
  below bigint;
BEGIN
  SELECT credits, notice_below INTO held, below FROM users WHERE id = NEW.id AND deleted_at IS NULL AND credits < notice_below;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  UPDATE users SET notice_below = CASE WHEN held > 0 THEN 1 END WHERE id = NEW.id;
  IF below > 1 THEN
    INSERT INTO notices (user_id, kind, data, mail_at)
    VALUES (NEW.id, 'credits.low', jsonb_build_object('credits', held, 'below', below), CASE WHEN held > 0 THEN now() END);
  END IF;
  IF held <= 0 THEN
    INSERT INTO notices (user_id, kind, data) VALUES (NEW.id, 'credits.out', jsonb_build_object('credits', held));
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
DROP TRIGGER IF EXISTS users_low_credits ON users;
--> statement-breakpoint
CREATE CONSTRAINT TRIGGER users_low_credits AFTER UPDATE OF credits ON users DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (NEW.credits < NEW.notice_below AND NEW.credits < OLD.credits) EXECUTE FUNCTION note_low_credits();
--> statement-breakpoint
CREATE OR REPLACE FUNCTION subscription_data(status text, plan text, end_date timestamptz) RETURNS jsonb LANGUAGE sql STABLE AS $$
  SELECT jsonb_build_object('subscription', jsonb_build_object(
    'status', CASE WHEN end_date <= now() THEN 'expired' ELSE status END, 'plan', plan,
    'endDate', to_char(end_date AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')))
$$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION note_subscription() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  before jsonb := '{"subscription": null}';
  after jsonb := '{"subscription": null}';
BEGIN
  IF TG_OP <> 'INSERT' THEN
    before := subscription_data(OLD.status, OLD.plan, OLD.end_date);
  END IF;
  IF TG_OP <> 'DELETE' THEN
    after := subscription_data(NEW.status, NEW.plan, NEW.end_date);
  END IF;
  INSERT INTO notices (user_id, kind, data)
  SELECT id, 'subscription.changed', after FROM users
   WHERE id = coalesce(NEW.user_id, OLD.user_id) AND deleted_at IS NULL AND before <> after;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE OR REPLACE TRIGGER subscriptions_changed AFTER INSERT OR DELETE OR UPDATE OF status, plan, end_date ON subscriptions
  FOR EACH ROW EXECUTE FUNCTION note_subscription();
--> statement-breakpoint
CREATE OR REPLACE FUNCTION expect_end_of_subscription() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.notice_at := CASE WHEN NEW.end_date > now() THEN NEW.end_date END;
  RETURN NEW;
END $$;
--> statement-breakpoint
CREATE OR REPLACE TRIGGER subscriptions_end BEFORE INSERT OR UPDATE OF end_date ON subscriptions
  FOR EACH ROW EXECUTE FUNCTION expect_end_of_subscription();
--> statement-breakpoint
-- Those from before the trigger.
UPDATE subscriptions SET notice_at = end_date WHERE end_date > now() AND notice_at IS NULL;
--> statement-breakpoint
-- As claim_webhook_delivery of migration 0016; `with_data`: also deliveries that are about no generation, whose data is their own.
CREATE OR REPLACE FUNCTION claim_webhook(except_accounts uuid[], lease interval, failing integer, with_data boolean)
RETURNS TABLE (delivery webhook_deliveries, endpoint webhook_endpoints, slot integer) LANGUAGE plpgsql AS $$
DECLARE
  free_at timestamptz;
BEGIN
  FOR looks IN 1..100 LOOP
    SELECT * INTO endpoint FROM webhook_endpoints
     WHERE due_at <= now() AND disabled_at IS NULL AND deleted_at IS NULL AND user_id <> ALL (except_accounts)
     ORDER BY due_at LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
      RETURN;
    END IF;
    free_at := greatest(endpoint.not_before,
      CASE WHEN endpoint.failures < failing THEN least(endpoint.slot_1_until, endpoint.slot_2_until)
           ELSE greatest(endpoint.slot_1_until, endpoint.slot_2_until) END);
    slot := CASE WHEN endpoint.slot_1_until <= now() THEN 1 ELSE 2 END;
    delivery := NULL;
    IF free_at <= now() THEN
      UPDATE webhook_deliveries d SET attempts = d.attempts + 1, next_at = now() + lease
       WHERE seq = (SELECT seq FROM webhook_deliveries
                     WHERE endpoint_id = endpoint.id AND status = 'pending' AND next_at <= now()
                       AND (with_data OR data IS NULL)
                     ORDER BY next_at LIMIT 1 FOR UPDATE SKIP LOCKED)
      RETURNING d.* INTO delivery;
    END IF;
    -- Behind all others that are due. A statement of its own: it must see all that was stored before the lock.
    UPDATE webhook_endpoints
       SET slot_1_until = CASE WHEN delivery.seq IS NOT NULL AND slot = 1 THEN now() + lease ELSE slot_1_until END,
           slot_2_until = CASE WHEN delivery.seq IS NOT NULL AND slot = 2 THEN now() + lease ELSE slot_2_until END,
           due_at = greatest(
             CASE WHEN delivery.seq IS NULL THEN now() + interval '1 second' ELSE clock_timestamp() END, free_at,
             (SELECT coalesce(min(next_at), 'infinity') FROM webhook_deliveries
               WHERE endpoint_id = endpoint.id AND status = 'pending'))
     WHERE id = endpoint.id;
    EXIT WHEN delivery.seq IS NOT NULL;
  END LOOP;
  RETURN NEXT;
END $$;
--> statement-breakpoint
-- For the release before, which would send what it does not know as a test.
CREATE OR REPLACE FUNCTION claim_webhook_delivery(except_accounts uuid[], lease interval, failing integer)
RETURNS TABLE (delivery webhook_deliveries, endpoint webhook_endpoints, slot integer) LANGUAGE sql AS $$
  SELECT * FROM claim_webhook(except_accounts, lease, failing, false)
$$;
