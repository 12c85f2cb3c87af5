import type { Resource, StorageBackend } from "@stackwright/storage";
import type { Operation } from "./measure.ts";
import { benchResource } from "./resources.ts";

/** Keys that each caller writes in turn, so that callers never conflict. */
export const KEYS_PER_CALLER = 8;

/** Compare-and-swap updates of existing resources, each caller on keys of its own. */
export async function casOperation(
  storage: StorageBackend,
  callers: number,
  label: string,
): Promise<Operation> {
  const held = await Promise.all(
    Array.from({ length: callers }, async (_, caller) => {
      const resources: Resource[] = [];
      for (let key = 0; key < KEYS_PER_CALLER; key += 1) {
        resources.push(await storage.writeCAS(benchResource(`${label}-${caller}-${key}`)));
      }
      return resources;
    }),
  );
  return async (caller, count) => {
    const mine = held[caller] as Resource[];
    const key = count % KEYS_PER_CALLER;
    mine[key] = await storage.writeCAS(mine[key] as Resource);
  };
}
