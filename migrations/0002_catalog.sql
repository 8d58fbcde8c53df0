-- The model versions that can be asked for.

CREATE TABLE model_versions (
  id                  bigint PRIMARY KEY CHECK (id > 0),
  name                text NOT NULL,
  model_name          text NOT NULL,
  base_model          text NOT NULL,
  type                text NOT NULL,
  -- The checkpoint's file name, as the inference servers know it.
  filename            text NOT NULL,
  cover_image         text,
  nsfw                boolean NOT NULL DEFAULT false,
  enabled             boolean NOT NULL DEFAULT true,
  credits_per_image   bigint NOT NULL DEFAULT 1 CHECK (credits_per_image BETWEEN 0 AND 1000000),
  -- The Create Image model ID that this version serves.
  create_image_model  text UNIQUE
);
