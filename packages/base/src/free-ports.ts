import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Below the ports that systems give to outgoing connections and to servers that ask for any port (from 32768 on Linux,
 * from 49152 elsewhere). A port out of that range is soon given to another process, and a connection to one on which no
 * server listens yet may be given the same port and so reach itself.
 */
const FIRST_PORT = 10_240;
const LAST_PORT = 32_767;
/** Taken ports that are passed over before the search ends. */
const MAX_TAKEN = 1000;

/** Where the numbers come from; by default `randomInt` of Node. */
export interface FreePortsOptions {
  /** A number from `min` on and below `max`. */
  readonly randomInt?: (min: number, max: number) => number;
}

/**
 * That many different loopback ports which were free a moment ago, none of which the system gives away by itself. A
 * server with a fixed port may still take one before the caller's server does: the caller tries again then.
 */
export async function freePorts(
  count: number,
  { randomInt: draw = randomInt }: FreePortsOptions = {},
): Promise<number[]> {
  const ports = new Set<number>();
  let taken = 0;
  while (ports.size < count) {
    const port = draw(FIRST_PORT, LAST_PORT + 1);
    if (ports.has(port)) continue;
    if (await isFree(port)) ports.add(port);
    else if (++taken > MAX_TAKEN) throw new Error("no free port was found on the loopback address");
  }
  return [...ports];
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    await once(server.listen(port, "127.0.0.1"), "listening");
  } catch {
    return false;
  }
  server.close();
  await once(server, "close");
  return true;
}
