-- Generations whose clients hung up before they got the answer, each with the request that it was for: the next such
-- request takes it over, instead of drawing again.
CREATE TABLE unanswered_requests (
  generation_id text PRIMARY KEY,
  api_key_id    uuid NOT NULL,
  -- SHA-256 over method, path and body.
  request_hash  bytea NOT NULL,
  created_at    timestamptz NOT NULL DEFAULT now()
);
--> statement-breakpoint
CREATE INDEX unanswered_requests_alike ON unanswered_requests (api_key_id, request_hash);
