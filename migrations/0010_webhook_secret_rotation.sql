-- As an endpoint has them: the old secret signs beside the new one until then.

ALTER TABLE webhook_secrets ADD COLUMN old_secret text, ADD COLUMN old_secret_until timestamptz;
