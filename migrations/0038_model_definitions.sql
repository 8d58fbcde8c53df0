-- How GPU servers draw the model versions for which the name of a checkpoint does not say enough. A revision never changes.
CREATE TABLE model_definitions (
  filename text PRIMARY KEY,
  name text NOT NULL,
  revision integer NOT NULL,
  hash text NOT NULL,
  document text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT model_definitions_name_revision_key UNIQUE (name, revision),
  CONSTRAINT model_definitions_revision_check CHECK (revision > 0),
  CONSTRAINT model_definitions_filename_check CHECK (filename = name || '@' || revision::text)
);
