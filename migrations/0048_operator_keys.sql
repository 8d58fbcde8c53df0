-- API keys of a third kind, for /admin/v1: what an operator's key may do. The release before takes none of them for its own:
-- they begin with another prefix.
ALTER TABLE api_keys ADD COLUMN scope text CHECK (scope IN ('read', 'accounts', 'models', 'all'));
--> statement-breakpoint
-- wider: one more kind
ALTER TABLE api_keys
  DROP CONSTRAINT api_keys_kind_check,
  ADD CONSTRAINT api_keys_kind_check CHECK (kind IN ('personal', 'developer', 'website', 'operator'));
