-- The language in which an account reads the website; null: as the browser says.
ALTER TABLE users ADD COLUMN language text CONSTRAINT users_language_check CHECK (length(language) BETWEEN 2 AND 35);
