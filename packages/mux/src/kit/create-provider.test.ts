import { Path, Value } from "@stackwright/cty";
import { beforeEach, describe, expect, it } from "vitest";
import type { LifecycleProvider, PlanReply } from "../router/lifecycle-provider.ts";
import { PartialFailure, ProviderFailure } from "../router/provider-failure.ts";
import { computed, optional, optionalComputed, required } from "./attribute.ts";
import { types } from "./attribute-type.ts";
import { createProvider } from "./create-provider.ts";
import { defineDataSource, defineFunction, defineResource } from "./definition.ts";

interface Note {
  text: string;
  revision: number;
}

class Notebook {
  readonly notes = new Map<string, Note>();
  closed = false;
}

const note = defineResource({
  attributes: {
    name: required(types.string, { replaces: true }),
    text: optional(types.string),
    slug: optionalComputed(types.string, { stable: true }),
    revision: computed(types.number),
    secret: optional(types.string, { writeOnly: true }),
  },
  validate: ({ name }) =>
    name === "forbidden"
      ? [
          {
            severity: "error",
            summary: "Bad name",
            detail: "",
            attribute: Path.root.attribute("name"),
          },
        ]
      : [],
  create({ name, text, secret }, { client }: { client: Notebook }) {
    const key = name ?? "";
    if (key === "full") throw new ProviderFailure("Notebook full", "Take another one.");
    client.notes.set(key, { text: `${text ?? ""}${secret ?? ""}`, revision: 1 });
    if (key === "torn oddly") throw new PartialFailure({ slug: 5, revision: 1 }, "Page torn");
    if (key === "torn") {
      throw new PartialFailure({ name: key, revision: 1 }, "Page torn", "It is half written.");
    }
    if (key === "odd") return { slug: ["A"] as unknown as string, revision: 1 };
    if (key === "silent") return undefined as unknown as Record<string, never>;
    return { slug: key.toUpperCase(), revision: 1 };
  },
  read({ name }, { client }) {
    if (name === "odd") return { text: 5 as unknown as string };
    const found = client.notes.get(name);
    return found && { text: found.text === "" ? null : found.text, revision: found.revision };
  },
  update({ name, text }, prior, { client }) {
    const revision = (prior.revision ?? 0) + 1;
    client.notes.set(name ?? "", { text: text ?? "", revision });
    if (name === "odd") return { revision: "2" as unknown as number };
    return { revision };
  },
  delete: ({ name }, { client }) => void client.notes.delete(name),
  import(id, { client }) {
    const found = client.notes.get(id);
    return found && { name: id, text: found.text, revision: found.revision };
  },
});

let notebook: Notebook;
let provider: LifecycleProvider;

beforeEach(async () => {
  notebook = new Notebook();
  provider = createProvider({
    config: { owner: optional(types.string) },
    configure: () => notebook,
    resources: { nb_note: note },
    dataSources: {
      nb_count: defineDataSource({
        attributes: { prefix: optional(types.string), count: computed(types.number) },
        read: ({ prefix }, { client }: { client: Notebook }) => ({
          count: [...client.notes.keys()].filter((name) => name.startsWith(prefix ?? "")).length,
        }),
      }),
    },
    functions: {
      join: defineFunction({
        parameters: [
          { name: "left", type: types.string },
          { name: "right", type: types.string },
        ],
        result: types.string,
        call: (left, right) => left + right,
      }),
      half: defineFunction({
        parameters: [{ name: "number", type: types.number }],
        result: types.list(types.number),
        call: (number) => [number % 2 === 0 ? number / 2 : ("odd" as unknown as number)],
      }),
    },
    close: (client) => {
      client.closed = true;
    },
  });
  const config = Value.object({ owner: Value.string("me") });
  await provider.configure({ config, engineVersion: "0", deferralAllowed: false }, {});
});

type Members = { name?: string; text?: string; slug?: string; revision?: number; secret?: string };

const STRING = Value.string("").type;

function object({ name, text, slug, revision, secret }: Members): Value {
  const text_ = (value?: string) =>
    value === undefined ? Value.null(STRING) : Value.string(value);
  return Value.object({
    name: text_(name),
    text: text_(text),
    slug: text_(slug),
    revision: revision === undefined ? Value.null(Value.zero.type) : Value.number(revision),
    secret: text_(secret),
  });
}

const ABSENT = Value.null(object({}).type);
const NO_BYTES = new Uint8Array();

function plan(prior: Value, config: Value, proposed = config): Promise<PlanReply> {
  return provider.plan(
    { type: "nb_note", prior, config, proposed, priorPrivate: NO_BYTES, deferralAllowed: false },
    {},
  );
}

