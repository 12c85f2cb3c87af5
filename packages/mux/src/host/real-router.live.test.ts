import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Type, Value } from "@stackwright/cty";
import { expect, it, vi } from "vitest";
import { adaptPulumiProvider } from "../adapters/index.ts";
import {
  type BlockSchema,
  createRouter,
  type LifecycleProvider,
  type ProviderReference,
} from "../router/index.ts";
import { proposeState } from "../router/propose-state.ts";
import { isThere } from "../testing/programs/programs.ts";
import { launchProvider } from "./launch-provider.ts";

/* A provider that others wrote, as processes behind the router: plan and apply on typed values. */

const LAB = "TEST_TOOL_PULUMI_RESOURCE_LAB";
const TYPE = "lab_note";
const SOURCE = { source: "registry.example.com/acme/lab", version: "1.0.0" };

/** An object of a block in which these attributes are set. */
function objectOf(block: BlockSchema, members: Readonly<Record<string, Value>>): Value {
  const values = [...block.attributes].map(
    ([name, { type }]) => [name, members[name] ?? Value.null(type)] as const,
  );
  return Value.object(Object.fromEntries(values));
}

const text = (object: Value | undefined, name: string) =>
  new Map(object?.entries()).get(name)?.asString();

/** One plan and its apply; without a configuration the object is deleted. */
async function change(
  provider: LifecycleProvider,
  block: BlockSchema,
  members: Readonly<Record<string, Value>> | undefined,
  from?: { readonly state: Value; readonly privateBytes: Uint8Array },
) {
  const nothing = Value.null(objectOf(block, {}).type);
  const config = members === undefined ? nothing : objectOf(block, members);
  const prior = from?.state ?? nothing;
  const operation = { operationId: crypto.randomUUID(), epoch: 1n };
  const { planned, plannedPrivate, requiresReplace, diagnostics } =
    members === undefined
      ? {
          planned: nothing,
          plannedPrivate: from?.privateBytes,
          requiresReplace: [],
          diagnostics: [],
        }
      : await provider.plan(
          {
            type: TYPE,
            prior,
            config,
            proposed: proposeState(block, prior, config),
            priorPrivate: from?.privateBytes ?? new Uint8Array(),
            deferralAllowed: false,
            operation,
          },
          {},
        );
  expect(diagnostics).toEqual([]);
  const applied = await provider.apply(
    {
      type: TYPE,
      prior,
      config,
      planned: planned ?? nothing,
      plannedPrivate: plannedPrivate ?? new Uint8Array(),
      operation,
    },
    {},
  );
  expect(applied.diagnostics).toEqual([]);
  return { ...applied, planned, requiresReplace };
}

it("two aliases of a real provider live side by side behind the router, each with its configuration", async (context) => {
  context.skip(process.env[LAB] === undefined, `${LAB} not set`);
  const root = await mkdtemp(join(tmpdir(), "mux-router-"));
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => rm(root, { recursive: true, force: true }));
  const groups: number[] = [];
  {
    await using router = createRouter();
    const references: ProviderReference[] = [
      { ...SOURCE, alias: "" },
      { ...SOURCE, alias: "other" },
    ];
    for (const reference of references) {
      const launched = await launchProvider({
        command: process.env[LAB] ?? "",
        env: { PULUMI_HOME: root },
      });
      groups.push(launched.group);
      const close = () => launched.close();
      const provider = adaptPulumiProvider(launched.provider, { close });
      router.register({ reference, providers: [{ name: "lab", provider }] });
      const { schema, diagnostics } = await provider.schema({});
      expect(diagnostics).toEqual([]);
      const directory = Value.string(join(root, reference.alias || "default"));
      const config = objectOf(schema.provider, { directory });
      const configured = await provider.configure(
        { config, engineVersion: "1.0.0", deferralAllowed: false },
        {},
      );
      expect(configured.diagnostics).toEqual([]);
    }
    for (const reference of references) {
      const provider = router.provider(reference);
      const folder = join(root, reference.alias || "default");
      const { schema } = await provider.schema({});
      const block = schema.resources.get(TYPE)?.block;
      if (block === undefined) throw new Error("expected a note");
      const note = (body: string) => ({ title: Value.string("t"), text: Value.string(body) });
      const created = await change(provider, block, note("first"));
      const [file = ""] = await readdir(folder);
      expect(await readFile(join(folder, file), "utf8")).toBe("first");
      expect(text(created.state, "file")).toBe(join(folder, file));
      const read = await provider.read(
        {
          type: TYPE,
          state: created.state,
          privateBytes: created.privateBytes,
          deferralAllowed: false,
        },
        {},
      );
      expect([read.diagnostics, text(read.state, "text")]).toEqual([[], "first"]);
      const updated = await change(provider, block, note("second"), created);
      expect([text(updated.planned, "text"), updated.requiresReplace]).toEqual(["second", []]);
      expect(await readFile(join(folder, file), "utf8")).toBe("second");
      await change(provider, block, undefined, updated);
      expect(await readdir(folder)).toEqual([]);
    }
    const joined = await router.provider(references[1] ?? references[0]!).readDataSource(
      {
        type: "lab_join",
        config: Value.object({
          parts: Value.list([Value.string("a"), Value.string("b")]),
          separator: Value.string("-"),
          text: Value.null(Type.string),
        }),
        deferralAllowed: false,
      },
      {},
    );
    expect([joined.diagnostics, text(joined.state, "text")]).toEqual([[], "a-b"]);
    await router.stop();
  }
  for (const group of groups)
    await vi.waitFor(() => expect(isThere(-group)).toBe(false), { timeout: 10_000 });
});
