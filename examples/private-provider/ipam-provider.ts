import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  computed,
  createProvider,
  defineResource,
  type KitContext,
  optional,
  ProviderFailure,
  required,
  types,
} from "@stackwright/mux/kit";
import type { LifecycleProvider } from "@stackwright/mux/router";

/** A range of addresses such as `10.20.0.0/28`, and the folder that has a file for each address that is taken. */
interface Pool {
  readonly cidr: string;
  readonly folder: string;
}

const CIDR = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})\/(2[4-9]|30)$/;

/** The addresses of a pool that hosts can have: without those of the network and of the broadcast. */
function* addressesOf(cidr: string): Generator<string> {
  const [, a, b, c, d, bits] = CIDR.exec(cidr) ?? [];
  const size = 2 ** (32 - Number(bits));
  const first = Number(d) - (Number(d) % size);
  for (let last = first + 1; last < first + size - 1; last += 1) yield `${a}.${b}.${c}.${last}`;
}

const address = defineResource({
  description: "An address that a host keeps as long as the resource exists.",
  attributes: {
    ip: computed(types.string, { stable: true, description: "What was free." }),
    host: required(types.string),
    note: optional(types.string),
  },

  // Two requests at once may be two processes, so the file system decides who gets an address: "wx" makes
  // a file or fails.
  async create({ host, note }, { client: pool }: KitContext<Pool>) {
    await mkdir(pool.folder, { recursive: true });
    for (const ip of addressesOf(pool.cidr)) {
      const text = JSON.stringify({ host, note });
      const isOurs = await writeFile(join(pool.folder, ip), text, { flag: "wx" }).then(
        () => true,
        (error: NodeJS.ErrnoException) => {
          if (error.code !== "EEXIST") throw error;
          return false;
        },
      );
      if (isOurs) return { ip };
    }
    throw new ProviderFailure("The pool is used up", `${pool.cidr} has no free address.`);
  },

  async read({ ip }, { client: pool }) {
    const text = await readFile(join(pool.folder, ip ?? ""), "utf8").catch(() => undefined);
    return text === undefined ? undefined : (JSON.parse(text) as { host: string; note?: string });
  },

  async update({ host, note }, { ip }, { client: pool }) {
    await writeFile(join(pool.folder, ip ?? ""), JSON.stringify({ host, note }));
    return {};
  },

  async delete({ ip }, { client: pool }) {
    await rm(join(pool.folder, ip ?? ""), { force: true });
  },

  async import(ip, { client: pool }) {
    const text = await readFile(join(pool.folder, ip), "utf8").catch(() => undefined);
    if (text === undefined || ip.includes("/")) return undefined;
    return { ip, ...(JSON.parse(text) as { host: string; note?: string }) };
  },
});

/** Manages addresses of pools. The allocations are stored below `folder`, so the provider itself keeps no state. */
export function createIpamProvider(folder: string): LifecycleProvider {
  return createProvider({
    config: { pool: required(types.string, { description: "Such as 10.20.0.0/28." }) },
    validate: ({ pool }) =>
      typeof pool === "string" && !CIDR.test(pool)
        ? [
            {
              severity: "error",
              summary: "Invalid pool",
              detail: `"${pool}" is not a block from /24 to /30.`,
            },
          ]
        : [],
    configure: ({ pool }): Pool => ({ cidr: pool, folder: join(folder, pool.replace("/", "_")) }),
    resources: { ipam_address: address },
  });
}
