-- What an API key may do: until when, how many credits in a calendar month (UTC), and with which model versions; null: no limit.
ALTER TABLE api_keys
  ADD COLUMN expires_at timestamptz,
  ADD COLUMN monthly_limit bigint,
  ADD COLUMN models bigint[];
