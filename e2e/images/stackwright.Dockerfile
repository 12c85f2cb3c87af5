# The command with the server, and the runtime for functions. From the root of the repository:
#   docker build -f e2e/images/stackwright.Dockerfile --target server -t stackwright-server .
#   docker build -f e2e/images/stackwright.Dockerfile --target worker -t stackwright-worker .
#   docker build -f e2e/images/stackwright.Dockerfile --target functions -t stackwright-functions .
# The base images may be others: whatever has Node 24 runs the result; what has pnpm, too, can build it.
ARG NODE_IMAGE=node:24-bookworm-slim
ARG BUILD_IMAGE=${NODE_IMAGE}

FROM ${BUILD_IMAGE} AS workspace
WORKDIR /src
COPY package.json pnpm-lock.yaml pnpm-workspace.yaml .npmrc ./
RUN command -v pnpm || npm install --global "$(node -p 'require("./package.json").packageManager')"
COPY packages packages
COPY apps apps

# What is built takes the place of the sources, as it does in a package that is published. All in one step: what tools
# this takes is no layer of anything.
FROM workspace AS build
COPY *.md ./
COPY docs docs
COPY examples examples
COPY tsconfig.base.json tsconfig.node20.json e2e/images/publish-manifests.mjs ./
RUN pnpm install --frozen-lockfile --filter stackwright-workspace --filter "stackwright..." \
  && pnpm --filter "stackwright..." run build \
  && node publish-manifests.mjs packages apps \
  && find packages apps -mindepth 2 -maxdepth 2 \( -name src -o -name node_modules \) -exec rm -r {} + \
  && find packages apps \( -name "*.d.ts" -o -name "*.d.ts.map" -o -name "tsconfig*.json" \) -delete \
  && rm -r node_modules

FROM workspace AS dependencies
# Packages for tests are peers of the subpaths that hold contract tests; nothing that runs asks for them.
RUN pnpm install --frozen-lockfile --prod --no-optional --filter "stackwright..." \
  && rm -rf node_modules/.pnpm/vitest@* node_modules/.pnpm/@vitest+* node_modules/.pnpm/vite@* \
  && find packages apps -mindepth 2 -maxdepth 2 ! -name node_modules -exec rm -r {} +

FROM ${NODE_IMAGE} AS stackwright
ENV NODE_ENV=production
COPY --from=dependencies /src /opt/stackwright
COPY --from=build /src/packages /opt/stackwright/packages
COPY --from=build /src/apps /opt/stackwright/apps
# Who runs it, with a folder that is theirs: all else may be read-only. Code of functions that lies below
# /opt/stackwright/functions finds the libraries.
RUN groupadd --gid 10001 stackwright \
  && useradd --uid 10001 --gid 10001 --home-dir /var/lib/stackwright --no-create-home stackwright \
  && install -d -o stackwright -g stackwright -m 0750 /var/lib/stackwright \
  && install -d /opt/stackwright/functions \
  && ln -s ../apps/cli/node_modules /opt/stackwright/functions/node_modules \
  && ln -s /opt/stackwright/apps/cli/bin/stackwright /usr/local/bin/stackwright \
  && for name in function functions; do \
    main=/opt/stackwright/packages/fg-bridge/dist/$(echo "$name" | sed s/functions/runtime/)/main.js; \
    chmod +x "$main" && ln -s "$main" "/usr/local/bin/stackwright-$name"; \
  done
USER 10001:10001
WORKDIR /var/lib/stackwright
VOLUME /var/lib/stackwright
ENTRYPOINT ["stackwright"]

FROM stackwright AS functions
EXPOSE 9000
HEALTHCHECK --interval=5s --timeout=3s --start-period=30s --retries=5 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.STACKWRIGHT_FUNCTIONS_PORT ?? 9000}/`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Listens to this container alone: others need --accounts and --listen.
ENTRYPOINT ["stackwright-functions"]
CMD ["--file", "/opt/stackwright/functions/functions.json", "--listen", "127.0.0.1:9000"]

# Servers read connected repositories with git, and runs fetch modules with it. A base image may have it.
FROM stackwright AS engine
USER root
RUN command -v git \
  || (apt-get update && apt-get install --yes --no-install-recommends ca-certificates git && rm -rf /var/lib/apt/lists/*)
USER 10001:10001

# Executes the steps of runs for servers elsewhere: --server and --token-file say which. Providers are programs that it installs
# below /var/lib/stackwright, which must not be mounted without the right to execute.
FROM engine AS worker
HEALTHCHECK --interval=5s --timeout=3s --start-period=30s --retries=5 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.STACKWRIGHT_HEALTH_PORT ?? 7430}/readyz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["worker", "--health-port", "7430"]

FROM engine AS server
EXPOSE 7400 7420
HEALTHCHECK --interval=5s --timeout=3s --start-period=30s --retries=5 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.STACKWRIGHT_PORT ?? 7400}/readyz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["serve", "--store", "sqlite:/var/lib/stackwright/store", "--host", "0.0.0.0", "--without-tls"]