async function apply(prior: Value, config: Value, proposed = config) {
  const { planned = ABSENT } = await plan(prior, config, proposed);
  return provider.apply({ type: "nb_note", prior, config, planned, plannedPrivate: NO_BYTES }, {});
}

const contents = (value: Value | undefined) =>
  Object.fromEntries(
    [...(value ?? ABSENT).entries()].map(([name, member]) => {
      if (!member.isKnown) return [name, "unknown"];
      if (member.isNull) return [name, null];
      return [name, name === "revision" ? member.asNumber() : member.asString()];
    }),
  );

describe("planning with the kit", () => {
  it("leaves to the provider what the template does not say", async () => {
    const { planned } = await plan(ABSENT, object({ name: "a", text: "x", secret: "s" }));
    expect(contents(planned)).toEqual({
      name: "a",
      text: "x",
      slug: "unknown",
      revision: "unknown",
      secret: null,
    });
  });

  it("plans nothing when nothing differs, write-only attributes not counted", async () => {
    const prior = object({ name: "a", slug: "A", revision: 1 });
    const config = object({ name: "a", secret: "s" });
    const proposed = object({ name: "a", slug: "A", revision: 1, secret: "s" });
    const { planned, requiresReplace } = await plan(prior, config, proposed);
    expect(planned?.rawEquals(prior)).toBe(true);
    expect(requiresReplace).toEqual([]);
  });

  it("keeps stable attributes in an update and makes the others unknown", async () => {
    const prior = object({ name: "a", slug: "A", revision: 1 });
    const proposed = object({ name: "a", text: "x", slug: "A", revision: 1 });
    const { planned, requiresReplace } = await plan(
      prior,
      object({ name: "a", text: "x" }),
      proposed,
    );
    expect(contents(planned)).toMatchObject({ text: "x", slug: "A", revision: "unknown" });
    expect(requiresReplace).toEqual([]);
  });

  it("asks for a new object when an attribute says so", async () => {
    const prior = object({ name: "a", slug: "A", revision: 1 });
    const proposed = object({ name: "b", slug: "A", revision: 1 });
    const { requiresReplace } = await plan(prior, object({ name: "b" }), proposed);
    expect(requiresReplace.map((path) => path.steps)).toEqual([
      [{ kind: "attribute", name: "name" }],
    ]);
  });
});

describe("applying with the kit", () => {
  it("creates, reads, updates and deletes", async () => {
    const created = await apply(ABSENT, object({ name: "a", text: "x" }));
    expect(contents(created.state)).toMatchObject({ name: "a", text: "x", slug: "A", revision: 1 });

    const config = object({ name: "a", text: "y" });
    const proposed = object({ name: "a", text: "y", slug: "A", revision: 1 });
    const updated = await apply(created.state, config, proposed);
    expect(contents(updated.state)).toMatchObject({ text: "y", slug: "A", revision: 2 });

    const read = { type: "nb_note", state: updated.state, privateBytes: NO_BYTES };
    notebook.notes.set("a", { text: "changed by hand", revision: 9 });
    const seen = await provider.read({ ...read, deferralAllowed: false }, {});
    expect(contents(seen.state)).toMatchObject({ text: "changed by hand", revision: 9, slug: "A" });

    const gone = await apply(updated.state, ABSENT);
    expect(gone.state.isNull).toBe(true);
    expect(notebook.notes.size).toBe(0);
    const nothing = await provider.read({ ...read, deferralAllowed: false }, {});
    expect(nothing.state?.isNull).toBe(true);
  });

  it("gives write-only attributes to create and keeps them out of the state", async () => {
    const { state } = await apply(ABSENT, object({ name: "a", text: "x", secret: "-hidden" }));
    expect(notebook.notes.get("a")?.text).toBe("x-hidden");
    expect(contents(state).secret).toBeNull();
  });

  it("says that nothing is there after a failed create", async () => {
    const { state, diagnostics } = await apply(ABSENT, object({ name: "full" }));
    expect(state.isNull).toBe(true);
    expect(diagnostics).toEqual([
      { severity: "error", summary: "Notebook full", detail: "Take another one." },
    ]);
  });

  it("keeps what a create that failed half-way made", async () => {
    const { state, diagnostics } = await apply(ABSENT, object({ name: "torn", text: "x" }));
    expect(contents(state)).toMatchObject({ name: "torn", text: "x", slug: null, revision: 1 });
    expect(diagnostics[0]).toMatchObject({ severity: "error", summary: "Page torn" });
  });

  it("keeps what was made although a part of its result does not fit", async () => {
    const attribute = (name: string) => Path.root.attribute(name);
    const config = object({ name: "odd", text: "x" });
    const created = await apply(ABSENT, config);
    expect(contents(created.state)).toMatchObject({ name: "odd", slug: null, revision: 1 });
    expect(created.diagnostics).toEqual([
      {
        severity: "error",
        summary: "create of nb_note failed",
        detail: "slug: a string is needed, not an array",
        attribute: attribute("slug"),
      },
    ]);

    const prior = object({ name: "odd", slug: "ODD", revision: 1 });
    const updated = await apply(prior, object({ name: "odd", text: "y", slug: "ODD" }));
    expect(contents(updated.state)).toMatchObject({ text: "y", revision: 1 });
    expect(updated.diagnostics).toMatchObject([
      { summary: "update of nb_note failed", detail: "revision: a number is needed, not a string" },
    ]);

    const torn = await apply(ABSENT, object({ name: "torn oddly" }));
    expect(contents(torn.state)).toMatchObject({ name: "torn oddly", slug: null, revision: 1 });
    expect(torn.diagnostics.map(({ summary }) => summary)).toEqual([
      "Page torn",
      "create of nb_note failed",
    ]);
    const silent = await apply(ABSENT, object({ name: "silent" }));
    expect(silent.diagnostics).toEqual([]);
    expect(contents(silent.state)).toMatchObject({ name: "silent", slug: null, revision: null });
  });

  it("says which part of what was read does not fit", async () => {
    const state = object({ name: "odd" });
    const request = { type: "nb_note", state, privateBytes: NO_BYTES, deferralAllowed: false };
    const { diagnostics } = await provider.read(request, {});
    expect(diagnostics).toMatchObject([
      { summary: "read of nb_note failed", detail: "text: a string is needed, not a number" },
    ]);
  });
});

