import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import * as schemas from "../api/worker/claim-schemas.ts";
import { WORKER_PROTOCOL } from "./remote-protocol.ts";

/** What both sides say in the versions of the protocol. */
const SAID: Readonly<Record<number, string>> = {
  6: "df815aff4b403dc9",
  7: "bbd0950d198c7640",
  8: "f4510ce33afc376e",
  9: "b22748455d33bdfc",
  10: "928d677f7b2e0584",
  11: "e4d786c7c40a67e7",
  12: "c8dffef5a9ef2e7c",
  13: "3b514f0c88e4856e",
};

/** A schema without what only people read. */
function bare(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(bare);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name, member]) => !isForPeople(name, member))
      .map(([name, member]) => [name, bare(member)]),
  );
}

function isForPeople(name: string, member: unknown): boolean {
  return typeof member === "string" && (name === "description" || name === "title");
}

it("what a worker and a server say is that of their version: a change needs another WORKER_PROTOCOL", () => {
  const named = Object.entries(schemas).toSorted(([left], [right]) => (left < right ? -1 : 1));
  const said = named.flatMap(([name, schema]) =>
    typeof schema === "object" && !(schema instanceof Set) ? [[name, bare(schema)]] : [],
  );
  expect(said.length).toBeGreaterThan(15);
  const digest = createHash("sha256").update(JSON.stringify(said)).digest("hex");
  expect({ [WORKER_PROTOCOL]: digest.slice(0, 16) }).toEqual({
    [WORKER_PROTOCOL]: SAID[WORKER_PROTOCOL],
  });
});
