-- When there may be something to send to an endpoint: a look goes by this alone, however many others have something
-- waiting. Never later than that; the claim, which finds out, is all that moves it on.

ALTER TABLE webhook_endpoints ADD COLUMN due_at timestamptz NOT NULL DEFAULT '-infinity';
--> statement-breakpoint
ALTER TABLE webhook_endpoints ALTER COLUMN due_at SET DEFAULT 'infinity';
--> statement-breakpoint
CREATE FUNCTION make_webhook_endpoint_due() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- A claim that does not see this delivery yet does not move the endpoint on either.
  PERFORM FROM webhook_endpoints WHERE id = NEW.endpoint_id FOR NO KEY UPDATE;
  UPDATE webhook_endpoints SET due_at = NEW.next_at WHERE id = NEW.endpoint_id AND due_at > NEW.next_at;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER webhook_deliveries_added AFTER INSERT ON webhook_deliveries FOR EACH ROW
  EXECUTE FUNCTION make_webhook_endpoint_due();
--> statement-breakpoint
CREATE TRIGGER webhook_deliveries_hurried AFTER UPDATE ON webhook_deliveries FOR EACH ROW
  WHEN (NEW.status = 'pending' AND NEW.next_at < OLD.next_at) EXECUTE FUNCTION make_webhook_endpoint_due();
--> statement-breakpoint
-- Takes a delivery that is due, of the endpoint that has been due for longest; it takes one of its endpoint's two places,
-- or the only one of an endpoint that failed `failing` times in a row. A row without a delivery: there was nothing to send
-- to the first ones, look at the next. No row: nothing is due.
CREATE FUNCTION claim_webhook_delivery(except_accounts uuid[], lease interval, failing integer)
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
