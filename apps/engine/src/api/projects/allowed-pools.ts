import type { Project } from "@stackwright/proto/stackwright";
import { DEFAULT_POOL } from "../../domain/run-places.ts";
import { ServerError } from "../../domain/server-error.ts";

/**
 * Refuses a change of the settings of a project to pools that it has not: which projects reach the machines and networks of a pool is up to those
 * who administer the account. An administrator of the project chooses among those that it has, and the workers of servers. `forbidden`
 */
export function requireAllowedPools(
  { name, pools }: Pick<Project, "name" | "pools">,
  change: Partial<Pick<Project, "pools">>,
  administersAccount: boolean,
): void {
  if (administersAccount) return;
  const allowed = new Set([DEFAULT_POOL, ...pools.map(({ pool }) => pool)]);
  const refused = (change.pools ?? []).find(({ pool }) => !allowed.has(pool));
  if (refused === undefined) return;
  throw new ServerError(
    "forbidden",
    `the project "${name}" is not allowed to use the pool "${refused.pool}": an administrator of the account adds it to the pools of the project first`,
  );
}
