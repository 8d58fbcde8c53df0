-- The answers to POSTs of /admin/v1 with an Idempotency-Key, each stored in the transaction of what it did; kept for 24 hours.
CREATE TABLE admin_requests (
  api_key_id uuid NOT NULL REFERENCES api_keys,
  key text NOT NULL,
  request_hash bytea NOT NULL,
  status integer NOT NULL,
  answer jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (api_key_id, key)
);
--> statement-breakpoint
CREATE INDEX admin_requests_age ON admin_requests (created_at);
