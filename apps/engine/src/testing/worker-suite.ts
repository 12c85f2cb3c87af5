import { randomBytes } from "node:crypto";
import { mkdtempDisposable, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { systemClock } from "@stackwright/base/clock";
import { silentLogger } from "@stackwright/base/logger";
import {
  createStackStates,
  createStoredKeys,
  keyEncryptionKey,
  NO_MIRROR,
  type RunPhase,
  StackDirectory,
  type StackOrigin,
  storedRunPhase,
} from "@stackwright/core";
import { TEST_PROGRAMS } from "@stackwright/core/testing";
import { Run_Mode, Variable } from "@stackwright/proto/stackwright";
import { createUlidGenerator } from "@stackwright/storage";
import { createDirectoryBlobs } from "@stackwright/storage/blob";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { storeConfiguration } from "../configuration/store-configuration.ts";
import { decodeRecord } from "../domain/record-kind.ts";
import { projectTenancy, RUN_KIND, type RunReference, runPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import type { Executor } from "../executor/executor.ts";
import type { JobGround } from "../executor/job-engine.ts";
import { PolicyRunner } from "../policy/policy-runner.ts";
import { cancelRun } from "../queue/cancel.ts";
import { approveRun } from "../queue/decide.ts";
import { enqueueRun } from "../queue/enqueue.ts";
import { TicketBoard } from "../queue/ticket-board.ts";
import { idOf, transact } from "../queue/transaction.ts";
import { CATEGORIES, variableContext, variablePrefix } from "../worker/run-variables.ts";
import { startRunWorker } from "../worker/run-worker.ts";
import { tarOf } from "./tar-of.ts";

const MAIN = `
variable "word" { default = "hello" }
resource "terraform_data" "a" { input = var.word }
resource "terraform_data" "b" { input = sensitive("canary-\${terraform_data.a.output}") }
output "b" {
  value = terraform_data.b.id
}
`;

const HANDED_BACK: StackOrigin = {
  kind: "state",
  timeMs: 1,
  actor: "ann",
  lineage: "l",
  serial: 1n,
  backend: "s3",
  place: "s3 bucket states, key app",
  placeDigest: "",
  workspace: "default",
  sha256: "",
  terraformVersion: "1.11.4",
  acceptedChanges: 0,
  lockId: "",
  renamedTo: "",
  mirror: NO_MIRROR,
  handedBack: true,
};

/** Makes the executor of a test; `directory` is for what it keeps. */
type MakeExecutor = (ground: JobGround, directory: string) => Executor | Promise<Executor>;

async function start(makeExecutor: MakeExecutor) {
  const stack = new AsyncDisposableStack();
  onTestFinished(() => stack.disposeAsync());
  const scratch = stack.use(await mkdtempDisposable(join(tmpdir(), "worker-")));
  const storage = stack.use(createMemoryStorage());
  const blobs = stack.use(await createDirectoryBlobs({ directory: join(scratch.path, "blobs") }));
  const token = createUlidGenerator({ wallMs: () => Date.now() });
  const keys = createStoredKeys({ storage, current: keyEncryptionKey(randomBytes(32)) });
  const parts = { storage, clock: systemClock, token, blobs, random: Math.random };
  const executor = stack.use(
    await makeExecutor({ storage, blobs, env: process.env }, scratch.path),
  );
  const stacks = new StackDirectory({ storage });
  const project = { account: "acme", project: "web" };
  let afterRead: (() => Promise<void>) | undefined;
  const tickets = stack.use(new TicketBoard({ ...parts, logger: silentLogger }));
  stack.use(
    await startRunWorker({
      ...parts,
      tickets,
      keys,
      executor,
      logger: silentLogger,
      policies: new PolicyRunner({ clock: systemClock }),
      directory: join(scratch.path, "runs"),
      stackOf: async ({ stack: id }) => {
        const all = await stacks.list(project);
        await afterRead?.();
        return all.find((one) => one.reference.stack === id);
      },
    }),
  );
  const { reference } = await stacks.ensure(project, "one");
  const upload = async (
    text: string,
    stackName = "one",
    further: Readonly<Record<string, string>> = {},
  ): Promise<string> => {
    const { version } = await storeConfiguration(parts, {
      stack: (await stacks.ensure(project, stackName)).reference,
      stackName,
      actor: "ann",
      content: (async function* () {
        yield await Promise.resolve(gzipSync(tarOf({ "main.tf": text, ...further })));
      })(),
      signal: AbortSignal.timeout(10_000),
    });
    return version.digest;
  };
  const enqueue = async (
    configuration: string,
    mode: Run_Mode = Run_Mode.MODE_APPLY,
    stackName = "one",
  ) => {
    const of = (await stacks.ensure(project, stackName)).reference;
    const run: RunReference = { stack: of, run: token() };
    await enqueueRun(parts, {
      reference: run,
      stackName,
      configuration,
      mode,
      actor: "ann",
    });
    return run;
  };
  const read = async (run: RunReference) =>
    decodeRecord(RUN_KIND, await storage.read("strong", idOf(RUN_KIND, runPlace(run))));
  const reaches = async (run: RunReference, phase: RunPhase) => {
    await expect
      .poll(async () => storedRunPhase((await read(run)).phase), { timeout: 60_000, interval: 50 })
      .toBe(phase);
    return read(run);
  };
  const states = createStackStates({
    storage,
    blobs,
    ciphers: keys,
    owner: "test",
  });
  /** Sets a sensitive variable of the stack. */
  const hide = async (category: "terraform" | "env", key: string, value: string) => {
    const cipher = await keys.ensure(reference);
    const name = `${variablePrefix(reference)}${category}.${key}`;
    await transact(parts, async (tx) => {
      const message = Variable.create({
        key,
        category: CATEGORIES[category],
        value: cipher.seal(Buffer.from(value), variableContext(reference, category, key)),
        sensitive: true,
      });
      tx.create(SERVER_KINDS.variable, { tenancy: projectTenancy(reference), name }, message);
      return Promise.resolve();
    });
  };
  /** Everything that the store and the blobs hold. */
  const bytes = async (): Promise<string> => {
    const types = [RUN_KIND, ...Object.values(SERVER_KINDS)].map(({ type }) => type);
    const anywhere = { partition: "acme", peerName: "*", namespace: "*" };
    const lists = await Promise.all(
      types.map(async (type) => storage.list("strong", type, anywhere, "")),
    );
    const records = lists.flat().map(({ data }) => Buffer.from(data?.value ?? []));
    const blobFolder = join(scratch.path, "blobs");
    const names = await readdir(blobFolder, { recursive: true, withFileTypes: true });
    const files = names
      .filter((entry) => entry.isFile())
      .map(async (entry) => readFile(join(entry.parentPath, entry.name)));
    return Buffer.concat([...records, ...(await Promise.all(files))]).toString("latin1");
  };
  /** Happens once after a worker has read the stack. */
  const afterNextRead = (task: () => Promise<unknown>): void => {
    afterRead = async () => {
      afterRead = undefined;
      await task();
    };
  };
  const recordOrigin = async (origin: StackOrigin) => stacks.recordOrigin(project, "one", origin);
  const state = states.stack(reference);
  /** Applies a configuration to a stack, or resolves with the run that failed. */
  const apply = async (text: string, stackName: string) => {
    const configuration = await upload(text, stackName);
    const run = await enqueue(configuration, Run_Mode.MODE_APPLY, stackName);
    await expect
      .poll(async () => storedRunPhase((await read(run)).phase), { timeout: 60_000, interval: 50 })
      .toMatch(/awaiting_approval|failed/);
    const { planDigest } = await read(run);
    if (planDigest === "") return read(run);
    await approveRun(parts, run, { actor: "bea", planDigest });
    return reaches(run, "applied");
  };
  return {
    parts,
    storage,
    reference,
    upload,
    enqueue,
    reaches,
    hide,
    bytes,
    recordOrigin,
    afterNextRead,
    state,
    apply,
    stateOf: async (name: string) =>
      states.stack((await stacks.ensure(project, name)).reference).read(),
  };
}

/** What a worker does with any executor. */
export function describeWorker(
  kind: Executor["kind"],
  makeExecutor: MakeExecutor,
  /** Without what does not depend on the executor. */
  isBrief = false,
): void {
  describe(`a worker with the executor ${kind}`, () => {
    it("plans, waits for the approval, and applies", { timeout: 120_000 }, async () => {
      const { parts, storage, upload, enqueue, reaches, state } = await start(makeExecutor);
      const configuration = await upload(MAIN);
      const run = await enqueue(configuration);
      const waiting = await enqueue(configuration);
      const looking = await enqueue(configuration, Run_Mode.MODE_PLAN_ONLY);
      const planned = await reaches(run, "awaiting_approval");
      expect(planned.planDigest).toMatch(/^[0-9a-f]{64}$/);
      await reaches(looking, "plan_finished");
      expect((await reaches(waiting, "queued")).number).toBe(2n);
      await approveRun(parts, run, { actor: "bea", planDigest: planned.planDigest });
      const applied = await reaches(run, "applied");
      expect(applied.revision).toBe((await state.head()).revision);
      const { objects } = await state.read();
      expect([...objects.values()].map(({ address }) => address).toSorted()).toEqual([
        "terraform_data.a",
        "terraform_data.b",
      ]);
      // The next run of the stack gets its turn and finds nothing to do.
      await reaches(waiting, "no_changes");
      const { type } = SERVER_KINDS.segment;
      const place = runPlace(run);
      const segments = await storage.list("strong", type, place.tenancy, `${place.name}.`);
      const text = segments
        .flatMap((one) => decodeRecord(SERVER_KINDS.segment, one).events)
        .join("\n");
      expect(text).toContain('"address":"terraform_data.b"');
      expect(text).not.toContain("canary-hello");
    });

    it("joins programs as the file beside the configuration says, those of Pulumi too", {
      timeout: 120_000,
    }, async () => {
      const folder = await mkdtempDisposable(join(tmpdir(), "plugins-"));
      onTestFinished(() => folder.remove());
      const program = join(folder.path, "pulumi-resource-shelf");
      // Nothing of the worker's environment reaches it.
      const guard = 'if (process.env["CANARY_OF_WORKER"]) process.exit(9);';
      const begin = `import(${JSON.stringify(TEST_PROGRAMS.shelfProvider)});`;
      // Images have a Node, and perhaps no shell.
      await writeFile(program, `#!${process.execPath}\n${guard}\n${begin}\n`, { mode: 0o755 });
      vi.stubEnv("STACKWRIGHT_PULUMI_PLUGINS", folder.path);
      vi.stubEnv("CANARY_OF_WORKER", "yes");
      onTestFinished(() => void vi.unstubAllEnvs());
      const { parts, upload, enqueue, reaches, state } = await start(makeExecutor);
      const text = `
        terraform {
          required_providers {
            platform = { source = "example.com/acme/platform" }
          }
        }
        resource "terraform_data" "a" {
          provider = platform
          input    = "Dune"
        }
        resource "shelf_shelf_book" "b" {
          provider = platform
          title    = terraform_data.a.output
          pages    = 600
        }
      `;
      const programs = [
        { source: "terraform.io/builtin/terraform" },
        { source: "stackwright.local/pulumi/shelf" },
      ];
      const providers = { "example.com/acme/platform": { programs } };
      const file = { "stackwright.providers.json": JSON.stringify({ providers }) };
      const run = await enqueue(await upload(text, "one", file));
      const { planDigest } = await reaches(run, "awaiting_approval");
      await approveRun(parts, run, { actor: "bea", planDigest });
      await reaches(run, "applied");
      const { objects } = await state.read();
      expect([...objects.values()].map(({ provider }) => provider.source)).toEqual([
        "example.com/acme/platform",
        "example.com/acme/platform",
      ]);
      const wrong = { "stackwright.providers.json": '{"providers": {"a": {}}}' };
      const refused = await enqueue(await upload(text, "one", wrong));
      expect((await reaches(refused, "failed")).reason).toContain("stackwright.providers.json");
    });

    it("shows and stores no sensitive variable", { timeout: 120_000 }, async () => {
      const { parts, upload, enqueue, reaches, hide, bytes } = await start(makeExecutor);
      await hide("terraform", "word", "canary-of-terraform");
      await hide("env", "TF_VAR_other", "canary-of-env");
      // Neither is sensitive by the configuration.
      const run = await enqueue(
        await upload(`
          variable "word" {}
          variable "other" {}
          resource "terraform_data" "a" { input = "\${var.word} \${var.other}" }
        `),
      );
      const { planDigest } = await reaches(run, "awaiting_approval");
      expect(await bytes()).not.toContain("canary-of");
      await approveRun(parts, run, { actor: "bea", planDigest });
      await reaches(run, "applied");
      const files = 'variable "word" {}\noutput "x" { value = file(nonsensitive(var.word)) }';
      const failed = await reaches(await enqueue(await upload(files)), "failed");
      expect(failed.reason).not.toContain("canary-of");
      expect(await bytes()).not.toContain("canary-of");
    });

    it("cancels a run that waits, and lets the next one begin", { timeout: 120_000 }, async () => {
      const { parts, upload, enqueue, reaches } = await start(makeExecutor);
      const configuration = await upload(MAIN);
      const run = await enqueue(configuration);
      await reaches(run, "awaiting_approval");
      const next = await enqueue(configuration);
      expect(await cancelRun(parts, run, { actor: "bea" })).toBe("canceled");
      await reaches(run, "canceled");
      await reaches(next, "awaiting_approval");
    });

    it("plans and applies with outputs of another stack, and refuses a cycle", {
      timeout: 120_000,
    }, async () => {
      const { apply, stateOf, bytes } = await start(makeExecutor);
      const reading = (stack: string): string => `
        data "terraform_remote_state" "other" {
          backend = "stackwright"
          config  = { stack = "${stack}" }
        }
      `;
      const NETWORK = `
        output "vpc" { value = "vpc-1" }
        output "word" {
          value     = "canary-of-network"
          sensitive = true
        }
      `;
      await apply(NETWORK, "network");
      await apply(
        `${reading("network")}
        resource "terraform_data" "a" { input = data.terraform_remote_state.other.outputs }
        output "vpc" { value = data.terraform_remote_state.other.outputs.vpc }`,
        "one",
      );
      const { outputs, inputs } = await stateOf("one");
      expect(outputs.get("vpc")?.json).toBe('"vpc-1"');
      expect(inputs).toMatchObject([{ name: "network", revision: 1n, outputs: ["vpc", "word"] }]);
      expect(await bytes()).not.toContain("canary-of");
      const refused = await apply(`${NETWORK}${reading("one")}`, "network");
      expect(refused.reason).toContain("web/network reads web/one reads web/network");
    });

    if (isBrief) return;

    it("says why a configuration cannot be planned", { timeout: 120_000 }, async () => {
      const { upload, enqueue, reaches } = await start(makeExecutor);
      const run = await enqueue(await upload("resource terraform_data a { input = var.missing }"));
      expect(await reaches(run, "failed")).toMatchObject({ reasonCode: "configuration" });
    });

    it("plans on an empty stack with a backend block once it is said to begin fresh", {
      timeout: 120_000,
    }, async () => {
      const { upload, enqueue, reaches, recordOrigin } = await start(makeExecutor);
      const backend = `terraform {\n  backend "s3" {\n    bucket = "states"\n  }\n}\n`;
      const configuration = await upload(`${backend}${MAIN}`);
      const refused = await reaches(await enqueue(configuration), "failed");
      expect(refused).toMatchObject({ reasonCode: "ENGINE_STATE_NOT_ADOPTED" });
      expect(refused.reason).toContain('backend "s3" (main.tf line 2): bucket states');
      const made = { timeMs: 1, actor: "ann", evidence: [], forced: false };
      await recordOrigin({ kind: "fresh", ...made });
      await reaches(await enqueue(configuration), "awaiting_approval");
    });

    it("neither plans nor applies on a stack that was handed back", {
      timeout: 120_000,
    }, async () => {
      const { parts, upload, enqueue, reaches, recordOrigin, state } = await start(makeExecutor);
      const configuration = await upload(MAIN);
      const run = await enqueue(configuration);
      const { planDigest } = await reaches(run, "awaiting_approval");
      await recordOrigin(HANDED_BACK);
      await approveRun(parts, run, { actor: "bea", planDigest });
      const refused = { reasonCode: "ENGINE_STATE_NOT_ADOPTED" };
      expect(await reaches(run, "failed")).toMatchObject(refused);
      expect(await reaches(await enqueue(configuration), "failed")).toMatchObject(refused);
      expect((await state.read()).objects.size).toBe(0);
    });

    it("applies nothing where the stack is handed back before its fence is acquired", {
      timeout: 120_000,
    }, async () => {
      const { parts, upload, enqueue, reaches, recordOrigin, afterNextRead, state } =
        await start(makeExecutor);
      const run = await enqueue(await upload(MAIN));
      const { planDigest } = await reaches(run, "awaiting_approval");
      afterNextRead(async () => recordOrigin(HANDED_BACK));
      await approveRun(parts, run, { actor: "bea", planDigest });
      const { reasonCode, reason } = await reaches(run, "failed");
      expect(reasonCode).toBe("ENGINE_STATE_NOT_ADOPTED");
      expect(reason).toContain("handed back");
      expect((await state.read()).objects.size).toBe(0);
    });
  });
}
