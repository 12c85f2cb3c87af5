import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, mkdtempDisposable, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { gzipSync } from "node:zlib";
import { createServerClient, type Run } from "@stackwright/client";
import { expect, it, onTestFinished } from "vitest";
import { startServerProcess } from "../testing/start-server-process.ts";
import { tarOf } from "../testing/tar-of.ts";

// Objects of a real provider that are changed and deleted behind its back.

const MAIN = join(import.meta.dirname, "..", "main.ts");
const LAB = process.env["TEST_TOOL_TERRAFORM_PROVIDER_LAB"] ?? "";
const SECRET = "hunter-two-of-the-lab";
const waiting = { timeout: 60_000, interval: 100 };

const template = (lab: string): string => `
terraform {
  required_providers {
    lab = { source = "example.com/acme/lab" }
  }
}
provider "lab" {
  directory = ${JSON.stringify(lab)}
}
resource "lab_object" "a" {
  for_each = toset(["x", "y", "z"])
  name     = each.key
  network  = { cidr = "10.0.0.0/8", secret = ${JSON.stringify(SECRET)} }
}
`;

async function start() {
  const scratch = await mkdtempDisposable(join(tmpdir(), "drift-"));
  onTestFinished(() => scratch.remove());
  const folder = scratch.path;
  const lab = join(folder, "lab");
  await mkdir(lab);
  const rc = join(folder, "rc");
  const overrides = `dev_overrides { "example.com/acme/lab" = ${JSON.stringify(dirname(LAB))} }`;
  await writeFile(rc, `provider_installation {\n${overrides}\ndirect {}\n}\n`);
  const key = join(folder, "key");
  await writeFile(key, randomBytes(32).toString("hex"), { mode: 0o600 });
  const common = ["--store", `sqlite:${join(folder, "data")}`, "--key-file", key];
  const bootstrap = [MAIN, "bootstrap", "--again", ...common];
  const { token } = JSON.parse(String(execFileSync(process.execPath, bootstrap))) as {
    readonly token: string;
  };
  const serve = async () =>
    startServerProcess(MAIN, common, { cwd: folder, env: { TF_CLI_CONFIG_FILE: rc } });
  const server = await serve();
  const place = { project: "default", stack: "one" };
  const open = (url: string) => createServerClient({ server: url, token });
  let client = open(server.url);
  await client.createStack({ project: "default", body: { name: "one" } });
  const archive = Uint8Array.from(gzipSync(tarOf({ "main.tf": template(lab) })));
  const { data } = await client.createConfiguration({ ...place, body: archive });
  const ends = async ({ id }: Pick<Run, "id">, phase: string) => {
    const phaseOf = async () => (await client.showRun({ ...place, run: id })).data.phase;
    await expect.poll(phaseOf, waiting).toBe(phase);
  };
  const apply = async () => {
    const body = { configuration: data.digest, auto_apply: true };
    return (await client.createRun({ ...place, body })).data;
  };
  await ends(await apply(), "applied");
  const fileOf = async (name: string) => {
    for (const file of await readdir(lab)) {
      if (!file.endsWith(".json")) continue;
      const record = JSON.parse(await readFile(join(lab, file), "utf8")) as { name: string };
      if (record.name === name) return { path: join(lab, file), record };
    }
    return undefined;
  };
  return {
    server,
    place,
    ends,
    apply,
    fileOf,
    get client() {
      return client;
    },
    check: async () => (await client.checkDrift(place)).data,
    drift: async () => (await client.showDrift(place)).data,
    /** Changes one object and deletes another one, as a person does in the console of a cloud. */
    tamper: async () => {
      const x = await fileOf("x");
      const y = await fileOf("y");
      if (x === undefined || y === undefined) throw new Error("no objects");
      await writeFile(x.path, JSON.stringify({ ...x.record, size: 7 }));
      await rm(y.path);
    },
    restart: async () => {
      server.child.kill("SIGKILL");
      await server.ended;
      client = open((await serve()).url);
    },
  };
}

it("drift is found, shown without secrets, planned and repaired", {
  timeout: 180_000,
}, async (context) => {
  context.skip(LAB === "", "TEST_TOOL_TERRAFORM_PROVIDER_LAB is not set");
  const lab = await start();
  const { place, ends, apply, check, drift, tamper, client, fileOf } = lab;
  // The same drift is planned once: that plan waits, and keeps no other run out.
  await client.setDriftRule({ ...place, body: { every_minutes: 60, reaction: "plan" } });
  await tamper();
  const found = await check();
  await ends(found, "plan_finished");
  const objects = [
    { address: 'lab_object.a["x"]', deleted: false, attributes: ["size"] },
    { address: 'lab_object.a["y"]', deleted: true, attributes: [] },
  ];
  const shown = await drift();
  expect(shown).toMatchObject({ run: found.id, changed: 1, deleted: 1 });
  expect(shown.objects.toSorted((a, b) => (a.address < b.address ? -1 : 1))).toEqual(objects);
  const all = await client.listDrift({});
  expect(all.data).toMatchObject({
    total: 1,
    stacks: [{ ...place, drift: { changed: 1, deleted: 1, run: found.id } }],
  });
  const view = await client.showPlanView({ ...place, run: found.id });
  const text = JSON.stringify([shown, view.data]);
  expect(text).toContain("size");
  expect(text).not.toContain(SECRET);

  const { remedy = "" } = await drift();
  await ends({ id: remedy }, "awaiting_approval");
  await ends(await apply(), "applied");
  expect((await client.showRun({ ...place, run: remedy })).data.phase).toBe("superseded");
  const cleared = await drift();
  expect(cleared).toMatchObject({ changed: 0, deleted: 0, objects: [] });
  expect(cleared).not.toHaveProperty("since");
  expect(await fileOf("y")).toBeDefined();

  // Repaired without anybody, also where the server is killed in the middle of the check.
  await client.setDriftRule({ ...place, body: { every_minutes: 60, reaction: "repair" } });
  await tamper();
  await check();
  await lab.restart();
  await expect
    .poll(async () => (await drift()).remedy ?? (await drift()).since, waiting)
    .toBeUndefined();
  // Both are repaired at the same time, in no order.
  await expect.poll(async () => (await fileOf("x"))?.record, waiting).toMatchObject({ size: 1 });
  await expect.poll(async () => fileOf("y"), waiting).toBeDefined();
  await ends(await check(), "no_changes");
  expect(await drift()).toMatchObject({ changed: 0, deleted: 0 });
});
