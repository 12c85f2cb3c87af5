import { mkdtempDisposable, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { program } from "../testing/programs/programs.ts";
import { launchPoolMember } from "./launch-member.ts";
import { environmentDigest, fileDigest } from "./pool-key.ts";
import { type PoolUse, ProviderPool } from "./provider-pool.ts";

it("a pool starts processes, reuses them for reads, and ends all of them", async () => {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "pool-"));
  const launch = {
    ...program("toy-provider.ts"),
    runtimeDirectory: scratch.path,
  };
  const key = {
    project: "acme",
    binaryDigest: await fileDigest(launch.args[0] ?? ""),
    environmentDigest: environmentDigest(launch.env),
    configurationDigest: "",
  };
  let started = 0;
  const pool = new ProviderPool();
  const schemaIn = async (run: string, use: PoolUse) => {
    await using lease = await pool.acquire({
      key,
      run,
      use,
      start: (signal) => {
        started += 1;
        return launchPoolMember({ ...launch, signal });
      },
    });
    const { schema } = await lease.provider.schema({});
    expect([...schema.resources.keys()]).toEqual(["toy_thing"]);
  };
  await schemaIn("run-1", "read");
  await schemaIn("run-2", "read");
  expect(started).toBe(1);
  await schemaIn("run-2", "apply");
  expect(started).toBe(2);
  expect(pool.statistics).toEqual({ leased: 0, idle: 1, waiting: 0 });
  await pool.close();
  expect(await readdir(scratch.path)).toEqual([]);
});
