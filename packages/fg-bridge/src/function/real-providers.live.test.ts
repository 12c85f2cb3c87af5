import { execFile } from "node:child_process";
import { mkdtempDisposable, readdir, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type Type, Value } from "@stackwright/cty";
import { ctyEquality } from "@stackwright/cty/testing";
import { type LifecycleProvider, typeOfBlock } from "@stackwright/mux/router";
import { createPluginClient, type PluginTransport } from "@stackwright/tfplugin";
import { launchTerraformProvider, stackEnvironment } from "@stackwright/tfplugin/launch";
import { afterEach, describe, expect, it } from "vitest";
import { FunctionCaller } from "../caller/function-caller.ts";
import { probeProvider } from "../caller/probe-provider.ts";
import { methodByName } from "../envelope/methods.ts";
import { serveFunctions } from "../runtime/functions-server.ts";
import { FunctionTargetTable } from "../target/target-table.ts";
import {
  type BridgedOptions,
  startBridgedFunction,
  TEST_PROJECT,
  TEST_URN,
} from "../testing/bridged-function.ts";
import { createProcessRunner } from "./process-runner.ts";

/* Providers that others wrote in Go, behind the function side: the same answers as from the same program started here. */

expect.addEqualityTesters([ctyEquality]);

const variableOf = (name: string) => `TEST_TOOL_TERRAFORM_PROVIDER_${name.toUpperCase()}`;
const programOf = (name: string) => process.env[variableOf(name)] ?? "";

let cleanup = new AsyncDisposableStack();
afterEach(async () => {
  await cleanup.disposeAsync();
  cleanup = new AsyncDisposableStack();
});

/** The same program twice: started here, and behind a function. */
async function both(name: string, options: Partial<BridgedOptions> = {}) {
  const scratch = cleanup.use(await mkdtempDisposable(join(tmpdir(), "fg-live-")));
  const launched = await launchTerraformProvider({
    command: programOf(name),
    protocols: [5],
    cwd: scratch.path,
    env: stackEnvironment({ variables: {}, own: process.env }),
  });
  const local = cleanup.use(createPluginClient(launched.transport));
  const runner = await createProcessRunner({
    command: programOf(name),
    temporaryDirectory: scratch.path,
  });
  const bridged = cleanup.use(await startBridgedFunction({ runner, ...options }));
  const remote = cleanup.use(createPluginClient(bridged.connect()));
  return { local, remote, bridged, scratch: scratch.path };
}

const NOTHING = new Uint8Array();
const none = { engineVersion: "1.11.4", deferralAllowed: false };
const sorted = <T>(map: ReadonlyMap<string, T>) =>
  [...map].toSorted(([a], [b]) => (a < b ? -1 : 1));

/** The object that a resource's configuration is, with null where nothing is given. */
async function configOf(
  provider: LifecycleProvider,
  kind: "resources" | "dataSources",
  type: string,
  given: Readonly<Record<string, Value>>,
): Promise<{ readonly config: Value; readonly nothing: Value }> {
  const { schema } = await provider.schema({});
  const found = schema[kind].get(type);
  if (found === undefined) throw new Error(`there is no ${type}`);
  const implied = typeOfBlock(found.block);
  return emptyOf(implied, given);
}

function emptyOf(type: Type, given: Readonly<Record<string, Value>>) {
  if (type.kind !== "object") throw new Error("not an object");
  const members = type.names.map((name, i): [string, Value] => [
    name,
    given[name] ??
      (type.types[i]?.kind === "list"
        ? Value.list([], type.types[i].element)
        : Value.null(type.types[i] ?? type)),
  ]);
  return { config: Value.object(Object.fromEntries(members)), nothing: Value.null(type) };
}

/** The member of an object value. */
function member(value: Value, name: string): Value {
  const { type } = value;
  const at = type.kind === "object" ? type.names.indexOf(name) : -1;
  const found = value.elements()[at];
  if (found === undefined) throw new Error(`there is no ${name}`);
  return found;
}

describe.each(["random", "tls", "local", "time", "null", "archive", "kubernetes"])(
  "the provider %s behind a function",
  (name) => {
    it("has the schema that it has here", async (ctx) => {
      ctx.skip(programOf(name) === "", `${variableOf(name)} is not set`);
      const { local, remote, bridged } = await both(name, {
        caller: { timeouts: { totalMs: 60_000 } },
        server: { timeoutMs: 60_000 },
      });
      const [here, there] = [await local.schema({}), await remote.schema({})];
      expect(sorted(there.schema.resources)).toEqual(sorted(here.schema.resources));
      expect(sorted(there.schema.dataSources)).toEqual(sorted(here.schema.dataSources));
      expect(there.capabilities.planDestroy).toBe(here.capabilities.planDestroy);
      expect(await probeProvider(bridged.connect())).toMatchObject({ kind: "usable" });
    });
  },
);

