import { mkdtempDisposable, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Value } from "@stackwright/cty";
import { ctyEquality } from "@stackwright/cty/testing";
import type { PackageParameters } from "@stackwright/mux/host";
import { typeOfBlock } from "@stackwright/mux/router";
import { createPluginClient } from "@stackwright/tfplugin";
import { describe, expect, it } from "vitest";
import { startBridgedFunction } from "../testing/bridged-function.ts";
import { createPulumiRunner, type PulumiRunnerOptions } from "./pulumi-runner.ts";

expect.addEqualityTesters([ctyEquality]);

/* A plug-in on Pulumi's SDK for Node behind a function: each request is a process of its own, parameterized anew. */

const program = (name: string): string =>
  fileURLToPath(new URL(`./testing/programs/${name}.ts`, import.meta.resolve("@stackwright/mux")));
const GARDEN = program("garden-provider");
const ECHO = program("echo-provider");
const PLANTED = Buffer.from("planted").toString("base64");
const NONE = { engineVersion: "1.11.4", deferralAllowed: false };

async function setUp(parameters?: PackageParameters, options: Partial<PulumiRunnerOptions> = {}) {
  const cleanup = new AsyncDisposableStack();
  const scratch = cleanup.use(await mkdtempDisposable(join(tmpdir(), "fg-pulumi-")));
  const runner = await createPulumiRunner({
    command: process.execPath,
    args: [GARDEN],
    env: { GARDEN: join(scratch.path, "garden") },
    temporaryDirectory: scratch.path,
    ...(parameters && { parameters }),
    ...options,
  });
  const bridged = cleanup.use(await startBridgedFunction({ runner }));
  const provider = cleanup.use(createPluginClient(bridged.connect()));
  return {
    provider,
    scratch: scratch.path,
    plants: async () => readdir(join(scratch.path, "garden")).catch(() => []),
    [Symbol.asyncDispose]: async () => cleanup.disposeAsync(),
  };
}

describe("a plug-in of Pulumi behind a function", { timeout: 60_000 }, () => {
  it("is the package that its recorded parameters make, and takes an object through its life", async () => {
    await using tried = await setUp({ name: "mint", version: "0.3.0", value: PLANTED });
    const { provider } = tried;
    const { schema } = await provider.schema({});
    expect([...schema.resources.keys()].toSorted()).toContain("mint_plant");
    const type = typeOfBlock(schema.resources.get("mint_plant")?.block ?? expect.fail());
    if (type.kind !== "object") throw new Error("not an object");
    const nothing = Value.null(type);
    const config = Value.object(
      Object.fromEntries(
        type.names.map((name, at) => [
          name,
          name === "kind" ? Value.string("mint") : Value.null(type.types[at] ?? type),
        ]),
      ),
    );
    const configured = await provider.configure({ config: Value.object({}), ...NONE }, {});
    expect(configured.diagnostics).toEqual([]);
    const request = { type: "mint_plant", config, prior: nothing };
    const operation = { operationId: "one", epoch: 1n };
    const deferralAllowed = false;
    const priorPrivate = new Uint8Array();
    const { planned, plannedPrivate, diagnostics } = await provider.plan(
      { ...request, proposed: config, priorPrivate, operation, deferralAllowed },
      {},
    );
    expect(diagnostics).toEqual([]);
    const applied = await provider.apply(
      { ...request, planned: planned ?? expect.fail(), plannedPrivate, operation },
      {},
    );
    expect(applied.diagnostics).toEqual([]);
    const { state, privateBytes } = applied;
    expect(new Map(state.entries()).get("label")?.asString()).toBe("mint of mint");
    expect(await tried.plants()).toHaveLength(1);
    const read = await provider.read(
      { type: "mint_plant", state, privateBytes, deferralAllowed },
      {},
    );
    expect(read.state).toEqual(state);
  });

  it("says why it does not become the package that is asked for", async () => {
    await using tried = await setUp(["mint", "1.0.0"], { args: [ECHO] });
    await expect(tried.provider.schema({})).rejects.toThrow("it takes no parameters");
    // Nothing is left of the process that was given up.
    expect((await readdir(tried.scratch)).filter((name) => name.startsWith("fg-"))).toEqual([]);
  });

  it("is not run where it is another program than the one that was meant", async () => {
    await expect(setUp(undefined, { sha256: "0".repeat(64) })).rejects.toMatchObject({
      code: "FG_PROVIDER_START_FAILED",
    });
  });
});
