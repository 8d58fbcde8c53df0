-- Who wants to be told when something has ended, and what there is to tell.

CREATE TABLE webhook_endpoints (
  id                text PRIMARY KEY,
  user_id           uuid NOT NULL REFERENCES users,
  -- account: made by its owner, told of all that happens; request: the origin of a webhook_url, told of that request.
  kind              text NOT NULL CHECK (kind IN ('account', 'request')),
  url               text NOT NULL,
  description       text NOT NULL DEFAULT '',
  events            text[] NOT NULL,
  -- In clear: signing needs it. Null for requests, which are signed with the account's.
  secret            text,
  -- Signs beside the new one until then.
  old_secret        text,
  old_secret_until  timestamptz,
  -- Tries in a row that failed, and since when.
  failures          integer NOT NULL DEFAULT 0,
  failing_since     timestamptz,
  -- Left alone until then, whatever is due.
  not_before        timestamptz NOT NULL DEFAULT '-infinity',
  -- Two deliveries may be under way at once; a process that dies gives its place back by this time.
  slot_1_until      timestamptz NOT NULL DEFAULT '-infinity',
  slot_2_until      timestamptz NOT NULL DEFAULT '-infinity',
  created_at        timestamptz NOT NULL DEFAULT now(),
  disabled_at       timestamptz,
  disabled_reason   text,
  deleted_at        timestamptz,

  CHECK ((kind = 'account') = (secret IS NOT NULL)),
  CHECK ((disabled_at IS NULL) = (disabled_reason IS NULL))
);
--> statement-breakpoint
CREATE INDEX webhook_endpoints_account ON webhook_endpoints (user_id, created_at)
  WHERE kind = 'account' AND deleted_at IS NULL;
--> statement-breakpoint
CREATE UNIQUE INDEX webhook_endpoints_request ON webhook_endpoints (user_id, url) WHERE kind = 'request';
--> statement-breakpoint
CREATE INDEX webhook_endpoints_ended ON webhook_endpoints (coalesce(deleted_at, disabled_at))
  WHERE deleted_at IS NOT NULL OR disabled_at IS NOT NULL;
--> statement-breakpoint
-- Signs what webhook_url is told; one per account, made when it is first needed.
CREATE TABLE webhook_secrets (
  user_id     uuid PRIMARY KEY REFERENCES users,
  secret      text NOT NULL,
  created_at  timestamptz NOT NULL DEFAULT now()
);
--> statement-breakpoint
-- One row per event and endpoint; what it says is read from its generation, which has ended.
CREATE TABLE webhook_deliveries (
  seq            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  endpoint_id    text NOT NULL REFERENCES webhook_endpoints,
  -- The same for all endpoints and all tries.
  event_id       text NOT NULL,
  type           text NOT NULL,
  -- Null: a test.
  generation_id  text REFERENCES generations,
  url            text NOT NULL,
  status         text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'delivered', 'failed')),
  -- Also the fence: a result counts only for the try it belongs to.
  attempts       integer NOT NULL DEFAULT 0,
  -- Of one that is under way: when it is taken for lost.
  next_at        timestamptz NOT NULL DEFAULT now(),
  last_status    integer,
  last_error     text,
  created_at     timestamptz NOT NULL DEFAULT now(),
  finished_at    timestamptz,

  CHECK ((status = 'pending') = (finished_at IS NULL)),
  UNIQUE (endpoint_id, event_id)
);
--> statement-breakpoint
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (endpoint_id, next_at) WHERE status = 'pending';
--> statement-breakpoint
CREATE INDEX webhook_deliveries_waiting ON webhook_deliveries (created_at) WHERE status = 'pending';
--> statement-breakpoint
CREATE INDEX webhook_deliveries_log ON webhook_deliveries (endpoint_id, seq DESC);
--> statement-breakpoint
CREATE INDEX webhook_deliveries_old ON webhook_deliveries (finished_at) WHERE status <> 'pending';
--> statement-breakpoint
-- Where the end of this one generation is told, besides the account's endpoints.
ALTER TABLE generations ADD COLUMN webhook_url text;
--> statement-breakpoint
-- In the transaction that ends the generation: no crash comes between the two.
CREATE FUNCTION tell_webhooks() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  event text;
  event_type text := CASE WHEN NEW.status = 'failed' THEN 'generation.failed'
                          WHEN NEW.lane = 'create_image' THEN 'image.completed'
                          ELSE 'generation.succeeded' END;
  told bigint;
BEGIN
  IF NEW.webhook_url IS NULL AND NOT EXISTS (
    SELECT FROM webhook_endpoints WHERE user_id = NEW.user_id AND kind = 'account' AND deleted_at IS NULL) THEN
    RETURN NULL;
  END IF;
  event := 'evt_' || replace(gen_random_uuid()::text, '-', '');
  FOR told IN
    INSERT INTO webhook_deliveries (endpoint_id, event_id, type, generation_id, url)
    SELECT id, event, event_type, NEW.id, url FROM webhook_endpoints
     WHERE user_id = NEW.user_id AND kind = 'account' AND deleted_at IS NULL AND disabled_at IS NULL
       AND event_type = ANY (events)
    UNION ALL
    SELECT id, event, event_type, NEW.id, NEW.webhook_url FROM webhook_endpoints
     WHERE NEW.webhook_url IS NOT NULL AND user_id = NEW.user_id AND kind = 'request' AND deleted_at IS NULL
       AND url = substring(NEW.webhook_url FROM '^https?://[^/]+')
    RETURNING seq
  LOOP
    PERFORM pg_notify('webhook_due', told::text);
  END LOOP;
  RETURN NULL;
END $$;
--> statement-breakpoint
-- The condition keeps claims and heartbeats from calling it.
CREATE TRIGGER generations_webhooks AFTER UPDATE ON generations FOR EACH ROW
  WHEN (OLD.status IN ('queued', 'processing') AND NEW.status IN ('succeeded', 'failed'))
  EXECUTE FUNCTION tell_webhooks();