/** Nothing of a provider may be left behind. */
async function leftovers(folder: string): Promise<readonly string[]> {
  const { stdout } = await promisify(execFile)("ps", ["-eo", "args"]);
  const processes = stdout.split("\n").filter((line) => line.includes(folder));
  return [...processes, ...(await readdir(folder)).filter((file) => file.startsWith("fg-"))];
}

describe("the life of an object behind a function", () => {
  const plan = async (
    provider: LifecycleProvider,
    type: string,
    prior: Value,
    config: Value,
    proposed: Value,
  ) =>
    provider.plan(
      { type, prior, config, proposed, priorPrivate: NOTHING, deferralAllowed: false },
      {},
    );

  it("is planned as here, and its state is read and planned as here (random)", async (ctx) => {
    ctx.skip(programOf("random") === "", `${variableOf("random")} is not set`);
    const { local, remote, scratch, bridged } = await both("random");
    const type = "random_string";
    const { config, nothing } = await configOf(local, "resources", type, {
      length: Value.number(12),
      special: Value.bool(false),
    });
    const empty = Value.object({});
    for (const provider of [local, remote]) {
      expect(await provider.configure({ config: empty, ...none }, {})).toEqual({ diagnostics: [] });
      const valid = { type, config, writeOnlyAllowed: true };
      expect((await provider.validateResource(valid, {})).diagnostics).toEqual([]);
    }
    const { config: wrong } = await configOf(local, "resources", type, {
      length: Value.number(0),
    });
    const invalid = { type, config: wrong, writeOnlyAllowed: true };
    const [bad, alsoBad] = [
      await local.validateResource(invalid, {}),
      await remote.validateResource(invalid, {}),
    ];
    expect(bad.diagnostics.length).toBeGreaterThan(0);
    expect(alsoBad).toEqual(bad);

    const proposed = config;
    const here = await plan(local, type, nothing, config, proposed);
    const there = await plan(remote, type, nothing, config, proposed);
    expect(there).toEqual(here);

    const planned = here.planned ?? nothing;
    const request = { type, prior: nothing, config, planned, plannedPrivate: here.plannedPrivate };
    const made = await local.apply(request, {});
    const madeThere = await remote.apply(
      { ...request, operation: { operationId: "a", epoch: 1n } },
      {},
    );
    expect(made.diagnostics).toEqual([]);
    expect(madeThere.diagnostics).toEqual([]);
    expect(madeThere.state.isWhollyKnown).toBe(true);
    expect(madeThere.state.type.equals(made.state.type)).toBe(true);

    const read = {
      type,
      state: made.state,
      privateBytes: made.privateBytes,
      deferralAllowed: false,
    };
    expect(await remote.read(read, {})).toEqual(await local.read(read, {}));
    const [again, alsoAgain] = [
      await plan(local, type, made.state, config, made.state),
      await plan(remote, type, made.state, config, made.state),
    ];
    expect(alsoAgain).toEqual(again);
    await bridged[Symbol.asyncDispose]();
    expect(await leftovers(scratch)).toEqual([]);
  });

  it("is applied with the same result as here (local)", async (ctx) => {
    ctx.skip(programOf("local") === "", `${variableOf("local")} is not set`);
    const { local, remote, scratch } = await both("local");
    const type = "local_file";
    const results: Value[] = [];
    for (const provider of [local, remote]) {
      await provider.configure({ config: Value.object({}), ...none }, {});
      const filename = join(scratch, "made.txt");
      const { config, nothing } = await configOf(provider, "resources", type, {
        filename: Value.string(filename),
        content: Value.string("hello"),
      });
      const planned = await plan(provider, type, nothing, config, config);
      const made = await provider.apply(
        {
          type,
          prior: nothing,
          config,
          planned: planned.planned ?? nothing,
          plannedPrivate: planned.plannedPrivate,
        },
        {},
      );
      expect(made.diagnostics).toEqual([]);
      expect(await readFile(filename, "utf8")).toBe("hello");
      results.push(made.state);
      const read = { type, privateBytes: made.privateBytes, deferralAllowed: false };
      expect((await provider.read({ ...read, state: made.state }, {})).state).toEqual(made.state);
      const gone = await provider.apply(
        {
          type,
          prior: made.state,
          config: nothing,
          planned: nothing,
          plannedPrivate: made.privateBytes,
        },
        {},
      );
      expect(gone.state.isNull).toBe(true);
      await expect(readFile(filename)).rejects.toThrow("ENOENT");
    }
    expect(results[1]).toEqual(results[0]);
  });

  it("gives the same bytes for the same bytes (local)", async (ctx) => {
    const command = programOf("local");
    ctx.skip(command === "", `${variableOf("local")} is not set`);
    const scratch = cleanup.use(await mkdtempDisposable(join(tmpdir(), "fg-bytes-")));
    const { transport } = await launchTerraformProvider({ command, protocols: [5] });
    const recorded: {
      readonly method: string;
      readonly request: Uint8Array;
      readonly response: Uint8Array;
    }[] = [];
    const recording: PluginTransport = {
      protocol: 5,
      async unary(method, request, call) {
        const response = await transport.unary(method, request, call);
        recorded.push({ method, request: request.slice(), response });
        return response;
      },
      close: () => transport.close(),
      [Symbol.asyncDispose]: () => transport.close(),
    };
    const provider = cleanup.use(createPluginClient(recording));
    await provider.configure({ config: Value.object({}), ...none }, {});
    const type = "local_file";
    const { config, nothing } = await configOf(provider, "resources", type, {
      filename: Value.string(join(scratch.path, "a.txt")),
      content: Value.string("hello"),
    });
    await provider.validateResource({ type, config, writeOnlyAllowed: true }, {});
    const planned = await plan(provider, type, nothing, config, config);
    const made = await provider.apply(
      {
        type,
        prior: nothing,
        config,
        planned: planned.planned ?? nothing,
        plannedPrivate: planned.plannedPrivate,
      },
      {},
    );
    const read = {
      type,
      state: made.state,
      privateBytes: made.privateBytes,
      deferralAllowed: false,
    };
    await provider.read(read, {});
    await plan(provider, type, made.state, config, made.state);

    const runner = await createProcessRunner({ command });
    const bridged = cleanup.use(await startBridgedFunction({ runner }));
    const remote = cleanup.use(bridged.connect());
    const carried = recorded.filter(({ method }) => methodByName(method) !== undefined);
    expect(carried.map(({ method }) => method)).toEqual(
      expect.arrayContaining([
        "Configure",
        "PlanResourceChange",
        "ApplyResourceChange",
        "ReadResource",
      ]),
    );
    for (const { method, request, response } of carried) {
      // Go writes the maps of a schema in any order.
      if (method === "GetSchema") continue;
      const answer = await remote.unary(method, request, {});
      expect([method, Buffer.compare(answer, response)]).toEqual([method, 0]);
    }
  });

  it("leaves nothing behind, however many requests there were", async (ctx) => {
    ctx.skip(programOf("random") === "", `${variableOf("random")} is not set`);
    const requests = Math.round(40 * Number(process.env.STACKWRIGHT_RUNS ?? 1));
    await ctx.annotate(`${requests} provider processes`, "count");
    const scratch = cleanup.use(await mkdtempDisposable(join(tmpdir(), "fg-many-")));
    const runner = await createProcessRunner({
      command: programOf("random"),
      temporaryDirectory: scratch.path,
    });
    const bridged = cleanup.use(await startBridgedFunction({ runner }));
    const remote = cleanup.use(bridged.connect());
    let left = requests;
    const worker = async () => {
      while (left-- > 0)
        await remote
          .unary("ValidateResourceTypeConfig", new Uint8Array(), {})
          .catch(() => undefined);
    };
    await Promise.all([worker(), worker(), worker(), worker()]);
    await bridged.server.close();
    expect(await leftovers(scratch.path)).toEqual([]);
  });

  it("keeps keys and certificates intact (tls)", async (ctx) => {
    ctx.skip(programOf("tls") === "", `${variableOf("tls")} is not set`);
    const { local, remote } = await both("tls");
    const { schema } = await local.schema({});
    const provided = emptyOf(typeOfBlock(schema.provider), {}).config;
    const made: Value[] = [];
    for (const provider of [local, remote]) {
      await provider.configure({ config: provided, ...none }, {});
      const { config, nothing } = await configOf(provider, "resources", "tls_private_key", {
        algorithm: Value.string("ED25519"),
      });
      const planned = await plan(provider, "tls_private_key", nothing, config, config);
      const key = await provider.apply(
        {
          type: "tls_private_key",
          prior: nothing,
          config,
          planned: planned.planned ?? nothing,
          plannedPrivate: planned.plannedPrivate,
        },
        {},
      );
      expect(key.diagnostics).toEqual([]);
      made.push(key.state);
    }
    const [key] = made;
    if (key === undefined) throw new Error("no key");
    const pem = member(key, "private_key_pem");
    const { config } = await configOf(local, "dataSources", "tls_public_key", {
      private_key_pem: pem,
    });
    const request = { type: "tls_public_key", config, deferralAllowed: false };
    expect(await remote.readDataSource(request, {})).toEqual(
      await local.readDataSource(request, {}),
    );
  });

  it("is three objects for three equal creates at once, with ids and without", async (ctx) => {
    ctx.skip(programOf("random") === "", `${variableOf("random")} is not set`);
    const scratch = cleanup.use(await mkdtempDisposable(join(tmpdir(), "fg-journal-")));
    const { openDirectoryJournal } = await import("./directory-journal.ts");
    const journal = await openDirectoryJournal({ directory: scratch.path });
    const { remote } = await both("random", { server: { journal } });
    const type = "random_uuid";
    await remote.configure({ config: Value.object({}), ...none }, {});
    const { config, nothing } = await configOf(remote, "resources", type, {});
    const planned = await plan(remote, type, nothing, config, config);
    const create = async (operationId?: string) => {
      const { state } = await remote.apply(
        {
          type,
          prior: nothing,
          config,
          planned: planned.planned ?? nothing,
          plannedPrivate: planned.plannedPrivate,
          ...(operationId === undefined ? {} : { operation: { operationId, epoch: 1n } }),
        },
        { sessionId: "one run" },
      );
      return member(state, "result").asString();
    };
    const equal = await Promise.all([create("a"), create("b"), create("c")]);
    expect(new Set(equal).size).toBe(3);
    // A repetition of one of them is that one.
    expect(await create("b")).toBe(equal[1]);
    expect(new Set(await Promise.all([create(), create(), create()])).size).toBe(3);
  });

  it("goes through the platform's stand-in and the ready command, in both versions of the contract", async (ctx) => {
    const command = programOf("random");
    ctx.skip(command === "", `${variableOf("random")} is not set`);
    const main = fileURLToPath(new URL("./main.ts", import.meta.url));
    const account = { accessKey: "AK", secretKey: "SK", projects: [TEST_PROJECT] };
    const platform = cleanup.use(
      await serveFunctions({
        functions: [
          {
            urn: TEST_URN,
            code: { command: [process.execPath, main, "--provider", command] },
            concurrency: 4,
          },
        ],
        accounts: [account],
      }),
    );
    const table = cleanup.use(
      new FunctionTargetTable({
        regions: {
          "cn-north-7": {
            endpoint: platform.url,
            credentials: account,
            asyncResults: platform.results,
            pollMs: [20, 200],
          },
        },
        guard: { allow: ["127.0.0.0/8"] },
      }),
    );
    const target = table.resolve(TEST_URN, { projects: [TEST_PROJECT] });
    for (const contract of ["v1", "v2"] as const) {
      const transport = new FunctionCaller({ contract }).transport({ target });
      const provider = cleanup.use(createPluginClient(transport));
      await provider.configure({ config: Value.object({}), ...none }, {});
      const type = "random_pet";
      const { config, nothing } = await configOf(provider, "resources", type, {
        length: Value.number(3),
      });
      const planned = await plan(provider, type, nothing, config, config);
      const { state, diagnostics } = await provider.apply(
        {
          type,
          prior: nothing,
          config,
          planned: planned.planned ?? nothing,
          plannedPrivate: planned.plannedPrivate,
        },
        {},
      );
      expect(diagnostics).toEqual([]);
      expect(member(state, "id").asString().split("-")).toHaveLength(3);
    }
    expect(platform.instances(TEST_URN).starts).toBe(1);
  });

  it("is refused to a program of protocol 6 alone, with the reason, or translated where that can be", async (ctx) => {
    const command = programOf("scaffolding");
    ctx.skip(command === "", `${variableOf("scaffolding")} is not set`);
    const refused = cleanup.use(
      await startBridgedFunction({ runner: await createProcessRunner({ command }) }),
    );
    expect(await probeProvider(refused.connect())).toEqual({
      kind: "refused",
      reason: expect.stringContaining("speaks version 6 of the provider protocol") as string,
    });
    const translated = cleanup.use(
      await startBridgedFunction({
        runner: await createProcessRunner({ command, downgrade: true }),
      }),
    );
    expect(await probeProvider(translated.connect())).toMatchObject({ kind: "usable" });
  });
});
