# PostgreSQL of Debian, for where the official image cannot be had. It takes the same variables: POSTGRES_USER,
# POSTGRES_DB, POSTGRES_PASSWORD or POSTGRES_PASSWORD_FILE, PGDATA.
#   docker build -f e2e/images/postgres.Dockerfile -t stackwright-postgres .
ARG DEBIAN_IMAGE=debian:bookworm-slim
FROM ${DEBIAN_IMAGE}
# A base image that has the server already needs no network here. A tmpfs for the socket takes the mode of the folder
# that it covers, and belongs to root.
RUN if ! ls /usr/lib/postgresql/*/bin/postgres; then \
    apt-get update && apt-get install --yes --no-install-recommends postgresql && rm -rf /var/lib/apt/lists/*; \
  fi \
  && ln -s /usr/lib/postgresql/*/bin /opt/postgresql \
  && install -d -o postgres -g postgres -m 0700 /var/lib/postgresql/data \
  && install -d -o postgres -g postgres -m 3777 /run/postgresql
ENV PATH=/opt/postgresql:$PATH PGDATA=/var/lib/postgresql/data LC_ALL=C.UTF-8
COPY e2e/images/postgres-entrypoint.sh /usr/local/bin/postgres-entrypoint
USER postgres
VOLUME /var/lib/postgresql/data
EXPOSE 5432
# Asks for a fast shutdown: open transactions are rolled back, and nothing waits for clients.
STOPSIGNAL SIGINT
HEALTHCHECK --interval=5s --timeout=3s --start-period=60s --retries=5 \
  CMD ["pg_isready", "--quiet", "--host=127.0.0.1"]
ENTRYPOINT ["sh", "/usr/local/bin/postgres-entrypoint"]
CMD ["postgres"]