describe("the other calls of the kit", () => {
  it("validate with the attribute at fault", async () => {
    const request = { type: "nb_note", writeOnlyAllowed: true };
    const bad = { ...request, config: object({ name: "forbidden" }) };
    const { diagnostics } = await provider.validateResource(bad, {});
    expect(diagnostics).toHaveLength(1);
    const good = { ...request, config: object({ name: "fine" }) };
    expect((await provider.validateResource(good, {})).diagnostics).toEqual([]);
  });

  it("import what is there and say when nothing is", async () => {
    notebook.notes.set("old", { text: "x", revision: 3 });
    const request = { type: "nb_note", deferralAllowed: false };
    const { objects } = await provider.import({ ...request, id: "old" }, {});
    expect(contents(objects[0]?.state)).toMatchObject({ name: "old", revision: 3, slug: null });
    const missing = await provider.import({ ...request, id: "none" }, {});
    expect(missing.objects).toEqual([]);
    expect(missing.diagnostics[0]?.summary).toBe("Object not found");
  });

  it("read stored objects of this version", async () => {
    const json = '{"name":"a","text":null,"slug":"A","revision":1,"secret":null}';
    const { state } = await provider.upgrade({ type: "nb_note", schemaVersion: 0, json }, {});
    expect(contents(state)).toMatchObject({ name: "a", slug: "A", revision: 1 });
    const newer = await provider.upgrade({ type: "nb_note", schemaVersion: 1, json }, {});
    expect(newer.diagnostics[0]?.summary).toBe("Stored object too new");
  });

  it("read data sources and call functions", async () => {
    notebook.notes.set("ab", { text: "", revision: 1 });
    const config = Value.object({ prefix: Value.string("a"), count: Value.null(Value.zero.type) });
    const request = { type: "nb_count", config, deferralAllowed: false };
    const { state } = await provider.readDataSource(request, {});
    expect(new Map(state?.entries() ?? []).get("count")?.asNumber()).toBe(1);

    const args = [Value.string("a"), Value.string("b")];
    const reply = await provider.callFunction({ name: "join", arguments: args }, {});
    expect("result" in reply && reply.result.asString()).toBe("ab");
  });

  it("say which argument or part of a result does not fit", async () => {
    const half = async (number: Value) =>
      provider.callFunction({ name: "half", arguments: [number] }, {});
    expect(await half(Value.number(3))).toEqual({
      error: { text: "call of half failed: result[0]: a number is needed, not a string" },
    });
    expect(await half(Value.number(2n ** 53n + 1n))).toEqual({
      error: {
        text: "call of half failed: number: the number has more digits than types.number keeps",
      },
    });
  });

  it("refuse names that the provider does not have", async () => {
    const request = { type: "nb_none", config: object({}), writeOnlyAllowed: true };
    await expect(async () => provider.validateResource(request, {})).rejects.toMatchObject({
      code: "MUX_TOKEN_UNKNOWN",
    });
  });

  it("free the client, once", async () => {
    await Promise.all([provider.close(), provider.close()]);
    expect(notebook.closed).toBe(true);
  });
});
