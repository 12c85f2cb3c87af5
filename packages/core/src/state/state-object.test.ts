import { describe, expect, it } from "vitest";
import { content, plan } from "../testing/state-content.ts";
import {
  addNote,
  isNoted,
  isPending,
  isPlaceholder,
  NOTE_PIECE_BYTES,
  type ObjectOperation,
  type ObjectPhase,
  objectKey,
  recoveredBytes,
  type StateObject,
} from "./state-object.ts";

const CREATE: ObjectOperation = {
  id: "op",
  kind: "create",
  started: true,
  run: "R",
  epoch: 1n,
  replace: false,
};
const object = (phase: ObjectPhase, more: Partial<StateObject> = {}): StateObject => ({
  address: "t.a",
  deposed: "",
  ...plan(),
  phase,
  privateBytes: new Uint8Array(),
  observedAtMs: 0,
  epoch: 1n,
  revision: 1n,
  aliases: [],
  ...more,
});

it.each<[ObjectPhase, boolean | undefined, boolean, boolean]>([
  ["creating", true, true, false],
  ["creating", false, false, true],
  ["creating", undefined, false, true],
  ["updating", true, true, false],
  ["deleting", true, true, false],
  ["ready", undefined, false, false],
  ["tainted", undefined, false, false],
  ["unresolved", true, false, false],
  ["unresolved", false, false, false],
])(
  "an object that is %s with a call that was begun (%s) is pending: %s, a placeholder: %s",
  (phase, started, pending, empty) => {
    const found = object(phase, started === undefined ? {} : { operation: { ...CREATE, started } });
    expect([isPending(found), isPlaceholder(found)]).toEqual([pending, empty]);
  },
);

it("the key of a deposed object is not the address", () => {
  expect(objectKey({ address: "t.a", deposed: "" })).toBe("t.a");
  expect(objectKey({ address: "t.a", deposed: "0123abcd" })).toBe("t.a\u00000123abcd");
});

describe("what a provider noted", () => {
  it("is there with notes, whatever else is", () => {
    expect(isNoted(object("updating", { notes: [new Uint8Array(1)] }))).toBe(true);
    expect(isNoted(object("updating", { notes: [] }))).toBe(false);
    expect(isNoted(object("updating"))).toBe(false);
  });

  it("is in the private bytes of a create of an earlier release, and of nothing else", () => {
    const privateBytes = new Uint8Array(1);
    const noted = (more: Partial<StateObject>) =>
      isNoted(object("creating", { operation: CREATE, privateBytes, ...more }));
    expect(noted({})).toBe(true);
    expect(noted({ privateBytes: new Uint8Array() })).toBe(false);
    expect(noted({ operation: { ...CREATE, kind: "update" } })).toBe(false);
    expect(noted(content("a"))).toBe(false);
  });

  it("is what a recovery reads with, in one piece; else what the object had", () => {
    const privateBytes = Buffer.from("had");
    const notes = [Buffer.from("one"), Buffer.from("two")];
    const read = (more: Partial<StateObject>) =>
      Buffer.from(recoveredBytes(object("updating", { privateBytes, ...more }))).toString();
    expect(read({})).toBe("had");
    expect(read({ notes: [] })).toBe("had");
    expect(read({ notes })).toBe("onetwo");
  });
});

describe("a note", () => {
  const note = (bytes: number): Uint8Array => new Uint8Array(bytes).fill(bytes % 251);
  const sizes = (notes: readonly Uint8Array[]): number[] => notes.map(({ length }) => length);

  it("begins the first piece", () => {
    expect(sizes(addNote(undefined, note(5)))).toEqual([5]);
    expect(NOTE_PIECE_BYTES).toBe(32 * 1024);
  });

  it("continues the last piece up to its full size", () => {
    const full = addNote([note(7), note(NOTE_PIECE_BYTES - 5)], note(5));
    expect(sizes(full)).toEqual([7, NOTE_PIECE_BYTES]);
    expect(full[1]?.slice(-5)).toEqual(note(5));
    expect(sizes(addNote(full, note(1)))).toEqual([7, NOTE_PIECE_BYTES, 1]);
  });

  it("begins a piece where the last one would be too large", () => {
    expect(sizes(addNote([note(NOTE_PIECE_BYTES - 4)], note(5)))).toEqual([
      NOTE_PIECE_BYTES - 4,
      5,
    ]);
  });

  it("leaves complete pieces the same arrays", () => {
    const first = note(NOTE_PIECE_BYTES);
    expect(addNote([first, note(1)], note(1))[0]).toBe(first);
    expect(addNote([first], note(1))[0]).toBe(first);
  });
});
