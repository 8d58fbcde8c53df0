-- Workers that died while they ran this generation; the fifth one fails it. They are no tries: most take others along.
ALTER TABLE generations ADD COLUMN deaths integer NOT NULL DEFAULT 0;
