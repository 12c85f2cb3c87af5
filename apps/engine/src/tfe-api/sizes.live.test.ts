import { spawnSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createStoredKeys, type NamedStack } from "@stackwright/core";
import { MemoryBlobs } from "@stackwright/core/testing";
import { Run_Mode, RunLogSegment } from "@stackwright/proto/stackwright";
import type { ResourceId, StorageBackend } from "@stackwright/storage";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { beforeEach, describe, expect, it } from "vitest";
import { segmentPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { PlanRenderer } from "../plan-rendering/plan-renderer.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { startApi } from "../testing/start-api.ts";
import { terraformRoot } from "../testing/terraform-roots.ts";
import { AwaitedApplies } from "./awaited-applies.ts";
import { LogMarks } from "./log-marks.ts";
import { OpenLogs } from "./open-logs.ts";
import { runLogText } from "./run-log.ts";

const COMMAND = process.env["STACKWRIGHT_TERRAFORM"] ?? "terraform";
/** What shows the behaviour; `.ci/soak --only sizes` has the sizes that are promised. */
const IS_FULL = process.env["TEST_FULL_SIZES"] !== undefined;
const MEGABYTES = IS_FULL ? 100 : 20;
/** More than two pages of the command. */
const WORKSPACES = IS_FULL ? 1_000 : 220;
const LOG_SEGMENTS = IS_FULL ? 512 : 64;
/** The full sizes end with their job, whose limit is ample: how long they take says more of the machine than of the server. */
const TIMEOUT_MS = IS_FULL ? 5_100_000 : 240_000;
/** Requests at the same time. */
const AT_ONCE = 20;

/** A server whose services a file of the command names: the sizes are looked at, not the transport. */
async function start() {
  const api = await startApi("none", { store: "sqlite:store" });
  const root = await terraformRoot(COMMAND, {});
  const host = "stackwright.test";
  const services = `host "${host}" {\n  services = { "tfe.v2" = "${api.server.url}/api/v2/" }\n}\n`;
  const token = `credentials "${host}" {\n  token = "${api.first.token}"\n}\n`;
  await writeFile(root.env["TF_CLI_CONFIG_FILE"] ?? "", services + token);
  const cloud = (workspaces: string): string =>
    `terraform {\n  cloud {\n    hostname = "${host}"\n    organization = "default"\n    workspaces { ${workspaces} }\n  }\n}\n`;
  return { ...api, ...root, cloud };
}

/** Of as many resources as it has megabytes. */
function stateOf(megabytes: number): string {
  const instance = { schema_version: 0, attributes: { id: "x".repeat(1_000_000) } };
  const resources = Array.from({ length: megabytes }, (_, number) => ({
    mode: "managed",
    type: "terraform_data",
    name: `r${number}`,
    provider: 'provider["terraform.io/builtin/terraform"]',
    instances: [instance],
  }));
  const head = { version: 4, terraform_version: "1.11.4", serial: 1, lineage: "large" };
  return JSON.stringify({ ...head, outputs: {}, resources });
}

describe("terraform with the cloud block", () => {
  beforeEach((context) => {
    const { status } = spawnSync(COMMAND, ["version"]);
    context.skip(status !== 0, `${COMMAND} cannot be run on this machine`);
  });

  it(`keeps a state of ${MEGABYTES} MB here`, { timeout: TIMEOUT_MS }, async () => {
    const { ok, write, cloud, directory, call } = await start();
    await write(cloud('name = "large"'));
    await ok("init");
    const file = join(directory, "large.tfstate");
    await writeFile(file, stateOf(MEGABYTES));
    await ok("state", "push", file);
    const { json } = await call("GET", "/api/v2/organizations/default/workspaces/large");
    const { id } = json["data"] as { readonly id: string };
    const stored = await call("GET", `/api/v2/workspaces/${id}/current-state-version`);
    const { attributes } = stored.json["data"] as {
      readonly attributes: { readonly md5: string; readonly size: number };
    };
    expect(attributes.size).toBeGreaterThan(MEGABYTES * 1_000_000);
    // The command ends what it prints with a line break of its own.
    const pulled = (await ok("state", "pull")).slice(0, -1);
    expect(createHash("md5").update(pulled).digest("hex")).toBe(attributes.md5);
  });

  it(`lists ${WORKSPACES} workspaces`, { timeout: TIMEOUT_MS }, async () => {
    const { ok, write, cloud, env, call } = await start();
    const named = (number: number): string => `many-${String(number).padStart(4, "0")}`;
    const add = async (number: number): Promise<void> => {
      const tags = { data: [{ type: "tags", attributes: { name: "many" } }] };
      const body = { data: { attributes: { name: named(number) }, relationships: { tags } } };
      const { status } = await call("POST", "/api/v2/organizations/default/workspaces", { body });
      expect(status).toBe(201);
    };
    for (let at = 0; at < WORKSPACES; at += AT_ONCE) {
      await Promise.all(Array.from({ length: AT_ONCE }, async (_, number) => add(at + number)));
    }
    await write(cloud('tags = ["many"]'));
    env["TF_WORKSPACE"] = named(7);
    await ok("init");
    const listed = [...(await ok("workspace", "list")).matchAll(/many-\d{4}/g)].map(String);
    expect(listed).toEqual(Array.from({ length: WORKSPACES }, (_, number) => named(number)));
  });
});

/** A store that counts the segments of logs that are read. */
function counting(inner: StorageBackend, count: () => void): StorageBackend {
  return new Proxy(inner, {
    get: (target, key) => {
      const member: unknown = Reflect.get(target, key, target);
      if (typeof member !== "function") return member;
      return (...args: unknown[]): unknown => {
        const id = args[1] as ResourceId | undefined;
        if (key === "read" && id?.type?.kind === "RunLogSegment") count();
        return Reflect.apply(member, target, args);
      };
    },
  });
}

it("gives a log of many MB with a line of 1 MB byte for byte, and reads few parts for each slice", {
  timeout: TIMEOUT_MS,
}, async () => {
  const SLICE = 65_536;
  let reads = 0;
  const storage = counting(createMemoryStorage(), () => {
    reads += 1;
  });
  const { parts, put, stack: made, enqueue } = createRunFixture(storage);
  const reference = await made("one");
  const run = await enqueue(reference, "one", Run_Mode.MODE_APPLY);
  const log = { stack: reference, run: `${run.run}X` };
  const lineOf = (seq: number): string =>
    `${seq} ${"é".repeat(seq === LOG_SEGMENTS / 2 ? 524_288 : 51_200)}`;
  const whole = createHash("sha256").update("Stackwright\nThe server executes the run.\n\n");
  for (let seq = 1; seq <= LOG_SEGMENTS; seq += 1) {
    const line = lineOf(seq);
    const events = [JSON.stringify({ seq, type: "log", line })];
    const segment = RunLogSegment.create({ first: BigInt(seq), events });
    await put(SERVER_KINDS.segment, segmentPlace(log, seq), segment);
    whole.update(`${line}\n`);
  }
  const given = {
    ...parts,
    blobs: new MemoryBlobs(),
    keys: createStoredKeys({ storage, current: { id: "k", bytes: randomBytes(32) } }),
    renderer: new PlanRenderer(parts),
    marks: new LogMarks(),
    awaited: new AwaitedApplies(parts.clock),
    open: new OpenLogs(parts.clock),
  };
  const stack = { name: "one", reference } as NamedStack;
  const read = createHash("sha256");
  let offset = 0;
  for (;;) {
    const { from, text } = runLogText(given, stack, log, {
      name: "plan",
      structured: false,
      offset,
    });
    const taken: Buffer[] = [];
    let bytes = from;
    for await (const part of text) {
      taken.push(Buffer.from(part));
      bytes += Buffer.byteLength(part);
      if (bytes >= offset + SLICE) break;
    }
    const slice = Buffer.concat(taken).subarray(offset - from, offset - from + SLICE);
    if (slice.byteLength === 0) break;
    read.update(slice);
    offset += slice.byteLength;
  }
  expect(read.digest("hex")).toBe(whole.digest("hex"));
  expect(offset).toBeGreaterThan(LOG_SEGMENTS * 102_400);
  expect(reads).toBeLessThan(3 * (offset / SLICE));
});
