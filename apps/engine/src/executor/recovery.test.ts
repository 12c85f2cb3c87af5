import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { StackState } from "@stackwright/core";
import { readTarball } from "@stackwright/provider-source";
import { createUlidGenerator } from "@stackwright/storage";
import { createDirectoryBlobs } from "@stackwright/storage/blob";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { expect, it, onTestFinished } from "vitest";
import { CONFIGURATION_LIMITS } from "../configuration/configuration-limits.ts";
import type { ProviderStanding, RegistryQuery } from "../domain/registry-query.ts";
import { tarOf } from "../testing/tar-of.ts";
import { testJob } from "../testing/test-job.ts";
import { executeJob } from "./execute-job.ts";
import type { ExecutionJob } from "./execution-job.ts";
import type { ExecutionHost } from "./executor.ts";
import { openJobState } from "./job-engine.ts";

const DEMO = "registry.example.com/acme/demo";
const BUILTIN = "terraform.io/builtin/terraform";
const CONFIGURATION = `
terraform {
  required_providers { demo = { source = "${DEMO}" } }
}
variable "place" { default = "here" }
provider "demo" { place = var.place }
resource "demo_thing" "a" {}
resource "terraform_data" "b" {}
`;
const LOCK = `provider "${DEMO}" {\n  version = "1.0.0"\n}\n`;
const QUARANTINED: ProviderStanding = { state: "quarantined", sinceMs: 0, reason: "stolen key" };
const USABLE: ProviderStanding = { state: "usable", sinceMs: 0, reason: "" };

const ulid = createUlidGenerator({ wallMs: Date.now });

type StateWriter = Awaited<ReturnType<Awaited<ReturnType<StackState["acquire"]>>["begin"]>>;
type Left = (writer: StateWriter) => Promise<void>;

/** An apply that left something, and how its recovery ends. No provider can be installed. */
async function recovered(
  leave: Left,
  {
    standing = QUARANTINED,
    files = {},
  }: { readonly standing?: ProviderStanding; readonly files?: Record<string, string> } = {},
) {
  const scratch = await mkdtempDisposable(join(tmpdir(), "recovery-"));
  onTestFinished(() => scratch.remove());
  const at = (name: string) => join(scratch.path, name);
  const storage = createMemoryStorage();
  const blobs = await createDirectoryBlobs({ directory: at("blobs") });
  onTestFinished(async () => {
    await blobs.close();
    await storage.close();
  });
  const mirror = at("mirror");
  await mkdir(mirror);
  const rc = at("rc");
  await writeFile(
    rc,
    `provider_installation {\n  filesystem_mirror {\n    path = "${mirror}"\n  }\n}\n`,
  );
  const ground = { storage, blobs, env: { TF_CLI_CONFIG_FILE: rc, HOME: scratch.path } };
  const tree = { "main.tf": CONFIGURATION, ".terraform.lock.hcl": LOCK, ...files };
  const archive = gzipSync(tarOf(tree));
  const { sha256 } = await blobs.write(archive);
  await mkdir(at("unpacked"));
  const { digest } = await readTarball(blobs.read(sha256), {
    directory: at("unpacked"),
    limits: CONFIGURATION_LIMITS,
  });
  const run = ulid();
  const job = await testJob({
    step: "recover",
    stack: { account: "acme", project: "web", stack: ulid() },
    run,
    configuration: { digest, archiveSha256: sha256 },
    keys: [{ number: 1, bytes: Buffer.alloc(32, 7).toString("base64") }],
  });
  {
    await using hold = await openJobState(job, ground).acquire();
    await leave(await hold.begin({ run }));
  }
  const asked: RegistryQuery[] = [];
  const events: unknown[] = [];
  const host: ExecutionHost = {
    onEvent: (event) => void events.push(event),
    beginPlanning: async () => undefined,
    beginApply: async () => undefined,
    readOtherStack: async () => undefined,
    identityTokens: async () => [],
    readRegistry: async (query) => {
      asked.push(query);
      if (query.kind !== "standing") throw new Error(`another query: ${query.kind}`);
      return { versions: [], withdrawn: [], standing: query.providers.map(() => standing) };
    },
    recordState: async () => undefined,
    handInSchema: async () => "refused",
  };
  const never = new AbortController().signal;
  const execute = async (change: Partial<ExecutionJob> = {}) =>
    executeJob({ ...job, ...change }, host, { stop: never, force: never }, ground);
  return { result: await execute(), asked, events };
}

