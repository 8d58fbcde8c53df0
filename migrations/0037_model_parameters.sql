-- Defaults, limits and prices of a model version's own; null: as the API says.
ALTER TABLE model_versions ADD COLUMN pricing jsonb, ADD COLUMN parameters jsonb;
