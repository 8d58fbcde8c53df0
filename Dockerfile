# One image for the server, the worker and the command line.

FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
# No package needs its install script here: the database of npm start and of the tests alone would.
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY docs/openapi.json ./docs/
COPY src ./src
RUN npm run build

FROM node:24-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
# What is for those who develop takes a third of it: types and source maps.
RUN npm ci --omit=dev --ignore-scripts \
  && find node_modules -type f \( -name '*.map' -o -name '*.ts' -o -name '*.[cm]ts' \) -delete
RUN npm run -s sbom > sbom.json

FROM node:24-bookworm-slim
ENV NODE_ENV=production HOST=0.0.0.0 STORAGE_URL=file:/data/images
# Node's default size of the young generation costs a busy server 80 MiB more and saves it no CPU.
ENV NODE_OPTIONS=--max-semi-space-size=8
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY --from=dependencies /app/sbom.json ./
COPY --from=build /app/dist ./dist
COPY package.json ./
COPY migrations ./migrations
# A named volume mounted at one of these takes over the owner, so that no process needs root. OpenShift, and others that choose the
# user themselves, choose one of the group 0: what 1000 (node) may write, this group may.
RUN ln -s /app/dist/cli.js /usr/local/bin/easel \
  && chmod +x dist/cli.js \
  && mkdir -p /data/images /data/objects /data/certificates \
  && chown 1000:0 /data/* \
  && chmod g=u /data/*
# docker build --build-arg EASEL_COMMIT=$(git rev-parse HEAD): GET /version then says it.
ARG EASEL_COMMIT
ENV EASEL_COMMIT=$EASEL_COMMIT
# A number: with runAsNonRoot, Kubernetes takes no name.
USER 1000
VOLUME /data/images
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s --start-period=15s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 3000}/health`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "dist/server.js"]