function planned(address: string, source: string) {
  const [type = ""] = address.split(".");
  return {
    mode: "managed",
    type,
    provider: { source, version: source === DEMO ? "1.0.0" : "", alias: "" },
    dependencies: [],
    createBeforeDestroy: false,
  } as const;
}

/** An object whose create was begun. */
function begun(address: string, source: string): Left {
  return async (writer) => {
    await writer.write({
      kind: "create",
      key: { address, deposed: "" },
      object: planned(address, source),
      operation: { id: ulid() },
    });
  };
}

/** An object of the provider in quarantine, about which nothing is open. */
async function there(writer: StateWriter): Promise<void> {
  const value = { schemaVersion: 0, json: '{"place":"here"}', sensitive: [] };
  await writer.write({
    kind: "adopt",
    key: { address: "demo_thing.a", deposed: "" },
    object: planned("demo_thing.a", DEMO),
    content: { value, privateBytes: new Uint8Array() },
  });
}

it("ends an apply as its history says where only its result was lost, without configuration and providers", async () => {
  const { result, asked } = await recovered(
    async (writer) => {
      await there(writer);
      await writer.finish({ status: "applied" });
    },
    { files: { "main.tf": "this is no configuration" } },
  );
  expect(result).toMatchObject({ phase: "applied" });
  expect(asked).toEqual([]);
});

it("does without a provider whose objects were all recorded", async () => {
  for (const leave of [
    // It ended between its last object and the end of the run.
    async () => undefined,
    begun("terraform_data.b", BUILTIN),
  ]) {
    const { result, asked, events } = await recovered(async (writer) => {
      await there(writer);
      await leave(writer);
    });
    expect(result).toMatchObject({ phase: "partially_applied" });
    expect(asked).toEqual([]);
    expect(JSON.stringify(events)).not.toContain("acme/demo");
  }
});

it("waits, as no attempt, for the provider of an open operation that is in quarantine", async () => {
  const { result, asked } = await recovered(begun("demo_thing.a", DEMO));
  expect(result).toEqual({
    phase: "interrupted",
    blocked: true,
    reason: expect.stringMatching(/acme\/demo 1\.0\.0 is in quarantine: stolen key/) as string,
  });
  expect(asked).toEqual([{ kind: "standing", providers: [{ source: DEMO, version: "1.0.0" }] }]);
});

it("waits also where the open operation has a provider that is configured by an object of one in quarantine", async () => {
  const other = "registry.example.com/acme/other";
  const required = `demo = { source = "${DEMO}" }\n other = { source = "${other}" }\n`;
  const main = `
terraform {
  required_providers {
    ${required}
  }
}
provider "other" { place = demo_thing.a.place }
resource "demo_thing" "a" {}
resource "other_thing" "c" {}
`;
  const leave: Left = async (writer) => {
    await there(writer);
    await begun("other_thing.c", other)(writer);
  };
  const { result } = await recovered(leave, { files: { "main.tf": main } });
  expect(result).toMatchObject({ phase: "interrupted", blocked: true });
});

it("is an attempt where its provider is missing for another reason", async () => {
  const { result } = await recovered(begun("demo_thing.a", DEMO), { standing: USABLE });
  expect(result).toEqual({ phase: "interrupted", reason: expect.any(String) as string });
});
