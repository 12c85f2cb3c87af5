import { ENGINE_KINDS, STATE_BLOB_KINDS } from "@stackwright/core";
import * as messages from "@stackwright/proto/stackwright";
import { RECORD_BLOB_KINDS, REGISTRY_KINDS } from "@stackwright/registry";
import { terraformPlugin } from "@stackwright/registry/terraform";
import { expect, it } from "vitest";
import { typeUrlOf } from "./record-kind.ts";
import { SERVER_BLOB_KINDS, SERVER_KINDS } from "./server-kinds.ts";

it("every kind of the store is owned by one package, and the collection of blobs knows all of them", () => {
  const server = Object.values(SERVER_KINDS).map(({ type }) => type.kind);
  const all = [...ENGINE_KINDS, ...Object.keys(REGISTRY_KINDS), ...server];
  expect(new Set(all).size).toBe(all.length);
  const collected = [...STATE_BLOB_KINDS, ...RECORD_BLOB_KINDS, ...SERVER_BLOB_KINDS];
  // Kinds of records are declared by the modules that write them.
  expect(terraformPlugin).toBeTypeOf("function");
  const known = new Set(collected.map(({ type }) => type.kind));
  expect(all.filter((kind) => !known.has(kind))).toEqual([]);
});

it("every digest that a server's message holds is a declared blob reference, or names something else", () => {
  const referring = Object.values(SERVER_KINDS).flatMap(({ type, blobReference }) => {
    const codec = Object.entries(messages).find(([name]) => name === type.kind)?.[1];
    if (codec === undefined || !("fromPartial" in codec)) throw new Error(type.kind);
    const empty: object = codec.fromPartial({});
    const held = Object.keys(empty).filter((name) => name.endsWith("Sha256"));
    const mark = "ab".repeat(32);
    const message: object = codec.fromPartial(Object.fromEntries(held.map((name) => [name, mark])));
    const resource = {
      id: {
        uid: "1",
        name: "a",
        type,
        tenancy: { partition: "a", peerName: "local", namespace: "b" },
      },
      version: "1",
      generation: "",
      metadata: {},
      status: {},
      data: {
        typeUrl: typeUrlOf(type),
        value: (codec as unknown as { encode(value: object): { finish(): Uint8Array } })
          .encode(message)
          .finish(),
      },
    };
    const found = [...(blobReference.blobs?.(resource) ?? [])];
    expect([type.kind, found]).toEqual([type.kind, held.map(() => mark)]);
    return held.map((name) => `${type.kind}.${name}`);
  });
  expect(referring).toEqual([
    "ConfigurationVersion.archiveSha256",
    "PlanSummary.documentSha256",
    "PlanSummary.viewSha256",
    "PlanSummary.jsonSha256",
    "PlanSummary.renderedSha256",
    "StateVersion.contentSha256",
    "RfsStackSet.templateSha256",
    "ModuleVersion.archiveSha256",
    "ModuleVersion.documentationSha256",
    "VcsPullRequest.commentSha256",
  ]);
});
