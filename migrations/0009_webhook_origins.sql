-- The origins of webhook_url that nobody has named for long are forgotten; `created_at` is when one was last named.

CREATE INDEX webhook_endpoints_named ON webhook_endpoints (created_at) WHERE kind = 'request';
