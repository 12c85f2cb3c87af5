import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { requireCommand } from "@stackwright-tools/processes";
import { expect, it, onTestFinished } from "vitest";
import { installation } from "../installation/installation.ts";
import { Scratch } from "../testing/scratch.ts";
import { Fleet, type ServerPlace } from "./fleet.ts";
import { STORE_FIXTURE } from "./stored-runs.ts";

interface Recorded {
  readonly key: string;
  readonly token: string;
  readonly applied: string;
  readonly waiting: string;
  readonly queued: string;
}

it("the store that a server of a former release left has its runs, which go on", {
  timeout: 120_000,
}, async () => {
  const scratch = await Scratch.make();
  onTestFinished(async () => scratch[Symbol.asyncDispose]());
  const text = await readFile(join(STORE_FIXTURE, "runs.json"), "utf8");
  const { key, token, applied, waiting, queued } = JSON.parse(text) as Recorded;
  await requireCommand(["tar", "-C", scratch.folder, "-xzf", join(STORE_FIXTURE, "store.tar.gz")]);
  await writeFile(join(scratch.folder, "key"), key, { mode: 0o600 });
  const command = installation().command;
  const fleet = new Fleet(scratch, `sqlite:${join(scratch.folder, "store")}`, token);
  const [place] = (await fleet.places(1)) as [ServerPlace];
  const server = await fleet.server(command, place, ["--executor", "in-process"]);
  onTestFinished(() => server.process.signal("SIGKILL"));
  expect(await fleet.call(place, applied)).toMatchObject({ phase: "applied" });
  expect(await fleet.call(place, queued)).toMatchObject({ phase: "queued" });
  const { plan_digest, phase } = await fleet.call(place, waiting);
  expect(phase).toBe("awaiting_approval");
  await fleet.call(place, `${waiting}/approvals`, { plan_digest });
  await fleet.reaches(place, waiting, /^applied$/);
  await fleet.reaches(place, queued, /^awaiting_approval$/);
  expect(await server.stop()).toMatchObject({ code: 0 });
  const verified = await fleet.run(command, ["store", "verify", "--store", fleet.store]);
  expect(verified).toMatchObject({ code: 0, output: expect.stringContaining(": intact") });
});
