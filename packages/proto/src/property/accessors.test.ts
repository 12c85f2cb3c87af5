import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { archiveSource, assetSource, resourceId } from "./accessors.ts";
import {
  archiveProperty,
  assetProperty,
  outputProperty,
  resourceProperty,
  stringProperty,
  unknownProperty,
} from "./construct.ts";

const sha256 = (content: string | Uint8Array) => createHash("sha256").update(content).digest("hex");

describe("assetSource", () => {
  it("prefers path, then uri, then text", () => {
    const asset = { kind: "asset", text: "t", path: "p", uri: "u" } as const;
    expect(assetSource(asset)).toEqual({ kind: "path", path: "p" });
    expect(assetSource({ ...asset, path: "" })).toEqual({ kind: "uri", uri: "u" });
    expect(assetSource({ ...asset, path: "", uri: "" })).toEqual({ kind: "text", text: "t" });
  });

  it("distinguishes an empty text from contents that were left out by the hash", () => {
    expect(assetSource(assetProperty({}))).toEqual({ kind: "text", text: "" });
    expect(assetSource(assetProperty({ hash: sha256("") }))).toEqual({ kind: "text", text: "" });
    expect(assetSource(assetProperty({ hash: sha256("x") }))).toEqual({ kind: "elided" });
  });
});

describe("archiveSource", () => {
  it("prefers path, then uri, then assets", () => {
    const assets = new Map([["f", assetProperty({ text: "" })]]);
    const archive = { kind: "archive", path: "p", uri: "u", assets } as const;
    expect(archiveSource(archive)).toEqual({ kind: "path", path: "p" });
    expect(archiveSource({ ...archive, path: "" })).toEqual({ kind: "uri", uri: "u" });
    expect(archiveSource({ ...archive, path: "", uri: "" })).toEqual({ kind: "assets", assets });
  });

  it("distinguishes an empty archive from contents that were left out by the hash", () => {
    const empty = { kind: "assets", assets: new Map() };
    expect(archiveSource(archiveProperty({}))).toEqual(empty);
    expect(archiveSource(archiveProperty({ hash: sha256(new Uint8Array(1024)) }))).toEqual(empty);
    expect(archiveSource(archiveProperty({ hash: sha256("x") }))).toEqual({ kind: "elided" });
  });
});

describe("resourceId", () => {
  it("distinguishes known ids, ids that are not known yet, and components", () => {
    const id = (value?: Parameters<typeof resourceProperty>[0]["id"]) =>
      resourceId(resourceProperty({ urn: "u", ...(value !== undefined && { id: value }) }));
    expect(id()).toEqual({ kind: "component" });
    expect(id("i")).toEqual({ kind: "known", id: "i" });
    expect(id("")).toEqual({ kind: "unknown" });
    expect(id(unknownProperty("string"))).toEqual({ kind: "unknown" });
    expect(id(outputProperty({}))).toEqual({ kind: "unknown" });
    expect(id(outputProperty({ value: stringProperty("i") }))).toEqual({ kind: "known", id: "i" });
  });
});
