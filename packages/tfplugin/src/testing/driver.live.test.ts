import { mkdtempDisposable, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Path, Type, Value } from "@stackwright/cty";
import { describeLifecycleProvider } from "@stackwright/mux/testing";
import { describe, expect, it, type TestContext } from "vitest";
import { createPluginClient } from "../client/plugin-client.ts";
import { createSchemaCache } from "../client/schema-cache.ts";
import { launchTerraformProvider } from "../launch/launch-provider.ts";
import { ProviderDriver, ProviderRefusal } from "./provider-driver.ts";

/* Single calls against providers that others wrote: imports, functions, ephemeral resources, load and faults. */

const variableOf = (name: string) => `TEST_TOOL_TERRAFORM_PROVIDER_${name.toUpperCase()}`;
const programOf = (name: string) => process.env[variableOf(name)];

/** A provider in a folder of its own; both go at the end of the block. */
async function launch(ctx: TestContext | undefined, name: string) {
  const command = programOf(name);
  ctx?.skip(command === undefined, `${variableOf(name)} is not set`);
  const stack = new AsyncDisposableStack();
  const folder = stack.use(await mkdtempDisposable(join(tmpdir(), "driver-")));
  const cwd = await realpath(folder.path);
  const launched = stack.use(await launchTerraformProvider({ command: command ?? "", cwd }));
  const client = stack.use(createPluginClient(launched.transport));
  return {
    cwd,
    client,
    launched,
    [Symbol.asyncDispose]: async () => stack.disposeAsync(),
  };
}

async function lab(ctx: TestContext) {
  const provider = await launch(ctx, "lab");
  const driver = await ProviderDriver.configure(provider.client, { directory: "store" });
  return { ...provider, driver };
}

const member = (object: Value | undefined, name: string) => new Map(object?.entries()).get(name);

const SAMPLES = [
  {
    name: "random",
    sample: {
      type: "random_pet",
      observable: false,
      config: { length: Value.number(2), keepers: Value.map({ a: Value.string("1") }) },
      replaced: { length: Value.number(2), keepers: Value.map({ a: Value.string("2") }) },
    },
  },
  {
    name: "lab",
    sample: {
      type: "lab_object",
      config: { name: Value.string("a"), size: Value.number(2) },
      changed: { name: Value.string("a"), size: Value.number(3) },
      replaced: { name: Value.string("b"), size: Value.number(3) },
      importable: false,
    },
  },
  {
    name: "null",
    sample: {
      type: "null_resource",
      observable: false,
      config: { triggers: Value.map({ a: Value.string("1") }) },
      replaced: { triggers: Value.map({ a: Value.string("2") }) },
    },
  },
] as const;

for (const { name, sample } of SAMPLES) {
  const command = programOf(name);
  if (command === undefined) {
    it(`keeps the contract of lifecycle providers: ${name}`, (ctx) => {
      ctx.skip(`${variableOf(name)} is not set`);
    });
    continue;
  }
  describeLifecycleProvider(
    `the provider ${name} as a lifecycle provider`,
    async () => {
      const provider = await launch(undefined, name);
      const config = name === "lab" ? { directory: "store" } : {};
      await ProviderDriver.configure(provider.client, config);
      return {
        provider: provider.client,
        [Symbol.asyncDispose]: async () => provider[Symbol.asyncDispose](),
      };
    },
    sample,
  );
}

