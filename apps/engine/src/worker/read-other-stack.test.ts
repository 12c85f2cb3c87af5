import { randomBytes, randomUUID } from "node:crypto";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createStackStates,
  createStoredKeys,
  type FormerState,
  keyEncryptionKey,
  NO_MIRROR,
  StackDirectory,
  type StackInput,
  type StackOrigin,
  type StackReference,
} from "@stackwright/core";
import { StackTool } from "@stackwright/proto/stackwright";
import { createDirectoryBlobs } from "@stackwright/storage/blob";
import { expect, it, onTestFinished } from "vitest";
import { defaultProject, projectPlace } from "../domain/project-settings.ts";
import { stackPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { readOtherStack } from "./read-other-stack.ts";

async function start() {
  const scratch = await mkdtempDisposable(join(tmpdir(), "inputs-"));
  onTestFinished(() => scratch.remove());
  const { storage, put, damage } = createRunFixture();
  const blobs = await createDirectoryBlobs({ directory: scratch.path });
  onTestFinished(() => blobs[Symbol.asyncDispose]());
  const keys = createStoredKeys({ storage, current: keyEncryptionKey(randomBytes(32)) });
  const states = createStackStates({ storage, blobs, ciphers: keys, owner: "test" });
  const stacks = new StackDirectory({ storage });
  const stack = async (project: string, name: string): Promise<StackReference> =>
    (await stacks.ensure({ account: "acme", project }, name)).reference;
  return {
    stack,
    damage,
    /** Applies something to a stack that is made with outputs of others. */
    publish: async (
      reference: StackReference,
      values: Readonly<Record<string, string>>,
      inputs: readonly (readonly [StackReference, string])[] = [],
    ) => {
      const state = states.stack(reference);
      await using hold = await state.acquire();
      const writer = await hold.begin({ run: "r".repeat(26) });
      const outputs = new Map(
        Object.entries(values).map(([name, value]) => [
          name,
          { type: '"string"', json: JSON.stringify(value), sensitive: name.startsWith("secret") },
        ]),
      );
      const taken = inputs.map(
        ([of, name]): StackInput => ({ stack: of, name, revision: 1n, outputs: [] }),
      );
      await writer.finish({ outputs, inputs: taken });
    },
    share: async (project: string, names: readonly string[]) =>
      put(SERVER_KINDS.project, projectPlace({ account: "acme", project }), {
        ...defaultProject(project),
        outputsSharedWith: [...names],
      }),
    setTool: async (reference: StackReference, tool: string) =>
      put(SERVER_KINDS.tool, stackPlace(reference), StackTool.create({ tool })),
    /** The stack continues a state that another command had. */
    adopt: async (
      project: string,
      name: string,
      state: { readonly lineage: string; readonly placeDigest: string },
    ): Promise<StackReference> => {
      const origin: StackOrigin = {
        kind: "state",
        timeMs: 1,
        actor: "ann",
        ...state,
        serial: 1n,
        backend: "s3",
        place: "s3 bucket states, key app",
        workspace: "default",
        sha256: "",
        terraformVersion: "1.11.4",
        acceptedChanges: 0,
        lockId: "",
        renamedTo: "",
        mirror: NO_MIRROR,
        handedBack: false,
      };
      const stack = randomUUID();
      const bound = { stack, replaces: undefined, origin };
      return (await stacks.bind({ account: "acme", project }, name, bound)).reference;
    },
    readAdopter: async (reader: StackReference, state: FormerState) =>
      readOtherStack({ storage, blobs, keys }, reader, state),
    read: async (reader: StackReference, name: string, project?: string) =>
      readOtherStack({ storage, blobs, keys }, reader, {
        stack: name,
        ...(project !== undefined && { project }),
      }),
  };
}

it("gives the outputs of a stack of the project, sensitive ones as such", async () => {
  const { stack, publish, read } = await start();
  const [site, network] = [await stack("web", "site"), await stack("web", "network")];
  await publish(network, { vpc: "vpc-1", secret: "s" });
  expect(await read(site, "network")).toEqual({
    stack: network,
    name: "network",
    head: "1",
    revision: "1",
    outputs: [
      { name: "secret", type: '"string"', json: '"s"', sensitive: true },
      { name: "vpc", type: '"string"', json: '"vpc-1"', sensitive: false },
    ],
  });
  expect(await read(site, "nothing")).toBeUndefined();
});

it("gives those of another project only where it shares them with that of the reader", async () => {
  const { stack, publish, share, read } = await start();
  const [site, network] = [await stack("web", "site"), await stack("base", "network")];
  await publish(network, { vpc: "vpc-1" });
  const refused = { code: "ENGINE_INPUT_UNAVAILABLE" };
  await expect(read(site, "network", "base")).rejects.toMatchObject(refused);
  // Whether there is such a stack is not said either.
  await expect(read(site, "nothing", "base")).rejects.toMatchObject(refused);
  await share("base", ["other"]);
  await expect(read(site, "network", "base")).rejects.toMatchObject(refused);
  await share("base", ["other", "web"]);
  expect((await read(site, "network", "base"))?.stack).toEqual(network);
});

it("refuses a stack that was made with outputs of the reader, with the way between them", async () => {
  const { stack, publish, read } = await start();
  const names = ["a", "b", "c", "d"] as const;
  const [a, b, c, d] = await Promise.all(names.map(async (name) => stack("web", name)));
  if (!a || !b || !c || !d) throw new Error("no stacks");
  await publish(a, { x: "1" });
  await publish(b, { x: "1" }, [[a, "a"]]);
  await publish(c, { x: "1" }, [[b, "b"]]);
  // Two ways to the same stack are no cycle.
  await publish(d, { x: "1" }, [
    [b, "b"],
    [c, "c"],
  ]);
  expect((await read(d, "a"))?.stack).toEqual(a);
  await expect(read(a, "c")).rejects.toThrow("web/a reads web/c reads web/b reads web/a");
  // Once `c` no longer reads anything, `a` may read it.
  await publish(c, { x: "1" });
  expect((await read(a, "c"))?.stack).toEqual(c);
});

it("refuses outputs that are too large for a run", async () => {
  const { stack, publish, read } = await start();
  const [site, network] = [await stack("web", "site"), await stack("web", "network")];
  await publish(network, { word: "x".repeat(5 * 1024 * 1024) });
  await expect(read(site, "network")).rejects.toThrow("more than 4 MiB");
});

it("refuses a stack that another tool has, as what the engine recorded of it is from before", async () => {
  const { stack, publish, setTool, read } = await start();
  const [site, network] = [await stack("web", "site"), await stack("web", "network")];
  await publish(network, { vpc: "vpc-1" });
  await setTool(network, "terraform");
  await expect(read(site, "network")).rejects.toThrow("terraform executes its runs");
  await setTool(network, "stackwright");
  expect((await read(site, "network"))?.stack).toEqual(network);
});

it("gives those of the stack that has adopted a state, by its lineage or its place, where it may be read", async () => {
  const { stack, publish, share, adopt, read, readAdopter } = await start();
  const site = await stack("web", "site");
  const near = { lineage: "l-near", placeDigest: "a".repeat(64) };
  const far = { lineage: "l-far", placeDigest: "b".repeat(64) };
  const network = await adopt("web", "network", near);
  const base = await adopt("base", "ground", far);
  await publish(network, { vpc: "vpc-1" });
  await publish(base, { zone: "z-1" });
  for (const state of [{ lineage: near.lineage }, { placeDigest: near.placeDigest }]) {
    expect(await readAdopter(site, state)).toEqual(await read(site, "network"));
  }
  const states = [{ lineage: far.lineage }, { placeDigest: far.placeDigest }];
  // As if it had not been adopted: whether there is such a stack is not said.
  for (const state of states) expect(await readAdopter(site, state)).toBeUndefined();
  await share("base", ["other"]);
  for (const state of states) expect(await readAdopter(site, state)).toBeUndefined();
  await share("base", ["web"]);
  for (const state of states) {
    expect(await readAdopter(site, state)).toMatchObject({ name: "ground", stack: base });
  }
});

it("damaged settings of a project share nothing, and keep no stack of others from being found", async () => {
  const { share, adopt, publish, readAdopter, stack, damage } = await start();
  const site = await stack("web", "site");
  const [near, far] = [{ lineage: "l-near" }, { lineage: "l-far" }];
  const base = await adopt("base", "ground", { ...near, placeDigest: "a".repeat(64) });
  await publish(base, { zone: "z-1" });
  await publish(await adopt("alpha", "ground", { ...far, placeDigest: "b".repeat(64) }), {});
  for (const project of ["base", "alpha"]) await share(project, ["web"]);
  expect(await readAdopter(site, far)).toMatchObject({ name: "ground" });
  await damage(SERVER_KINDS.project, projectPlace({ account: "acme", project: "alpha" }));
  expect(await readAdopter(site, near)).toMatchObject({ name: "ground", stack: base });
  expect(await readAdopter(site, far)).toBeUndefined();
});
