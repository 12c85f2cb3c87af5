import { randomUUID } from "node:crypto";
import postgres from "postgres";

/** A server that live tests may use. */
interface PostgresServer {
  /** With its version, as the title of a suite. */
  readonly name: string;
  readonly url: string;
}

/** The servers that the environment names; says so when there is none. */
export function postgresServers(): readonly PostgresServer[] {
  const { TEST_POSTGRES_URL: oldest, TEST_POSTGRES_NEWEST_URL: newest } = process.env;
  const servers: PostgresServer[] = [];
  if (oldest !== undefined) servers.push({ name: "postgres (oldest)", url: oldest });
  if (newest !== undefined) servers.push({ name: "postgres (newest)", url: newest });
  return servers;
}

/** A name for a store of its own in a shared server, and its removal. */
export async function createSchema(
  url: string,
): Promise<{ readonly name: string; readonly drop: () => Promise<void> }> {
  const name = `test_${randomUUID().replaceAll("-", "_")}`;
  return {
    name,
    drop: async () => {
      const client = postgres(url, { max: 1, onnotice: () => undefined });
      try {
        await client`DROP SCHEMA IF EXISTS ${client(name)} CASCADE`;
      } finally {
        await client.end();
      }
    },
  };
}