describe("objects", () => {
  it("are imported by their id", async (ctx) => {
    await using random = await launch(ctx, "random");
    const driver = await ProviderDriver.configure(random.client);
    const imported = await driver.import("random_integer", "42,1,100,seed");
    expect(member(imported?.state, "result")?.asNumber()).toBe(42);
    const none = driver.import("random_integer", "no number");
    await expect(none).rejects.toThrow(ProviderRefusal);
  });

  it("are imported by what identifies them", async (ctx) => {
    await using provider = await lab(ctx);
    const plan = await provider.driver.plan("lab_object", { name: "a", size: 2 });
    const made = await provider.driver.apply(plan, { name: "a", size: 2 });
    const identity = made?.identity;
    expect(identity).toBeDefined();
    const request = { type: "lab_object", id: "", deferralAllowed: false };
    const reply = await provider.client.import({ ...request, ...(identity && { identity }) }, {});
    expect(reply.diagnostics).toEqual([]);
    expect(member(reply.objects[0]?.state, "id")?.asString()).toBe(
      member(made?.state, "id")?.asString(),
    );
  });

  it("that an older version stored are brought to the present form", async (ctx) => {
    await using provider = await lab(ctx);
    const reply = await provider.client.upgrade(
      { type: "lab_object", schemaVersion: 0, json: '{"id":"1","name":"a","size":"7"}' },
      {},
    );
    expect(reply.diagnostics).toEqual([]);
    expect(member(reply.state, "size")?.asNumber()).toBe(7);
    const identity = { schemaVersion: 0, json: '{"id":"1"}' };
    const current = { type: "lab_object", schemaVersion: 1, json: '{"id":"1","name":"a"}' };
    const named = await provider.client.upgrade({ ...current, identity }, {});
    expect(named.diagnostics).toEqual([]);
    expect(member(named.identity, "id")?.asString()).toBe("1");
    const newer = { type: "lab_object", schemaVersion: 9, json: "{}" };
    expect((await provider.client.upgrade(newer, {})).diagnostics).toHaveLength(1);
  });

  it("that were changed or removed outside are read as they are", async (ctx) => {
    await using provider = await lab(ctx);
    const config = { name: "a", size: 2 };
    const made = await provider.driver.apply(
      await provider.driver.plan("lab_object", config),
      config,
    );
    if (made === undefined) throw new Error("nothing was made");
    const store = join(provider.cwd, "store");
    const file = (await readdir(store)).find((name) => name.endsWith(".json")) ?? "";
    const content = await readFile(join(store, file), "utf8");
    await writeFile(join(store, file), content.replace(/"size":\s*2/u, '"size": 5'));
    const drifted = await provider.driver.refresh(made);
    expect(member(drifted?.state, "size")?.asNumber()).toBe(5);
    const plan = await provider.driver.plan("lab_object", config, drifted);
    expect(plan.action).toBe("update");
    await rm(join(store, file));
    expect(await provider.driver.refresh(made)).toBeUndefined();
  });

  it("keep write-only values out of plan and state, and the provider gets them", async (ctx) => {
    await using provider = await lab(ctx);
    const config = { name: "a", password: "hunter2", password_version: 1 };
    const plan = await provider.driver.plan("lab_object", config);
    expect(member(plan.config, "password")?.asString()).toBe("hunter2");
    expect(member(plan.planned, "password")?.isNull).toBe(true);
    const made = await provider.driver.apply(plan, config);
    expect(member(made?.state, "password")?.isNull).toBe(true);
    expect(provider.driver.violations).toEqual([]);
  });
});

describe("functions", () => {
  it("are called without a configuration", async (ctx) => {
    await using provider = await launch(ctx, "lab");
    const call = async (...args: Value[]) =>
      provider.client.callFunction({ name: "join", arguments: args }, {});
    const texts = ["-", "a", "b"].map((text) => Value.string(text));
    const joined = await call(...texts);
    expect("result" in joined && joined.result.asString()).toBe("a-b");
    expect(await call(...texts, Value.null(Type.string))).toMatchObject({ error: { argument: 3 } });
  });

  it("give values of every type", async (ctx) => {
    await using provider = await launch(ctx, "time");
    const parsed = await provider.client.callFunction(
      { name: "rfc3339_parse", arguments: [Value.string("2024-02-29T12:34:56Z")] },
      {},
    );
    expect("result" in parsed && member(parsed.result, "unix")?.asNumber()).toBe(1_709_210_096);
  });
});

describe("ephemeral resources", () => {
  it("are opened, renewed and closed", async (ctx) => {
    await using provider = await lab(ctx);
    const schema = (await provider.client.schema({})).schema.ephemeralResources.get("lab_lease");
    expect(schema).toBeDefined();
    const config = Value.object({
      name: Value.string("l"),
      renew_seconds: Value.number(30),
      secret: Value.null(Type.string),
    });
    const before = Date.now();
    const request = { type: "lab_lease", config, deferralAllowed: false };
    const opened = await provider.client.openEphemeral(request, {});
    expect(member(opened.result, "secret")?.asString()).toBe("secret-of-l");
    expect(opened.renewAtMs).toBeGreaterThanOrEqual(before + 29_000);
    const held = { type: "lab_lease", privateBytes: opened.privateBytes ?? new Uint8Array() };
    const renewed = await provider.client.renewEphemeral(held, {});
    expect(renewed.renewAtMs).toBeGreaterThanOrEqual(before + 29_000);
    await provider.client.closeEphemeral(held, {});
    const log = await readFile(join(provider.cwd, "store/leases.log"), "utf8");
    expect(log.trim().split("\n")).toEqual(["open l", "renew l", "close l"]);
  });
});

