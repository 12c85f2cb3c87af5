import { describe, expect, it } from "vitest";
import { parseStoreAddress, storeName } from "./store-address.ts";

describe("the address of a store", () => {
  it.each([
    ["sqlite:store", { kind: "sqlite", directory: "/work/store" }],
    ["sqlite:///var/lib/x", { kind: "sqlite", directory: "/var/lib/x" }],
    ["sqlite:/var/lib/a b", { kind: "sqlite", directory: "/var/lib/a b" }],
    ["memory:", { kind: "memory" }],
    ["postgres://u:p@h/db", { kind: "postgres", url: "postgres://u:p@h/db" }],
    [
      "etcd://a:2379,b:2379",
      { kind: "etcd", endpoints: ["http://a:2379", "http://b:2379"], root: undefined },
    ],
    ["etcds://a:2379/prod", { kind: "etcd", endpoints: ["https://a:2379"], root: "prod/" }],
    ["etcd://a:1?blobs=etcd", { kind: "etcd", endpoints: ["http://a:1"], root: undefined }],
    [
      "etcd://a:1/prod?blobs=postgres://u:p@h/db?sslmode=require",
      {
        kind: "etcd",
        endpoints: ["http://a:1"],
        root: "prod/",
        blobs: { postgres: "postgres://u:p@h/db?sslmode=require" },
      },
    ],
    [
      "etcd://a:1?blobs=folder",
      { kind: "etcd", endpoints: ["http://a:1"], root: undefined, blobs: "folder" },
    ],
    ["stackwright://h", { kind: "remote", host: "h", port: 7420, tls: false }],
    ["stackwright://h:80", { kind: "remote", host: "h", port: 80, tls: false }],
    ["stackwrights://[::1]:9000", { kind: "remote", host: "::1", port: 9000, tls: true }],
  ])("%s is understood", (text, address) => {
    expect(parseStoreAddress(text, "/work")).toEqual(address);
  });

  it.each([
    ["", "a store is sqlite:FOLDER"],
    ["consul://x", 'no store of the kind "consul"'],
    ["sqlite:", "the folder of the store is missing"],
    ["etcd://", "the members are missing"],
    ["etcd://a:1?blobs=s3://bucket", "comes blobs=etcd, blobs=postgres://"],
    ["etcd://a:1?blob=folder", "comes blobs=etcd, blobs=postgres://"],
    ["stackwright://secret@h:1", "STACKWRIGHT_TOKEN"],
  ])("%s is refused with a reason", (text, message) => {
    expect(() => parseStoreAddress(text, "/work")).toThrow(message);
  });

  it("never shows a password", () => {
    expect(() => parseStoreAddress("mysql://user:hunter2@h/db", "/")).toThrow(/^(?!.*hunter2)/);
  });

  it.each([
    ["sqlite:store", "sqlite:/work/store"],
    ["memory:", "memory:"],
    ["postgres://u:hunter2@h:5433/db?password=hunter2", "postgres://h:5433/db"],
    ["etcd://u:hunter2@a:2379,b:2379/prod", "etcd://a:2379,b:2379/prod"],
    ["etcd://a:1/prod?blobs=postgres://u:hunter2@h/db", "etcd://a:1/prod"],
    ["stackwright://h", "stackwright://h:7420"],
    ["stackwrights://[::1]:9000", "stackwrights://[::1]:9000"],
  ])("%s is named without credentials", (text, name) => {
    expect(storeName(parseStoreAddress(text, "/work"))).toBe(name);
  });
});
