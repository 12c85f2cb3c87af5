import { RpcError } from "@stackwright/proto/grpc";
import { encodeStruct, structFromJson, structToJson } from "@stackwright/proto/property";
import {
  CreateResponse,
  DiffResponse,
  DiffResponse_DiffChanges,
  RegisterResourceRequest,
} from "@stackwright/proto/pulumirpc";
import { describe, expect, it } from "vitest";
import type { ResourceProvider } from "../resource-provider.ts";
import { unimplementedProvider } from "../unimplemented-provider.ts";
import type { NoteChildren } from "./child-journal.ts";
import { type ComponentChild, decodeComponent, encodeNote } from "./component-child.ts";
import { ComponentRun } from "./component-run.ts";

/** A provider that keeps what it is asked for; another `size` replaces, another `note` updates. */
function createPeer(deleteBeforeReplace = false) {
  const calls: string[] = [];
  let made = 0;
  const sizeOf = (struct: Uint8Array | undefined) => structToJson(struct ?? new Uint8Array()).size;
  const provider: ResourceProvider = {
    ...unimplementedProvider(),
    check: async ({ news }) => ({ inputs: news, failures: [] }),
    diff: async ({ oldInputs, news }) => {
      const before = structToJson(oldInputs ?? new Uint8Array());
      const after = structToJson(news ?? new Uint8Array());
      const isSame = JSON.stringify(before) === JSON.stringify(after);
      return DiffResponse.create({
        changes: isSame ? DiffResponse_DiffChanges.DIFF_NONE : DiffResponse_DiffChanges.DIFF_SOME,
        replaces: before.size === after.size ? [] : ["size"],
        deleteBeforeReplace,
      });
    },
    create: async ({ urn, properties, preview }) => {
      if (sizeOf(properties) === 0) throw new RpcError("UNKNOWN", "too small");
      if (!preview) calls.push(`create ${urn.split("::").at(-1)}`);
      made += 1;
      return CreateResponse.create({ id: `id-${made}`, properties });
    },
    update: async ({ id, news }) => {
      calls.push(`update ${id}`);
      return { properties: news, refreshBeforeUpdate: false };
    },
    delete: async ({ id }) => {
      calls.push(`delete ${id}`);
      return {};
    },
  };
  const capabilities = {
    acceptSecrets: true,
    supportsPreview: true,
    acceptResources: true,
    acceptOutputs: true,
    supportsAutonamingConfiguration: false,
  };
  const peer = { provider, capabilities, encode: encodeStruct };
  return { calls, call: (dryRun = false) => ({ peer, context: {}, dryRun, seed: "" }) };
}

type Given = Partial<RegisterResourceRequest> & { readonly inputs?: Record<string, number> };

const disk = (name: string, { inputs = { size: 1 }, ...rest }: Given = {}) =>
  RegisterResourceRequest.create({
    type: "disk:index:Disk",
    name,
    custom: true,
    object: structFromJson(inputs),
    ...rest,
  });

/** One whole construction. */
async function run(
  peer: ReturnType<typeof createPeer>,
  before: readonly ComponentChild[],
  requests: readonly RegisterResourceRequest[],
  dryRun = false,
) {
  const component = new ComponentRun(peer.call(dryRun), before);
  for (const request of requests) await component.register(request).catch(() => undefined);
  await component.settled();
  if (component.failures.length === 0) await component.removeRest();
  return component;
}

/** Keeps notes as a store does, and says after each what they say together. */
function journal(
  onNote: (noted: readonly ComponentChild[], bytes: number) => unknown,
): NoteChildren {
  const notes: Uint8Array[] = [];
  return async (changes) => {
    const record = { urn: "urn", inputs: new Map() };
    const note = encodeNote(changes, notes.length === 0 ? record : undefined);
    notes.push(note);
    await onNote(decodeComponent(Buffer.concat(notes)).children, note.length);
  };
}

const names = ({ children }: ComponentRun) =>
  children.map(({ urn, id }) => `${urn.split("::").at(-1)} ${id}`);