describe("load", () => {
  it("makes and removes 200 objects, 30 at a time", { timeout: 60_000 }, async (ctx) => {
    await using provider = await lab(ctx);
    const names = Array.from({ length: 200 }, (_, i) => `object-${i}`);
    const made = await inParallel(names, 30, async (name) => {
      const config = { name, tags: { name }, size: name.length };
      const object = await provider.driver.apply(
        await provider.driver.plan("lab_object", config),
        config,
      );
      if (object === undefined) throw new Error(`${name} was not made`);
      return object;
    });
    const objects = await provider.driver.readData("lab_objects", { prefix: "object-" });
    expect(member(objects, "objects")?.size).toBe(200);
    expect(new Set(made.map(({ state }) => member(state, "name")?.asString())).size).toBe(200);
    await inParallel(made, 30, async (object) => {
      const plan = await provider.driver.plan("lab_object", undefined, object);
      await provider.driver.apply(plan, undefined);
    });
    const left = await provider.driver.readData("lab_objects", {});
    expect(member(left, "objects")?.size).toBe(0);
    expect(provider.driver.violations).toEqual([]);
  });

  it("shares one schema between processes of one program", async (ctx) => {
    const schemaCache = createSchemaCache();
    const program = programOf("lab");
    ctx.skip(program === undefined, `${variableOf("lab")} is not set`);
    const schemas = [];
    for (let run = 0; run < 2; run += 1) {
      await using launched = await launchTerraformProvider({ command: program ?? "" });
      const client = createPluginClient(launched.transport, { schemaCache, schemaKey: "lab" });
      schemas.push((await client.schema({})).schema);
    }
    expect(schemas[1]).toBe(schemas[0]);
  });
});

describe("faults", () => {
  it("of a create that failed half-way leave an object to be replaced", async (ctx) => {
    await using provider = await lab(ctx);
    const config = { name: "a", fault: "taint-create" };
    const made = await provider.driver.apply(
      await provider.driver.plan("lab_object", config),
      config,
    );
    expect(made?.tainted).toBe(true);
    expect((made?.privateBytes ?? []).length).toBeGreaterThan(0);
    const healthy = { name: "a" };
    const plan = await provider.driver.plan("lab_object", healthy, made);
    expect(plan.action).toBe("replace");
    const replaced = await provider.driver.apply(plan, healthy);
    expect(replaced?.tainted).toBe(false);
    const all = await provider.driver.readData("lab_objects", {});
    expect(member(all, "objects")?.size).toBe(1);
  });

  it("of an answer other than planned are found", async (ctx) => {
    await using provider = await lab(ctx);
    const config = { name: "a", size: 2, fault: "wrong-create" };
    const made = await provider.driver.apply(
      await provider.driver.plan("lab_object", config),
      config,
    );
    expect(made).toBeDefined();
    expect(provider.driver.violations).toMatchObject([{ rule: "kept", tolerated: false }]);
    const expected = Path.root.attribute("size");
    expect(provider.driver.violations[0]?.path.equals(expected)).toBe(true);
  });

  for (const when of ["plan", "create"]) {
    it(`of a refused ${when} name the attribute`, async (ctx) => {
      await using provider = await lab(ctx);
      const config = { name: "a", fault: `fail-${when}` };
      const making = provider.driver
        .plan("lab_object", config)
        .then(async (plan) => provider.driver.apply(plan, config));
      await expect(making).rejects.toSatisfy(
        (error: unknown) =>
          error instanceof ProviderRefusal && String(error.diagnostics[0]?.attribute) === ".fault",
      );
    });

    it(`of a process that dies in ${when} are errors of unknown outcome`, async (ctx) => {
      await using provider = await lab(ctx);
      const config = { name: "a", fault: `crash-${when}` };
      const making = provider.driver
        .plan("lab_object", config)
        .then(async (plan) => provider.driver.apply(plan, config));
      await expect(making).rejects.toMatchObject({
        code: "TFPLUGIN_PROCESS_CRASHED",
        outcome: "unknown",
      });
    });
  }

  it("of a call that hangs end when the caller gives up, and the provider lives", async (ctx) => {
    await using provider = await lab(ctx);
    const config = { name: "a", fault: "hang-create" };
    const plan = await provider.driver.plan("lab_object", config);
    const controller = new AbortController();
    const applying = provider.client.apply(
      {
        type: "lab_object",
        prior: Value.null(plan.planned.type),
        config: plan.config,
        planned: plan.planned,
        plannedPrivate: plan.plannedPrivate,
      },
      { signal: controller.signal },
    );
    // It hangs in the provider by then; sent a moment too early it would only be a weaker test.
    await delay(200);
    controller.abort(new Error("given up"));
    await expect(applying).rejects.toThrow("given up");
    await provider.client.stop({});
    const other = { name: "b" };
    const made = await provider.driver.apply(
      await provider.driver.plan("lab_object", other),
      other,
    );
    expect(made).toBeDefined();
  });
});

async function inParallel<T, R>(
  items: readonly T[],
  limit: number,
  run: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  const queue = [...items.entries()];
  const worker = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const [position, item] = next;
      results[position] = await run(item);
    }
  };
  await Promise.all(Array.from({ length: limit }, worker));
  return results;
}
