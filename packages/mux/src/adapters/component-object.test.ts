import { Type, Value } from "@stackwright/cty";
import { ReadResponse } from "@stackwright/proto/pulumirpc";
import { expect, it } from "vitest";
import { type ComponentChild, encodeComponent } from "../components/component-child.ts";
import type { NotedDecision } from "../router/lifecycle-provider.ts";
import { unimplementedProvider } from "../unimplemented-provider.ts";
import { adaptPulumiProvider } from "./adapt-pulumi.ts";

const SCHEMA = JSON.stringify({
  name: "disk",
  resources: { "disk:index:Rack": { isComponent: true }, "disk:index:Disk": {} },
});
const RACK = "urn:pulumi:stackwright::stackwright::disk:index:Rack";

const child = (name: string, id: string): ComponentChild => ({
  urn: `${RACK}$disk:index:Disk::${name}`,
  type: "disk:index:Disk",
  id,
  inputs: new Map(),
  outputs: new Map(),
  retained: false,
  isProtected: false,
  isReplaced: false,
  isOpen: id === "",
});

/** What is read after a create was interrupted that noted `children`, where the disks with `ids` exist. */
async function read(
  children: readonly ComponentChild[],
  ids: readonly string[],
  noted: NotedDecision,
) {
  const provider = adaptPulumiProvider(
    {
      ...unimplementedProvider(),
      read: async ({ id }) => ReadResponse.create(ids.includes(id) ? { id } : {}),
    },
    { schema: SCHEMA },
  );
  const type = Type.object({ urn: Type.string, children: Type.map(Type.string) });
  const reply = await provider.read(
    {
      type: "disk_rack",
      state: Value.null(type),
      privateBytes: encodeComponent({ urn: `${RACK}::r`, inputs: new Map(), children }),
      deferralAllowed: false,
      noted,
    },
    {},
  );
  const made = reply.state?.isNull === false ? new Map(reply.state.entries()) : undefined;
  const found = made?.get("children")?.entries() ?? [];
  return {
    problem: reply.diagnostics.map(({ summary }) => summary).join(),
    isAbsent: reply.state?.isNull === true,
    ids: [...found].map(([, id]) => id.asString()),
  };
}

it("does not take a child for absent whose id was given and leads to nothing", async () => {
  const open = child("a", "");
  const wrong = { kind: "id", id: "id-z" } as const;
  const problem = 'nothing was found under the id "id-z" of disk:index:Disk::a';
  expect(await read([open], ["id-a"], wrong)).toEqual({ problem, isAbsent: false, ids: [] });
  expect((await read([child("b", "id-b"), open], ["id-b"], wrong)).problem).toBe(problem);
  const right = { kind: "id", id: "id-a" } as const;
  expect(await read([child("b", "id-b"), open], ["id-a", "id-b"], right)).toEqual({
    problem: "",
    isAbsent: false,
    ids: ["id-a", "id-b"],
  });
  // What was known to be there, and is gone by now, is no error.
  expect((await read([child("b", "id-b"), open], ["id-a"], right)).ids).toEqual(["id-a"]);
  expect(await read([open], [], { kind: "absent" })).toMatchObject({ isAbsent: true });
});