describe("what a component makes", () => {
  it("is compared with what it made before, and what it no longer has goes last first", async () => {
    const peer = createPeer();
    const first = await run(peer, [], [disk("a"), disk("b"), disk("c")]);
    expect(names(first)).toEqual(["a id-1", "b id-2", "c id-3"]);
    peer.calls.length = 0;
    const second = await run(peer, first.children, [disk("a", { inputs: { size: 1, note: 2 } })]);
    expect(peer.calls).toEqual(["update id-1", "delete id-3", "delete id-2"]);
    expect(names(second)).toEqual(["a id-1"]);
  });

  it("is replaced by making the other one first, or where the provider wants it so, last", async () => {
    for (const [first, order] of [
      [false, ["create a", "create b", "delete id-1"]],
      [true, ["delete id-1", "create a", "create b"]],
    ] as const) {
      const peer = createPeer(first);
      const before = await run(peer, [], [disk("a")]);
      peer.calls.length = 0;
      const after = await run(peer, before.children, [
        disk("a", { inputs: { size: 2 } }),
        disk("b"),
      ]);
      expect(peer.calls).toEqual(order);
      expect(names(after)).toEqual(["a id-2", "b id-3"]);
    }
  });

  it("is there in a preview as it would be, and nothing happens", async () => {
    const peer = createPeer();
    const before = await run(peer, [], [disk("a"), disk("b")]);
    peer.calls.length = 0;
    const preview = await run(
      peer,
      before.children,
      [disk("b", { inputs: { size: 3 } }), disk("c")],
      true,
    );
    expect(peer.calls).toEqual([]);
    expect(names(preview)).toEqual(["b ", "c "]);
    expect([...preview.actions.values()]).toEqual(["replace", "create", "delete"]);
  });

  it("keeps its URN's object under another name, is kept where it is retained, and refuses where it is protected", async () => {
    const peer = createPeer();
    const before = await run(
      peer,
      [],
      [disk("old"), disk("kept", { retainOnDelete: true }), disk("safe", { protect: true })],
    );
    const [old] = before.children;
    peer.calls.length = 0;
    const component = new ComponentRun(peer.call(), before.children);
    await component.register(disk("new", { aliasURNs: [old?.urn ?? ""] }));
    await expect(component.removeRest()).rejects.toThrow("is protected");
    expect(peer.calls).toEqual([]);
    expect(names(component)).toEqual(["kept id-2", "safe id-3", "new id-1"]);
  });

  it("does not lose its object to an alias of another that is registered", async () => {
    const peer = createPeer();
    const { children } = await run(peer, [], [disk("a")]);
    const alias = { aliasURNs: [children[0]?.urn ?? ""] };
    peer.calls.length = 0;
    // The other one is registered first: it has its own object.
    const first = await run(peer, children, [disk("a"), disk("b", alias)]);
    expect(names(first)).toEqual(["a id-1", "b id-2"]);
    // The other one comes later: what it would make is not made in silence.
    const later = await run(peer, children, [disk("b", alias), disk("a")]);
    expect(later.failures.map(({ error }) => error.rawMessage)).toEqual([
      expect.stringMatching(/::a is registered, and is an alias of .*::b, which has taken/),
    ]);
    expect(peer.calls).toEqual(["create b"]);
  });

  it("is what it was where a part fails, and what was made by then is known", async () => {
    const peer = createPeer();
    const before = await run(peer, [], [disk("a"), disk("z")]);
    const failed = await run(peer, before.children, [
      disk("b"),
      disk("a", { inputs: { size: 0 } }),
    ]);
    expect(failed.failures.map(({ urn, error }) => [urn.at(-1), error.rawMessage])).toEqual([
      ["a", "too small"],
    ]);
    expect(names(failed).toSorted()).toEqual(["a id-1", "b id-3", "z id-2"]);
  });

  it("fails where a program ignores that a part was refused, so that nothing is taken for gone", async () => {
    const peer = createPeer();
    const first = await run(peer, [], [disk("a"), disk("b")]);
    const again = await run(peer, first.children, [disk("a"), disk("a")]);
    expect(again.failures.map(({ error }) => error.code)).toEqual(["ALREADY_EXISTS"]);
    expect(names(again)).toHaveLength(2);
    const nested = new ComponentRun(peer.call(), first.children);
    const refused = nested.attempt("urn", async () =>
      Promise.reject(new RpcError("UNKNOWN", "no")),
    );
    await expect(refused).rejects.toMatchObject({ code: "UNKNOWN" });
    expect(nested.failures).toMatchObject([{ urn: "urn" }]);
  });

  it("is in a record before it is called, and there with its id when the next one is", async () => {
    const peer = createPeer();
    const { children } = await run(peer, [], [disk("a")]);
    peer.calls.length = 0;
    const records: string[] = [];
    const note = journal((noted) => {
      const texts = noted.map(({ urn, id, isOpen, isReplaced }) => {
        const flags = `${isOpen ? "?" : ""}${isReplaced ? "!" : ""}`;
        return `${urn.split("::").at(-1)}${flags} ${id}`;
      });
      records.push(`${peer.calls.length}: ${texts.join(", ")}`);
    });
    const component = new ComponentRun(peer.call(), children, note);
    await component.register(disk("b"));
    await component.register(disk("a", { inputs: { size: 2 } }));
    await expect(component.register(disk("c", { inputs: { size: 0 } }))).rejects.toThrow(
      "too small",
    );
    await component.settled();
    expect(records.filter((text) => text.includes("?"))).toEqual([
      "0: a id-1, b? ",
      "1: a id-1, b id-2, a? ",
      "2: b id-2, a! id-1, a id-3, c? ",
    ]);
  });

  it("is not made where that cannot be recorded", async () => {
    const peer = createPeer();
    const component = new ComponentRun(peer.call(), [], async () => {
      throw new Error("the lock was lost");
    });
    await expect(component.register(disk("a"))).rejects.toThrow("the lock was lost");
    await component.settled();
    expect(peer.calls).toEqual([]);
    expect(component.children).toEqual([]);
  });

  it("is recorded many at a time, each before its call", async () => {
    const peer = createPeer();
    let durable: ReadonlySet<string> = new Set();
    let records = 0;
    const { provider } = peer.call().peer;
    const call = peer.call();
    const create: ResourceProvider["create"] = async (request, context) => {
      expect(durable).toContain(request.urn);
      return provider.create(request, context);
    };
    const watched = { ...call, peer: { ...call.peer, provider: { ...provider, create } } };
    const note = journal(async (noted) => {
      records += 1;
      await new Promise(setImmediate);
      durable = new Set(noted.map(({ urn }) => urn));
    });
    const component = new ComponentRun(watched, [], note);
    const all = Array.from({ length: 50 }, (_, index) => disk(`d${index}`));
    await Promise.all(all.map(async (request) => component.register(request)));
    await component.settled();
    expect(component.children).toHaveLength(50);
    expect(records).toBeLessThan(20);
  });

  it("is recorded at a cost that is linear in all that there is", async () => {
    const bytesOf = async (count: number): Promise<number> => {
      let all = 0;
      const component = new ComponentRun(createPeer().call(), [], async (changes) => {
        all += encodeNote(changes).length;
      });
      for (let at = 0; at < count; at += 1) await component.register(disk(`d${at}`));
      await component.settled();
      return all;
    };
    expect((await bytesOf(400)) / (await bytesOf(100))).toBeLessThan(4.5);
  });

  it("is in the next record where one could not be written", async () => {
    const failures = [new Error("the store is busy")];
    let last: readonly ComponentChild[] = [];
    const keep = journal((noted) => {
      last = noted;
    });
    const component = new ComponentRun(createPeer().call(), [], async (changes) => {
      const failure = failures.pop();
      if (failure !== undefined) throw failure;
      await keep(changes);
    });
    await expect(component.register(disk("a"))).rejects.toThrow("the store is busy");
    await component.register(disk("b"));
    await component.recorded();
    expect(last.map(({ id, isOpen }) => [id, isOpen])).toEqual([["id-1", false]]);
  });

  it("is open while it is not known what came of its create", async () => {
    const { call } = createPeer();
    const { peer } = call();
    const lost = async () => Promise.reject(new RpcError("UNAVAILABLE", "the process has ended"));
    const provider = { ...peer.provider, create: lost };
    let last: readonly ComponentChild[] = [];
    const note = journal((noted) => {
      last = noted;
    });
    const component = new ComponentRun({ ...call(), peer: { ...peer, provider } }, [], note);
    await component.register(disk("a")).catch(() => undefined);
    expect(component.isOpen).toBe(true);
    await component.recorded();
    expect(last.map(({ id, isOpen }) => [id, isOpen])).toEqual([["", true]]);
  });

  it("has something to do as long as what was replaced is there", async () => {
    const peer = createPeer();
    const { children } = await run(peer, [], [disk("a")]);
    const left = children.map((child) => ({ ...child, id: "id-0", isReplaced: true }));
    const preview = await run(peer, [...left, ...children], [disk("a")], true);
    expect([...preview.actions.values()]).toEqual(["replace"]);
    const after = await run(peer, [...left, ...children], [disk("a")]);
    expect(peer.calls).toEqual(["create a", "delete id-0"]);
    expect(names(after)).toEqual(["a id-1"]);
  });

  it.each([{ retainOnDelete: true }, { protect: true }])(
    "has to be recorded anew where only %o is different",
    async (flag) => {
      const peer = createPeer();
      const { children } = await run(peer, [], [disk("a")]);
      const preview = await run(peer, children, [disk("a", flag)], true);
      expect([...preview.actions.values()]).toEqual(["update"]);
      peer.calls.length = 0;
      const after = await run(peer, children, [disk("a", flag)]);
      expect(peer.calls).toEqual([]);
      const again = await run(peer, after.children, [disk("a", flag)], true);
      expect([...again.actions.values()]).toEqual(["same"]);
    },
  );

  it.each([
    ["twice one name", [disk("a"), disk("a")]],
    ["providers of its own", [disk("a", { type: "pulumi:providers:disk" })]],
    ["imports", [disk("a", { importId: "x" })]],
  ])("refuses %s", async (_what, requests) => {
    const component = new ComponentRun(createPeer().call(), []);
    const replies = await Promise.allSettled(
      requests.map(async (request) => component.register(request)),
    );
    expect(replies.at(-1)?.status).toBe("rejected");
    await component.settled();
    await expect(component.register(disk("late"))).rejects.toThrow("has ended");
  });
});
