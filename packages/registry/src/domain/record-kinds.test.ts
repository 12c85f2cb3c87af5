import { expect, it } from "vitest";
import { RECORD_BLOB_KINDS, REGISTRY_KINDS } from "../index.ts";

it("the entry of the package knows every kind of record, also for programs that only collect or copy blobs", () => {
  const kinds = RECORD_BLOB_KINDS.map(({ type }) => type.kind);
  expect(kinds.toSorted()).toEqual(Object.keys(REGISTRY_KINDS).toSorted());
});
